import re

import pytest
import torch
from torch import nn

from fglguard.detector import build_detector
from fglguard.errors import PrivacyError
from privacy.roles import Role, parts_of, register_family
from tests.privacy.conftest import FAMILIES

PARTS = {
    # By hand, from the published architectures, for two blocks:
    # (attention projections, expansions, contractions, normalisations)
    "gpt2": (2 * 4, 2, 2, 2 * 4 + 2),
    "bert": (2 * 8, 2, 2, 2 + 2 * 4),
    "llama": (2 * 4, 2 * 2, 2, 2 * 2 + 1),
    "opt": (2 * 8, 2, 2, 2 * 4 + 2),
    "gpt_neox": (2 * 4, 2, 2, 2 * 4 + 2),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_family_has_its_role(make_model, family) -> None:
    model = make_model(family)
    parts = parts_of(model)
    assert [part.name for part in parts] == [name for name, _ in model.named_parameters()]
    counts = [
        sum(part.role is role for part in parts)
        for role in (
            Role.ATTENTION_PROJECTION,
            Role.EXPANSION,
            Role.CONTRACTION,
            Role.NORMALISATION,
        )
    ]
    assert tuple(counts) == PARTS[family]
    assert sum(part.role is Role.TOKEN_EMBEDDING for part in parts) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_an_expansion_widens_and_a_contraction_narrows(make_model, family) -> None:
    for part in parts_of(make_model(family)):
        if part.role in (Role.EXPANSION, Role.CONTRACTION):
            outputs, inputs = part.parameter.shape
            if part.inputs_first:
                outputs, inputs = inputs, outputs
            assert (outputs > inputs) is (part.role is Role.EXPANSION), part.name


def test_a_tied_weight_counts_once(make_model) -> None:
    model = make_model("gpt2")
    assert model.lm_head.weight is model.transformer.wte.weight
    tied = [part for part in parts_of(model) if part.parameter is model.lm_head.weight]
    assert [part.role for part in tied] == [Role.TOKEN_EMBEDDING]


def test_a_parameter_without_a_role_is_named(make_model) -> None:
    model = make_model("bert")
    model.adapter = nn.Linear(2, 2)
    with pytest.raises(PrivacyError, match=r"adapter\.weight.*register_family"):
        parts_of(model)


def test_an_unknown_family_is_told_how_to_register() -> None:
    with pytest.raises(PrivacyError, match=r"no role map.*gpt_neox.*register_family"):
        parts_of(nn.Linear(2, 2))
    with pytest.raises(PrivacyError, match="no parameters"):
        parts_of(nn.ReLU())


def test_a_user_registers_a_family_of_their_own() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(5, 4)
            self.wide = nn.Linear(4, 8, bias=False)
            self.config = type("Config", (), {"model_type": "tests-own-family"})

    register_family(
        "tests-own-family",
        {Role.TOKEN_EMBEDDING: ["words.weight"], Role.EXPANSION: ["wide.weight"]},
    )
    assert [part.role for part in parts_of(Block())] == [Role.TOKEN_EMBEDDING, Role.EXPANSION]


def test_one_suffix_can_not_play_two_parts() -> None:
    with pytest.raises(PrivacyError, match=re.escape("fc.weight is given to two roles")):
        register_family("double", {Role.EXPANSION: ["fc.weight"], Role.HEAD: ["fc.weight"]})


@pytest.mark.parametrize("preset", ["paper", "recommended", "small"])
def test_a_detector_names_its_own_roles(preset) -> None:
    detector = build_detector(preset, 8, seed=0)
    assert {part.name: part.role for part in parts_of(detector)} == detector.roles()
    assert all(isinstance(part.parameter, torch.Tensor) for part in parts_of(detector))
