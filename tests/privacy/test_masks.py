import dataclasses
import math

import pytest
import torch
from scipy import stats
from torch import nn

from fglguard.errors import PrivacyError
from privacy.masks import cover, freeze, mask
from privacy.noise import SeededNoise
from privacy.plans import Operation, operation_of, plan_of
from privacy.roles import Role, parts_of
from privacy.signals import Strength, flooded, signals, uniform
from tests.privacy.conftest import FAMILIES


def gradients_of(model):
    """One step's gradients on a batch of four random texts, for each parameter that trains."""
    generator = torch.Generator().manual_seed(5)
    ids = torch.randint(0, 50, (4, 9), generator=generator)
    output = model(input_ids=ids).logits
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.autograd.grad(output.square().mean(), trained)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("privacy", ["aegis", "aegis_extended"])
def test_every_family_is_masked_by_its_plan(make_model, family, privacy) -> None:
    """Frozen parts have no gradient at all; of the rest exactly the open ones are as they were."""
    model = make_model(family)
    parts = parts_of(model)
    plan = plan_of(privacy)
    freeze(parts, plan)
    trained = [part for part in parts if part.parameter.requires_grad]
    assert all(
        (operation_of(part, plan) is Operation.FREEZE) is not part.parameter.requires_grad
        for part in parts
    )
    raw = gradients_of(model)
    masked, done = mask(trained, raw, plan, Strength(), SeededNoise((1,)))
    for part, before, after, record in zip(trained, raw, masked, done, strict=True):
        opened = operation_of(part, plan) is Operation.OPEN
        assert torch.equal(before, after) is opened, part.name
        assert (record.sigma == 0) is opened
        assert (record.name, record.role, record.size) == (part.name, part.role, before.numel())
    if privacy == "aegis_extended":
        assert not any(operation_of(part, plan) is Operation.OPEN for part in trained)


def test_what_a_plan_freezes_must_not_have_a_gradient(make_model) -> None:
    model = make_model("gpt2")
    parts = parts_of(model)
    with pytest.raises(PrivacyError, match=r"wte.*|attn\.c_attn\.weight.*freeze it first"):
        mask(parts, gradients_of(model), plan_of("aegis"), Strength(), SeededNoise((1,)))


def test_the_noise_of_a_flood_has_the_size_that_is_recorded(make_model) -> None:
    """(G' - G) / sigma is standard Gaussian; a right mask fails this once in 100 000 times."""
    gradient = torch.randn(60, 90, generator=torch.Generator().manual_seed(1))
    signal = flooded(gradient, Strength("bbp"))
    masked, sigma = cover(signal, gradient, SeededNoise((2,))), signal.sigma
    residue = ((masked - gradient) / sigma).numpy().ravel()
    assert stats.kstest(residue, "norm").pvalue > 1e-5
    assert sigma == pytest.approx(
        torch.linalg.matrix_norm(gradient, 2).item() / (60 * 90) ** 0.25, rel=0.03
    )


def test_a_flood_counts_outputs_the_same_in_both_storage_orders() -> None:
    gradient = torch.randn(20, 80, generator=torch.Generator().manual_seed(1))
    strength = Strength("span")
    straight = flooded(gradient, strength).sigma
    turned = flooded(gradient.t().contiguous(), strength, inputs_first=True).sigma
    assert turned == pytest.approx(straight, rel=0.01)


def sparse(rows=200, width=24, touched=(3, 50, 120), lengths=(1.0, 2.0, 9.0)):
    gradient = torch.zeros(rows, width)
    generator = torch.Generator().manual_seed(8)
    for row, length in zip(touched, lengths, strict=True):
        gradient[row] = length * nn.functional.normalize(
            torch.randn(width, generator=generator), dim=0
        )
    return gradient


def test_rows_are_clipped_to_the_median_and_the_noise_covers_all() -> None:
    """Lengths 1, 2, 9: rho = 2, so the third row is cut to 2 and the first kept; alpha halves."""
    gradient = sparse()
    signal = uniform(gradient, Strength(kept=0.5))
    kept = signal.added_to(torch.zeros_like(gradient))
    assert kept[[3, 50, 120]].norm(dim=1).tolist() == pytest.approx([0.5, 1.0, 1.0], abs=1e-4)
    assert kept.abs().sum(1).count_nonzero() == 3
    assert signal.sigma == pytest.approx(0.5 * 2 / math.sqrt(math.sqrt(2 * 24) / 3))
    assert signal.norm_ratio == pytest.approx(1.5 / signal.sigma)
    assert (cover(signal, gradient, SeededNoise((3,))).abs().sum(1) > 0).all()


