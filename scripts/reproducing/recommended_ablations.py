"""Preset `recommended` with one part left out at a time: a section of table `ablations`."""

from collections.abc import Sequence
from typing import Any

from fglguard.evaluation.protocol import task_disjoint
from scripts.reproducing.ablated_graphs import ABLATIONS, PRESET
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.fused_otherwise import FUSIONS, Fusion, fused_anew, scores_fused_by
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.page import markdown_table, record_of, told

STUDY = "task_disjoint"
"""As in table `main`, whose runs of the whole preset are used again."""
NO_FLOW = "no flow features"
PROVENANCE_ALONE = "no flow features but provenance"
NOTE = (
    "The same federated settings; differences are paired. `no phrases of instruction`: directive "
    "phrases add nothing to how much a span sounds like an instruction, which then rests on "
    "embeddings alone (they still decide which 40 spans of a longer message are read)."
)
ARMS = (PRESET, NO_FLOW, PROVENANCE_ALONE, *FUSIONS, *(n for n in ABLATIONS if n != NO_FLOW))


def run_ablations(laboratory: Laboratory, board: Board) -> None:
    """Run what is not there yet and put all arms on the board.

    What is left out of the graphs is trained anew; what is left out of the fusion, which comes
    after training and changes nothing in it, is left out of the same guards.
    """
    _run(laboratory, board, PRESET)
    for name, change in ABLATIONS.items():
        with laboratory.without(name, change) as other:
            _run(other, board, name)
    for name, fusion in FUSIONS.items():
        _fuse(laboratory, board, PRESET, name, fusion)
    # Its flow weights never left zero, so of the preset's own graphs it sees text and provenance.
    _fuse(laboratory, board, NO_FLOW, PROVENANCE_ALONE, fused_anew)


def section(board: Board, domains: Sequence[str]) -> str:
    """The arms that are on the board, beside the whole preset."""
    rows = []
    for name in ARMS:
        difference = board.estimate(name, STUDY, other=PRESET)
        by_domain = (board.estimate(name, STUDY, domain=domain) for domain in domains)
        rows.append(
            [
                name,
                told(board.estimate(name, STUDY)),
                "" if name == PRESET else told(difference, signed=True),
                *map(told, by_domain),
            ]
        )
    return markdown_table(["left out", "mean AUROC", "difference", *domains], rows)


def record(board: Board, domains: Sequence[str]) -> dict[str, Any]:
    """The same as JSON holds it."""
    return {
        name: {
            "auroc": record_of(board.estimate(name, STUDY)),
            "difference": None
            if name == PRESET
            else record_of(board.estimate(name, STUDY, other=PRESET)),
            "domains": {
                domain: record_of(board.estimate(name, STUDY, domain=domain)) for domain in domains
            },
            "problem": board.problem(name),
        }
        for name in ARMS
    }


def _run(laboratory: Laboratory, board: Board, name: str) -> None:
    runs = [
        Run(
            Trial(name, STUDY, "", seed),
            task_disjoint(laboratory.facts, seed),
            (f"detector={PRESET}",),
        )
        for seed in laboratory.options.seeds
    ]
    laboratory.run(runs, board)


def _fuse(laboratory: Laboratory, board: Board, trained: str, name: str, fusion: Fusion) -> None:
    for seed in laboratory.options.seeds:
        folder = board.folders.get(Trial(trained, STUDY, "", seed))
        if folder is not None:
            sides = task_disjoint(laboratory.facts, seed)
            silos = laboratory.silos(STUDY, "", seed, sides)
            board.add(Trial(name, STUDY, "", seed), scores_fused_by(folder, silos, fusion))
