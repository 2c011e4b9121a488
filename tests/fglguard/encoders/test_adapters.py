"""Adapters on two small BERT layers, against weights that are merged by hand."""

import copy
import sys

import pytest
import torch
from torch import nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

from fglguard.encoders.adapters import adapt
from fglguard.errors import EncoderError

pytestmark = pytest.mark.long

RANK = 3
ADAPTED = ("attention.self.query", "attention.self.value", "intermediate.dense", "output.dense")


@pytest.fixture
def layers():
    config = BertConfig(
        hidden_size=8,
        intermediate_size=16,
        num_attention_heads=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="sdpa",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return nn.ModuleList(BertLayer(config) for _ in range(2)).train(False)


def outputs(layers):
    hidden = torch.linspace(-1, 1, 2 * 5 * 8).sin().view(2, 5, 8)
    for layer in layers:
        hidden = layer(hidden, torch.ones(2, 1, 1, 5, dtype=torch.bool))
    return hidden.detach()


def test_adapters_are_the_only_parameters_and_change_nothing_at_first(layers) -> None:
    before = outputs(layers)
    adapt(layers, RANK, 5)
    assert torch.equal(outputs(layers), before)
    found = {name: tuple(p.shape) for name, p in layers.named_parameters()}
    sizes = dict(zip(ADAPTED, ((8, 8), (8, 8), (16, 8), (8, 16)), strict=True))
    expected = {}
    for name, (outs, ins) in sizes.items():
        for layer in (0, 1):
            expected[f"{layer}.{name}.lora_A.default.weight"] = (RANK, ins)
            expected[f"{layer}.{name}.lora_B.default.weight"] = (outs, RANK)
    assert found == expected
    assert set(layers.state_dict()) == set(expected)
    assert all(p.requires_grad for p in layers.parameters())


def test_an_adapter_adds_the_product_of_its_factors_to_its_weight(layers) -> None:
    """y = (W + B A) x + b: the layers' outputs equal those of layers with merged weights."""
    merged = copy.deepcopy(layers)
    adapt(layers, RANK, 5)
    source = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for number, layer in enumerate(layers):
            for name in ADAPTED:
                module = layer.get_submodule(name)
                b = module.lora_B["default"].weight.normal_(generator=source)
                weight = merged[number].get_submodule(name).weight
                weight += b @ module.lora_A["default"].weight
    assert torch.allclose(outputs(layers), outputs(merged), atol=1e-5)


def test_the_seed_alone_decides_where_adapters_start(layers) -> None:
    again, other = copy.deepcopy(layers), copy.deepcopy(layers)
    state = torch.random.get_rng_state()
    adapt(layers, RANK, 5)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(7)
    adapt(again, RANK, 5)
    adapt(other, RANK, 6)
    name = "0.output.dense.lora_A.default.weight"
    first, second, third = (dict(one.named_parameters())[name] for one in (layers, again, other))
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_without_the_extra_its_name_is_told(layers, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(EncoderError, match=r"pip install 'fglguard\[lora\]'"):
        adapt(layers, RANK, 5)