def test_dust_in_other_rows_does_not_lower_the_bound() -> None:
    """Rows a thousandth as long as the longest are no touched ones: rho stays 2."""
    gradient = sparse()
    dusty = torch.where(gradient == 0, 1e-5, gradient)
    assert uniform(dusty, Strength()).sigma == pytest.approx(uniform(gradient, Strength()).sigma)


def test_what_is_exported_are_multiples_of_a_step_that_no_data_enters() -> None:
    """sigma = 3.04: steps of 2 / 512; signal or not, rounding leaves half a step at most."""
    gradient = sparse(width=384)
    signal = uniform(gradient, Strength())
    step = 2.0 ** math.floor(math.log2(signal.sigma)) / 512
    covered = cover(signal, gradient, SeededNoise((3,)))
    assert torch.equal(covered, (covered / step).round() * step)
    noise = SeededNoise((3,)).fill(torch.empty_like(gradient), signal.sigma)
    exact = signal.added_to(noise)
    assert (covered - exact).abs().max() <= step / 2 * (1 + 1e-3)


def test_a_row_that_was_touched_can_not_be_told_by_its_length() -> None:
    """Over 300 exports, a touched row is the longest of 200 no more often than 1 in 20 times;
    by chance it is 3 in 200, by its own length it would be always."""
    gradient = sparse()
    hits = 0
    for seed in range(300):
        masked = cover(uniform(gradient, Strength()), gradient, SeededNoise((seed,)))
        hits += int(masked.norm(dim=1).argmax()) in (3, 50, 120)
    assert hits / 300 < 0.05


@pytest.mark.parametrize("clip", [1e-3, 1e3])
def test_at_dp_scale_no_data_enters_the_noise(make_model, clip) -> None:
    """The whole is cut to `clip` where it is longer, and sigma = clip sqrt(T) / kappa for all."""
    model = make_model("bert")
    plan = plan_of("aegis_extended")
    parts = parts_of(model)
    freeze(parts, plan)
    trained = [part for part in parts if part.parameter.requires_grad]
    raw = gradients_of(model)
    strength = Strength("dp_scale", kappa=0.5, clip=clip, exports=4)
    length = math.sqrt(sum(float(one.square().sum()) for one in raw))
    assert 1e-3 < length < 1e3
    found = signals(trained, raw, plan, strength)
    for signal, gradient in zip(found, raw, strict=True):
        kept = signal.added_to(torch.zeros_like(gradient))
        expected = gradient * min(1.0, clip / length)
        assert torch.allclose(kept, expected, rtol=1e-4, atol=1e-12)
    _, done = mask(trained, raw, plan, strength, SeededNoise((1,)))
    zeros = [torch.zeros_like(gradient) for gradient in raw]
    assert mask(trained, zeros, plan, strength, SeededNoise((1,)))[1] == done
    assert {record.sigma for record in done} == {clip * 2 / 0.5}
    assert {record.norm_ratio for record in done} == {0.5 / 2}


def test_the_same_seed_masks_the_same(make_model) -> None:
    model = make_model("llama")
    parts = parts_of(model)
    plan = plan_of("aegis_extended")
    freeze(parts, plan)
    trained = [part for part in parts if part.parameter.requires_grad]
    raw = gradients_of(model)
    first = mask(trained, raw, plan, Strength(), SeededNoise((4,)))
    again = mask(trained, raw, plan, Strength(), SeededNoise((4,)))
    assert all(torch.equal(a, b) for a, b in zip(first[0], again[0], strict=True))
    assert first[1] == again[1]


