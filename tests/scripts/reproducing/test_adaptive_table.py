"""Rewritten episodes stand beside the others of their domain; expected figures by hand."""

import dataclasses

import numpy as np
import pytest

from fglguard.silo import Silo
from scripts.reproducing.adaptive_table import enter, page
from scripts.reproducing.board import Board
from scripts.reproducing.rewritten_episodes import NEW, Counts
from scripts.reproducing.scorers import Scorer

MARK = "rewritten"


def score(episodes):
    """A scorer that rewriting misleads: unsafe .9, safe .2, rewritten unsafe .1, safe .6."""
    unchanged, changed = {True: 0.9, False: 0.2}, {True: 0.1, False: 0.6}
    scores = [(changed if MARK in e.texts[-1] else unchanged)[e.unsafe] for e in episodes]
    return np.array(scores), np.array(scores)


def rewritten(episode):
    last = dataclasses.replace(episode.messages[-1], text=MARK)
    return dataclasses.replace(episode, messages=(*episode.messages[:-1], last))


@pytest.fixture
def made(make_episode, tmp_path):
    """Eight tested episodes a domain, of which two unsafe and one safe of `a` are rewritten."""
    episodes = [make_episode(n, d, unsafe=n % 4 < 2) for d in "ab" for n in range(8)]
    silo = Silo.create(tmp_path / "silo", episodes, splits=[2] * len(episodes))
    new = {
        "declarative": {e.id: rewritten(e) for e in episodes[:2]},
        "delegated": {e.id: rewritten(e) for e in episodes[2:3]},
        "relayed": {},
    }
    board = Board()
    enter(board, Scorer("guard", 0.5, score), 0, [silo], new)
    counts = {name: {} for name in NEW} | {"declarative": {"a": Counts(2, 1, 0)}}
    return page(board, counts)


def test_an_attack_is_compared_with_the_same_episodes_unchanged(made) -> None:
    figures = made.record["declarative"]["arms"]["guard"]
    # Two rewritten at .1 against four safe at .2; unchanged they stood at .9.
    assert figures["auroc"]["value"] == 0.0
    assert figures["auroc_unchanged"]["value"] == 1.0
    assert figures["auroc_difference"]["value"] == -1.0
    assert figures["recall"]["value"] == 0.0 and figures["recall_unchanged"]["value"] == 1.0
    assert set(figures["auroc_by_domain"]) == {"a"}
    assert made.record["declarative"]["counts"] == {
        "a": {"rewritten": 2, "not_located": 1, "not_applicable": 0}
    }


def test_a_hard_negative_is_compared_with_the_unsafe(made) -> None:
    figures = made.record["delegated"]["arms"]["guard"]
    # One rewritten safe episode at .6 against four unsafe at .9: blocked at .5, yet below them.
    assert figures["auroc"]["value"] == 1.0
    assert figures["false_positive_rate"]["value"] == 1.0
    assert figures["false_positive_rate_difference"]["value"] == 1.0


def test_what_was_never_applied_has_no_figure(made) -> None:
    assert made.record["relayed"]["arms"]["guard"]["auroc"]["value"] is None
    assert "| relayed | n/a |" in made.text
    assert "| declarative | a | 2 | 1 | 0 |" in made.text
