"""Agents: top-k by hand, and scores of nodes as those of views."""

import numpy as np
import pytest

from fglguard.episode import Agent, Episode, Message
from scripts.reproducing.agents import STUDY, by_view, top_k
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.scores import Scores


@pytest.fixture
def board() -> Board:
    """Team x: c is the attacker, ranked second; team y: p and q are, ranked first and last."""
    ids = ["x-a", "x-b", "x-c", "y-p", "y-q", "y-r"]
    raw = np.array([0.9, 0.1, 0.5, 0.8, 0.1, 0.2])
    made = Board()
    made.add(
        Trial("arm", STUDY, "", 0),
        Scores(
            id=np.array(ids),
            side=np.full(6, "test"),
            domain=np.full(6, "d"),
            label=np.array([0, 0, 1, 1, 1, 0]),
            group=np.repeat([0, 1], 3),
            clean=np.full(6, -1),
            raw=raw,
            corroborated=raw,
            guard=np.full(6, ""),
        ),
    )
    return made


def test_recall_and_precision_of_the_top(board) -> None:
    episode_of = {one: one[0] for one in ("x-a", "x-b", "x-c", "y-p", "y-q", "y-r")}
    # Top 1 flags a and p: one of three attackers, one of two flagged.
    assert top_k(board, "arm", "d", 1, episode_of) == pytest.approx((1 / 3, 1 / 2))
    # Top 2 flags a, c, p, r: two of three attackers, two of four flagged.
    assert top_k(board, "arm", "d", 2, episode_of) == pytest.approx((2 / 3, 1 / 2))
    assert top_k(board, "arm", "elsewhere", 1, episode_of) == (None, None)


def test_an_agent_that_is_no_node_has_its_teams_lowest_score() -> None:
    """c neither speaks nor hears; d only did so before the last three rounds."""
    messages = [Message(0, "d", ("a",), "early")]
    messages += [Message(turn, "a", ("b",), "late") for turn in (3, 4, 5)]
    episode = Episode(
        id="e",
        domain="d",
        task=("task:1",),
        agents=tuple(Agent(name, "agent", False) for name in "abcd"),
        messages=tuple(messages),
        final_agent="a",
        unsafe=False,
        label_source="planted",
    )

    found = by_view([episode], np.array([0.7, 0.4]))
    assert found == {"e-a": 0.7, "e-b": 0.4, "e-c": 0.4, "e-d": 0.4}