def spoil(gradient, how):
    spoiled = gradient.clone()
    if how == "nan":
        spoiled.view(-1)[-1] = math.nan
    elif how == "infinite":
        spoiled.view(-1)[0] = math.inf
    elif how == "shape":
        spoiled = spoiled[..., :-1]
    else:
        spoiled = spoiled.to(getattr(torch, how))
    return spoiled


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nan", "holds NaN or infinity"),
        ("infinite", "holds NaN or infinity"),
        ("shape", "expected a gradient of shape"),
        ("float16", "expected a float32 gradient"),
        ("bfloat16", "expected a float32 gradient"),
    ],
)
@pytest.mark.parametrize("role", [Role.TOKEN_EMBEDDING, Role.EXPANSION])
def test_a_gradient_that_can_not_be_masked_is_named_and_nothing_comes_back(
    make_model, role, how, told
) -> None:
    model = make_model("opt")
    parts = parts_of(model)
    freeze(parts, plan_of("aegis"))
    trained = [part for part in parts if part.parameter.requires_grad]
    gradients = list(gradients_of(model))
    place = next(i for i, part in enumerate(trained) if part.role is role)
    gradients[place] = spoil(gradients[place], how)
    with pytest.raises(PrivacyError, match=told) as raised:
        mask(trained, gradients, plan_of("aegis"), Strength(), SeededNoise((1,)))
    assert trained[place].name in str(raised.value)


def test_a_plan_that_does_not_know_a_role_is_refused(make_model) -> None:
    part = parts_of(make_model("gpt2"))[0]
    with pytest.raises(PrivacyError, match=r"wte\.weight.*no operation for the role"):
        operation_of(part, {})
    with pytest.raises(PrivacyError, match="expected one of none, aegis, aegis_extended"):
        plan_of("egis")


def test_strength_is_what_a_run_says(make_model) -> None:
    """T = 4 doubles the noise of every masked part."""
    model = make_model("gpt2")
    parts = parts_of(model)
    plan = plan_of("aegis")
    freeze(parts, plan)
    trained = [part for part in parts if part.parameter.requires_grad]
    raw = gradients_of(model)
    once = mask(trained, raw, plan, Strength(), SeededNoise((1,)))[1]
    four = mask(trained, raw, plan, dataclasses.replace(Strength(), exports=4), SeededNoise((1,)))
    for one, other in zip(once, four[1], strict=True):
        assert other.sigma == pytest.approx(2 * one.sigma)
        if one.sigma:
            assert other.norm_ratio == pytest.approx(one.norm_ratio / 2)


@pytest.mark.parametrize("role", [Role.TOKEN_EMBEDDING, Role.EXPANSION])
def test_a_zero_gradient_gets_the_noise_of_the_quietest_other_part(make_model, role) -> None:
    """That nothing was there is hidden too; a right mask fails this once in 100 000 times."""
    model = make_model("opt")
    parts = parts_of(model)
    freeze(parts, plan_of("aegis"))
    trained = [part for part in parts if part.parameter.requires_grad]
    gradients = list(gradients_of(model))
    place = next(i for i, part in enumerate(trained) if part.role is role)
    gradients[place] = torch.zeros_like(gradients[place])
    masked, done = mask(trained, gradients, plan_of("aegis"), Strength(), SeededNoise((1,)))
    others = [one.sigma for one in done if one.sigma and one.name != trained[place].name]
    assert done[place].sigma == min(others)
    # The record does not tell either: as for rank one, where bbp gives s1 / sigma = (m n)^(1/4).
    rank_one = (trained[place].parameter.numel()) ** 0.25
    if role is Role.TOKEN_EMBEDDING:
        rank_one = math.sqrt(math.sqrt(2 * gradients[place].shape[1]) / 3)
    assert done[place].top_ratio == pytest.approx(rank_one)
    assert done[place].norm_ratio == pytest.approx(rank_one)
    residue = (masked[place] / done[place].sigma).numpy().ravel()
    assert stats.kstest(residue, "norm").pvalue > 1e-5


def test_nothing_but_zeros_has_no_size_to_hide_behind(make_model) -> None:
    model = make_model("opt")
    parts = parts_of(model)
    freeze(parts, plan_of("aegis"))
    trained = [part for part in parts if part.parameter.requires_grad]
    zeros = [torch.zeros_like(part.parameter) for part in trained]
    with pytest.raises(PrivacyError, match=r"every gradient to be hidden is zero .*fc1\.weight"):
        mask(trained, zeros, plan_of("aegis"), Strength(), SeededNoise((1,)))
