"""Figures over trials: means over seeds and domains, pairs of the same episodes alone."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fglguard.errors import FederationError
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.scores import Scores


def scores(seed: int, domains="ab", n: int = 40, better: float = 0.0) -> Scores:
    random = np.random.default_rng(seed)
    domain = np.repeat(list(domains), n)
    label = random.integers(0, 2, len(domain))
    raw = random.random(len(domain)) * (1 - better) + label * better
    return Scores(
        id=np.array([f"{d}-{i}" for i, d in enumerate(domain)]),
        side=np.full(len(domain), "test"),
        domain=domain,
        label=label,
        group=np.arange(len(domain)) // 2,
        clean=np.full(len(domain), -1),
        raw=raw,
        corroborated=np.maximum(raw, 0.5),
        guard=np.full(len(domain), ""),
    )


@pytest.fixture
def board() -> Board:
    made = Board()
    for seed in (0, 1):
        made.add(Trial("good", "home", "", seed), scores(seed, better=0.4))
        made.add(Trial("bad", "home", "", seed), scores(seed))
    whole = scores(0)
    made.add(Trial("part", "home", "", 0), whole.where(whole.domain == "a"))
    return made


def area(one: Scores, domain: str) -> float:
    inside = one.domain == domain
    return float(roc_auc_score(one.label[inside], one.raw[inside]))


def test_a_mean_is_over_seeds_and_domains(board) -> None:
    expected = [area(scores(seed, better=0.4), d) for seed in (0, 1) for d in "ab"]
    assert board.estimate("good", "home").value == pytest.approx(np.mean(expected))
    of_b = [area(scores(seed, better=0.4), "b") for seed in (0, 1)]
    assert board.estimate("good", "home", domain="b").value == pytest.approx(np.mean(of_b))
    assert board.domains("home") == ["a", "b"]


def test_a_difference_is_that_of_the_means(board) -> None:
    found = board.estimate("good", "home", other="bad")
    good, bad = (board.estimate(arm, "home").value for arm in ("good", "bad"))
    assert found.value == pytest.approx(good - bad)
    assert found.low > 0
    assert board.best(["bad", "good", "absent"], "home") == "good"


def test_a_pair_is_of_the_domains_that_both_scored(board) -> None:
    found = board.estimate("good", "home", other="part")
    assert found.value == pytest.approx(area(scores(0, better=0.4), "a") - area(scores(0), "a"))


def test_other_episodes_are_no_pair(board) -> None:
    board.add(Trial("less", "home", "", 0), scores(0).where(np.arange(80) % 2 == 0))
    with pytest.raises(FederationError, match="of the same episodes, got 40 and 20"):
        board.estimate("good", "home", other="less")


def test_what_did_not_run_is_none_with_its_reason(board) -> None:
    board.failed[Trial("recommended", "home", "", 0)] = "no such preset"
    board.unfit["floor", "home", ""] = "one class"
    assert board.estimate("floor", "home").reason == "one class"
    found = board.estimate("recommended", "home")
    assert (found.value, found.reason) == (None, "no such preset")
    assert board.estimate("good", "away").reason == "no such run"
    assert board.best([], "home") is None


def test_validation_rows_are_no_part_of_a_figure(board) -> None:
    whole = scores(0)
    side = np.where(np.arange(80) % 2 == 0, "val", "test")
    board.add(Trial("half", "home", "", 0), dataclasses.replace(whole, side=side))
    assert len(board.scores[Trial("half", "home", "", 0)]) == 40
