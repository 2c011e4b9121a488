"""Rows of the ablations of `recommended`, on scores that are known."""

import numpy as np
import pytest

from scripts.reproducing.board import Board, Trial
from scripts.reproducing.recommended_ablations import ARMS, NO_FLOW, PRESET, STUDY, record, section
from tests.scripts.reproducing.test_board import scores


@pytest.fixture
def board() -> Board:
    made = Board()
    for seed in (0, 1):
        made.add(Trial(PRESET, STUDY, "", seed), scores(seed, better=0.4))
        made.add(Trial(NO_FLOW, STUDY, "", seed), scores(seed))
    made.failed[Trial("no text", STUDY, "", 0)] = "out of memory"
    return made


def test_a_part_left_out_stands_beside_the_whole(board) -> None:
    found = record(board, ["a", "b"])
    assert list(found) == list(ARMS)
    assert len(set(ARMS)) == len(ARMS)
    whole, part = found[PRESET], found[NO_FLOW]
    assert whole["difference"] is None
    assert part["difference"]["value"] == pytest.approx(
        part["auroc"]["value"] - whole["auroc"]["value"]
    )
    domains = [part["domains"][domain]["value"] for domain in "ab"]
    assert part["auroc"]["value"] == pytest.approx(np.mean(domains))


def test_what_did_not_run_is_told_with_its_reason(board) -> None:
    assert record(board, ["a", "b"])["no text"]["problem"] == "out of memory"
    lines = section(board, ["a", "b"]).splitlines()
    assert lines[0] == "| left out | mean AUROC | difference | a | b |"
    assert "| no text | n/a | n/a | n/a | n/a |" in lines
    assert len(lines) == 2 + len(ARMS)
