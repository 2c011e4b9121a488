"""Table `peers`: every floor and peer beside the detectors, on the same sides."""

from collections.abc import Sequence

from fglguard.evaluation.protocol import task_disjoint
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import PRESETS
from scripts.reproducing.page import Page
from scripts.reproducing.tables import (
    arm_record,
    auroc_rows,
    difference_rows,
    further_rows,
    not_run,
)

STUDY = "task_disjoint"


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    board, runs = Board(), []
    for seed in laboratory.options.seeds:
        sides = task_disjoint(laboratory.facts, seed)
        laboratory.floors(STUDY, "", seed, sides, board)
        runs += [
            Run(Trial(preset, STUDY, "", seed), sides, (f"detector={preset}",))
            for preset in PRESETS
        ]
    return page(laboratory.run(runs, board), laboratory.domains)


def page(board: Board, domains: Sequence[str]) -> Page:
    """The table of what is on the board."""
    peers = [arm for arm in board.arms(STUDY) if arm not in PRESETS]
    arms = [*PRESETS, *peers]
    text = [
        auroc_rows(board, arms, STUDY, domains),
        difference_rows(board, [(PRESETS[0], peer) for peer in peers], STUDY, domains),
        further_rows(board, arms, STUDY),
        not_run(board),
    ]
    record = {arm: arm_record(board, arm, STUDY, domains) for arm in arms}
    return Page("peers", record, "\n".join(text))
