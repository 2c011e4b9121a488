"""Rows of figures that several tables have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

from scripts.reproducing.board import Board
from scripts.reproducing.page import markdown_table, number, record_of, told

FURTHER = ("auprc", "recall_at_fpr", "brier", "calibration_error")
DECISIONS = ("recall", "false_positive_rate", "over_refusal")


def auroc_rows(board: Board, arms: Sequence[str], study: str, domains: Sequence[str]) -> str:
    """A row an arm: mean AUROC and that of each domain, with intervals."""
    rows = [
        [
            arm,
            told(board.estimate(arm, study)),
            *(told(board.estimate(arm, study, domain=domain)) for domain in domains),
        ]
        for arm in arms
    ]
    return markdown_table(["AUROC", "mean", *domains], rows)


def difference_rows(
    board: Board, pairs: Sequence[tuple[str, str]], study: str, domains: Sequence[str]
) -> str:
    """A row a pair of arms: the paired difference of AUROC, mean and by domain."""
    rows = [
        [
            f"{arm} - {other}",
            told(board.estimate(arm, study, other=other), signed=True),
            *(
                told(board.estimate(arm, study, other=other, domain=domain), signed=True)
                for domain in domains
            ),
        ]
        for arm, other in pairs
    ]
    return markdown_table(["difference of AUROC", "mean", *domains], rows)


def further_rows(board: Board, arms: Sequence[str], study: str) -> str:
    """A row an arm: the other figures, means over seeds and domains."""
    rows = []
    for arm in arms:
        further = [told(board.estimate(arm, study, metric)) for metric in FURTHER]
        raised = told(board.estimate(arm, study, column="corroborated"))
        decisions = decided(board, arm, study)
        rows.append([arm, *further, raised, *(number(decisions[name]) for name in DECISIONS)])
    header = [
        "mean over domains",
        "AUPRC",
        "recall at FPR ≤ .10",
        "Brier",
        "calibration error",
        "AUROC corroborated",
        "recall",
        "FPR",
        "over-refusal",
    ]
    return markdown_table(header, rows)


def not_run(board: Board) -> str:
    """A line for each arm and reason for which cells are missing."""
    cells: dict[str, list[str]] = {}
    for trial, why in board.failed.items():
        cells.setdefault(f"{trial.arm}: {why}", []).append(trial.cell)
    failed = [f"- {told} ({'; '.join(which)})" for told, which in cells.items()]
    unfit = [
        f"- {arm}, {study}{f', {domain}' if domain else ''}: {why}"
        for (arm, study, domain), why in board.unfit.items()
    ]
    lines = ["Runs that failed; their cells are left out of the means:", "", *failed, ""]
    more = ["Baselines that could not be fitted there:", "", *unfit, ""]
    return "\n".join([*(lines if failed else []), *(more if unfit else [])])


def decided(board: Board, arm: str, study: str) -> dict[str, float | None]:
    """Means over seeds and domains of what the calibrated threshold decides; None for floors."""
    found: dict[str, list[float]] = {name: [] for name in DECISIONS}
    for trial, record in board.records.items():
        if (trial.arm, trial.study) != (arm, study):
            continue
        for figures in _domains(record).values():
            for name in DECISIONS:
                if figures[name]["value"] is not None:
                    found[name].append(float(figures[name]["value"]))
    return {name: sum(v) / len(v) if v else None for name, v in found.items()}


def arm_record(board: Board, arm: str, study: str, domains: Sequence[str]) -> dict[str, Any]:
    """Everything known of an arm, as JSON holds it."""
    return {
        "mean_auroc": record_of(board.estimate(arm, study)),
        "mean_auroc_corroborated": record_of(board.estimate(arm, study, column="corroborated")),
        **{name: record_of(board.estimate(arm, study, name)) for name in FURTHER},
        **decided(board, arm, study),
        "domains": {
            domain: record_of(board.estimate(arm, study, domain=domain)) for domain in domains
        },
        "problem": board.problem(arm),
    }


def _domains(record: Mapping[str, Any]) -> Mapping[str, Any]:
    domains: Mapping[str, Any] = record["test"]["domains"]
    return domains
