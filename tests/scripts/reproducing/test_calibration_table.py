"""Rows of the calibration table, on scores whose thresholds are known."""

import numpy as np
import pytest

from scripts.reproducing.board import Board, Trial
from scripts.reproducing.calibration_table import RESPLITS, page
from scripts.reproducing.main_table import HOME
from scripts.reproducing.scores import Scores


def scores(seed: int, raw=None, n: int = 400) -> Scores:
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    raw = random.random(n) * 0.6 + label * 0.4 if raw is None else np.full(n, raw)
    return Scores(
        id=np.array([f"e{i}" for i in range(n)]),
        side=np.where(np.arange(n) % 3 == 0, "val", "test"),
        domain=np.full(n, "a"),
        label=label,
        group=np.arange(n) // 2,
        clean=np.full(n, -1),
        raw=raw,
        corroborated=raw,
        guard=np.full(n, ""),
    )


@pytest.fixture
def board() -> Board:
    made = Board()
    for seed in (0, 1):
        made.add(Trial("recommended", HOME, "", seed), scores(seed))
        made.add(Trial("paper", HOME, "", seed), scores(seed, raw=0.5))
    return made


def test_validation_and_test_rows_are_pooled_over_models(board) -> None:
    made = page(board)
    rules = {(one["rule"], one["by"]): one for one in made.record["recommended"]["rules"]}
    assert set(rules) == {
        (r, b) for r in ("plain", "conformal", "clopper_pearson") for b in ("episode", "group")
    }
    assert all(one["resplits"] == 2 * RESPLITS for one in rules.values())
    # The bound holds back, so it breaks the budget less often, at less recall.
    plain, bound = rules["plain", "episode"], rules["clopper_pearson", "episode"]
    assert bound["broken_by_episode"] < plain["broken_by_episode"]
    assert bound["recall"] < plain["recall"]
    assert set(made.record["recommended"]["by_seed"]) == {"0", "1"}
    assert "dependent draws" in made.text


def test_equal_scores_block_nothing_and_break_nothing(board) -> None:
    """Any threshold that blocks one blocks all, which is above the budget."""
    for one in page(board).record["paper"]["rules"]:
        assert one["blocks_nothing"] == one["resplits"] == 2 * RESPLITS
        assert (one["recall"], one["broken_by_episode"], one["threshold"]) == (0.0, 0.0, None)
        assert one["reason"] == "no threshold blocks anything"


def test_a_detector_without_runs_has_nulls_with_a_reason() -> None:
    made = page(Board())
    assert all(one["recall"] is None for one in made.record["paper"]["rules"])
    assert "no resplit has a benign episode in both halves" in made.text
