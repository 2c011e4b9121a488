"""The audit's table: a row an attack and mask, a column a number of exports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from privacy.audit.findings import BEST, Audit, Finding
from scripts.reproducing.page import markdown_table, number

FIGURES: Mapping[str, str] = {
    "auc": "AUC",
    "recall": "recall",
    "word_recall": "recall",
    "word_precision": "precision",
    "rouge1": "ROUGE-1",
    "token_recall": "token recall",
    "token_precision": "token precision",
}
FAMILIES: Mapping[str, str] = {
    "episodes": "episodes",
    "comparison": "- comparison",
    "known_mask": "- through the mask",
    "noise_size": "- noise size",
    "span": "- span check",
    "vocabulary": "- vocabulary",
    "utterances": "utterances",
    "words": "words",
    "paper": "the paper's",
    "channels": "other channels",
    "adaptive": "knowing of noise",
    "matching": "gradient matching",
    "median": "on the median",
    "candidates": "which of a bank",
}
_DETECTOR_LEGEND = (
    "episodes: which candidate was in the batch, best of all attacks, and below it those that "
    "compare updates, as they are or as the mask would have them, look at how loud its noise is, "
    "check spans, or look at the words touched. utterances: which vector was. "
    "words: which hashed words were touched. "
)
_TEXT_LEGEND = (
    "the paper's: embedding rows, and span checks on attention and MLP expansion. other channels: "
    "span checks on MLP contraction and head, on Q and V alone, rows of the head. knowing of "
    "noise: longest rows, matched filters, truncated SVD, robust PCA. on the median: the first "
    "two on the median of T exports; all others look at the mean. which of a bank: the bank of "
    "sentences, the comparison of gradients, as they are and as the mask would have them, and of "
    "the size of noise. "
)
_LEGEND = (
    "Recall of candidates is at no false positive. Each line is the best attack of its kind, "
    "chosen afterwards; on noise it is chosen likewise. batches: how many it is a mean over."
)
_TEXT_FAMILIES = ("paper", "channels", "adaptive", "matching", "median", "candidates")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        case: What was exported.
        family: Of attacks; the best of them stands for all.
        figure: Its name.
        privacy: The mask.
        undefended: Its value without a mask.
        null: On pure noise.
        scores: By number of exports.
        batches: How many batches each is a mean over.
    """

    case: str
    family: str
    figure: str
    privacy: str
    undefended: float | None
    null: float | None
    scores: Mapping[int, float]
    batches: int


def rows_of(audit: Audit) -> list[Row]:
    """The best attack of each family, in the order of cases, families, figures and masks."""
    grouped: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in audit.findings:
        if finding.attack == BEST:
            for figure in finding.figures:
                key = finding.case, finding.family, figure, finding.privacy
                grouped.setdefault(key, []).append(finding)
    families, figures = list(FAMILIES), list(FIGURES)
    cases = list(dict.fromkeys(finding.case for finding in audit.findings))
    masks = list(dict.fromkeys(finding.privacy for finding in audit.findings))

    def place(key: tuple[str, str, str, str]) -> tuple[int, int, int, int]:
        return (
            cases.index(key[0]),
            _place(families, key[1]),
            _place(figures, key[2]),
            masks.index(key[3]),
        )

    rows = []
    for key in sorted(grouped, key=place):
        found = {finding.exports: finding.figures[key[2]] for finding in grouped[key]}
        batches = min(finding.batches for finding in grouped[key])
        first = next(iter(found.values()))
        scores = {exports: figure.score for exports, figure in sorted(found.items())}
        rows.append(Row(*key, first.undefended, first.null, scores, batches))
    return rows


