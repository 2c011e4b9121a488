"""What a mask makes of candidates, against `privacy.signals` one by one."""

import pytest
import torch

from fglguard.detector import build_detector
from privacy.attacks.defence import Defence
from privacy.attacks.masked_rows import mask_rows
from privacy.plans import plan_of
from privacy.roles import parts_of
from privacy.signals import Strength, signals


def rows_of(detector, count, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return {
        part.name: torch.randn(count, part.parameter.numel(), generator=draw)
        for part in parts_of(detector)
    }


@pytest.mark.parametrize("level", ["bbp", "dp_scale"])
def test_each_row_is_that_candidates_signal(level):
    """`small` clips rows of text at bbp and multiplies everything at dp_scale."""
    detector = build_detector("small", 8, seed=0)
    rows = rows_of(detector, 3)
    kept = {name: values.clone() for name, values in rows.items()}
    defence = Defence(plan_of("aegis"), Strength(level, clip=0.5))
    found = mask_rows(detector, rows, defence)
    parts = parts_of(detector)
    for row in range(3):
        gradients = [kept[part.name][row].view(part.parameter.shape) for part in parts]
        for part, signal in zip(
            parts, signals(parts, gradients, defence.plan, defence.strength), strict=True
        ):
            own = found[part.name]
            expected = signal.added_to(torch.zeros(part.parameter.shape)).flatten()
            torch.testing.assert_close((own.factors[row] * own.rows[row]).float(), expected)
            assert own.sigmas[row] == signal.sigma
            assert own.squares[row].item() == pytest.approx(float(expected.square().sum()), 1e-4)
    assert all(torch.equal(rows[name], kept[name]) for name in rows)


def test_what_a_mask_would_withhold_is_no_number():
    """At bbp a candidate whose hidden gradients are all zero has no sigma; at dp_scale it has."""
    detector = build_detector("small", 8, seed=0)
    rows = rows_of(detector, 2)
    for name in ("text_weight", "flow_weight"):
        rows[name][1] = 0
    for level, gone in (("bbp", True), ("dp_scale", False)):
        found = mask_rows(detector, rows, Defence(plan_of("aegis"), Strength(level)))
        assert found["text_weight"].factors.isnan().tolist() == [False, gone]


def test_without_a_mask_rows_are_as_they_are():
    detector = build_detector("small", 8, seed=0)
    rows = rows_of(detector, 2)
    for name, part in mask_rows(detector, rows, None).items():
        assert part.rows is rows[name]
        assert part.factors.tolist() == [1, 1]
        assert not part.sigmas.any()
