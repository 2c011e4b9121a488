"""Table `ablations`: `paper` with one thing changed, `recommended` with one thing left out."""

from collections.abc import Sequence
from typing import Any

from fglguard.evaluation.protocol import task_disjoint, thin_unsafe
from scripts.reproducing import recommended_ablations
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.page import Page, markdown_table, record_of, told
from scripts.reproducing.tables import difference_rows, not_run

HOME, RARE, SKEW = "task_disjoint", "rare_unsafe", "label_skew"
BASE = "as published"
CHANGES: dict[str, tuple[str, ...]] = {
    BASE: (),
    "no edge feature": ("detector.edge_feature=none",),
    "sender's rounds on edges": ("detector.edge_feature=sender",),
    "both ends' rounds on edges": ("detector.edge_feature=both",),
    "messages on edges": ("detector.edge_feature=message",),
    "T = 1": ("detector.rounds=1",),
    "T = 5": ("detector.rounds=5",),
    "all rounds": ("detector.rounds=0",),
    "last utterance": ("detector.node_feature=last",),
    "mean and last utterance": ("detector.node_feature=mean_last",),
    "no self-loops": ("detector.self_loops=false",),
    "residual": ("detector.residual=true",),
    "final agent's label alone": ("detector.labels=final",),
    "mean readout": ("detector.readout=mean",),
    "largest readout": ("detector.readout=max",),
    "domains by size": ("strategy.balanced=false",),
}
RARE_SHARE = 0.05
WEIGHTS = {"5 % unsafe": "none", "5 % unsafe, classes reweighted": "balanced"}
MUS = ("0", "0.01", "0.1", "1")
PURITIES = ("0.5", "0.8", "1.0")


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    runs = []
    for seed in laboratory.options.seeds:
        sides = task_disjoint(laboratory.facts, seed)
        runs += [
            Run(Trial(name, HOME, "", seed), sides, overrides)
            for name, overrides in CHANGES.items()
        ]
        rare = thin_unsafe(laboratory.facts, sides, RARE_SHARE, seed)
        runs += [
            Run(Trial(name, RARE, "", seed), rare, (f"detector.class_weight={weight}",))
            for name, weight in WEIGHTS.items()
        ]
        runs += [
            Run(
                Trial(_skewed(mu, purity), SKEW, "", seed),
                sides,
                ("partition=label_skew", f"partition.purity={purity}", f"strategy.mu={mu}"),
            )
            for mu in MUS
            for purity in PURITIES
        ]
    board = laboratory.run(runs, Board())
    recommended_ablations.run_ablations(laboratory, board)
    return page(board, laboratory.domains)


def page(board: Board, domains: Sequence[str]) -> Page:
    """The table of what is on the board."""
    rows = []
    for name in CHANGES:
        difference = board.estimate(name, HOME, other=BASE)
        rows.append(
            [
                name,
                told(board.estimate(name, HOME)),
                "" if name == BASE else told(difference, signed=True),
                told(board.estimate(name, HOME, column="corroborated")),
            ]
        )
    header = ["change", "mean AUROC", "difference", "AUROC corroborated"]
    text = ["### `paper`, one change at a time", "", markdown_table(header, rows)]
    text += ["### `paper`, few unsafe episodes", "", _weights(board, domains)]
    text += ["### `paper`, proximal strength and label skew (mean AUROC)", "", _skew(board)]
    text += ["### `recommended`, one part left out", "", recommended_ablations.NOTE]
    text += ["", recommended_ablations.section(board, domains)]
    record = {**_record(board), "recommended": recommended_ablations.record(board, domains)}
    return Page("ablations", record, "\n".join([*text, not_run(board)]))


def _weights(board: Board, domains: Sequence[str]) -> str:
    plain, balanced = WEIGHTS
    rows = [
        [name, told(board.estimate(name, RARE)), told(board.estimate(name, RARE, "auprc"))]
        for name in WEIGHTS
    ]
    table = markdown_table(["", "mean AUROC", "mean AUPRC"], rows)
    return f"{table}\n{difference_rows(board, [(balanced, plain)], RARE, domains)}"


def _skew(board: Board) -> str:
    rows = [
        [f"mu = {mu}", *(told(board.estimate(_skewed(mu, p), SKEW)) for p in PURITIES)]
        for mu in MUS
    ]
    return markdown_table(["", *(f"purity {purity}" for purity in PURITIES)], rows)


def _record(board: Board) -> dict[str, Any]:
    arms = {
        HOME: list(CHANGES),
        RARE: list(WEIGHTS),
        SKEW: [_skewed(mu, purity) for mu in MUS for purity in PURITIES],
    }
    bases = {HOME: BASE, RARE: next(iter(WEIGHTS)), SKEW: None}
    return {
        study: {
            arm: {
                "auroc": record_of(board.estimate(arm, study)),
                "auroc_corroborated": record_of(board.estimate(arm, study, column="corroborated")),
                "difference": record_of(board.estimate(arm, study, other=bases[study]))
                if bases[study] not in (None, arm)
                else None,
                "problem": board.problem(arm),
            }
            for arm in names
        }
        for study, names in arms.items()
    }


def _skewed(mu: str, purity: str) -> str:
    return f"mu {mu}, purity {purity}"