def print_audit(audit: Audit, console: Console) -> None:
    """A table a case, then open tensors, notes and overhead."""
    rows = rows_of(audit)
    for case, lines in by_case(masked(rows)).items():
        table = Table(*head(rows), title=f"{audit.model}: {case}", title_justify="left")
        before: tuple[str, str] | None = None
        for row in lines:
            if before is not None and (row.family, row.figure) != before:
                table.add_section()
            table.add_row(*cells(row, rows))
            before = row.family, row.figure
        console.print(table)
    console.print(legend(rows), highlight=False)
    for line in [*open_lines(audit), *audit.notes]:
        console.print(line, highlight=False)
    if audit.overhead:
        costs = Table(*OVERHEAD)
        for costly in overhead_rows(audit):
            costs.add_row(*costly)
        console.print(costs)
    if audit.utility:
        worth = Table(*UTILITY)
        for pair in utility_rows(audit):
            worth.add_row(*pair)
        console.print(worth)


def markdown(audit: Audit) -> str:
    """The same as Markdown."""
    rows = rows_of(audit)
    parts = [
        f"# Audit of {audit.model}\n",
        "".join(f"- {key}: {value}\n" for key, value in audit.settings.items()),
        f"{legend(rows)}\n",
    ]
    for case, lines in by_case(masked(rows)).items():
        table = markdown_table(head(rows), [cells(row, rows) for row in lines])
        parts += [f"## {case}\n", table]
    parts += [
        "## Open tensors\n",
        "".join(f"- {line}\n" for line in open_lines(audit)),
    ]
    if audit.overhead:
        parts += ["## Overhead\n", markdown_table(OVERHEAD, overhead_rows(audit))]
    if audit.utility:
        parts += ["## Utility\n", markdown_table(UTILITY, utility_rows(audit))]
    if audit.notes:
        parts += ["## Notes\n", "".join(f"- {note}\n" for note in audit.notes)]
    return "\n".join(parts)


def legend(rows: Sequence[Row]) -> str:
    """What the lines are."""
    texts = any(row.family in _TEXT_FAMILIES for row in rows)
    return (_TEXT_LEGEND if texts else _DETECTOR_LEGEND) + _LEGEND


def masked(rows: Sequence[Row]) -> list[Row]:
    """Rows without those of `none`, whose figures the others hold; all where that is all."""
    return [row for row in rows if row.privacy != "none"] or list(rows)


def by_case(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by what was exported."""
    cases: dict[str, list[Row]] = {}
    for row in rows:
        cases.setdefault(row.case, []).append(row)
    return cases


def head(rows: Sequence[Row]) -> list[str]:
    """The table's columns."""
    return ["attack", "figure", "mask", "batches", "undefended", "noise", *_exports(rows)]


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """A row as it is shown."""
    exports = sorted({count for other in rows for count in other.scores})
    return [
        FAMILIES.get(row.family, row.family),
        FIGURES.get(row.figure, row.figure),
        row.privacy,
        str(row.batches),
        number(row.undefended, 2),
        number(row.null, 2),
        *(number(row.scores.get(count), 2) for count in exports),
    ]


OVERHEAD = ("mask", "step time", "round time", "payload (bytes)", "weights")


def overhead_rows(audit: Audit) -> list[list[str]]:
    """What each mask costs."""
    return [
        [
            name,
            f"x {cost.step_time_ratio:.2f}",
            f"x {cost.round_time_ratio:.2f}",
            f"{cost.payload_bytes:,}",
            f"{cost.trained:,}",
        ]
        for name, cost in audit.overhead.items()
    ]


UTILITY = ("utility", "value")


def utility_rows(audit: Audit) -> list[list[str]]:
    """What models are worth under each mask."""
    return [[name, number(value, 3)] for name, value in audit.utility.items()]


def open_lines(audit: Audit) -> list[str]:
    """A line a mask: what it leaves as it is."""
    return [
        f"{name} leaves open: {', '.join(tensors) or 'nothing'}"
        for name, tensors in audit.open_tensors.items()
    ]


def _exports(rows: Sequence[Row]) -> list[str]:
    return [f"T = {count}" for count in sorted({c for row in rows for c in row.scores})]


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
