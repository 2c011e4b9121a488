"""The table that ends a sweep."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scripts.sweep.point import Point
from scripts.sweep.status import Outcome

WIDTH = 140
COLOURS = {"completed": "green", "skipped": "dim", "failed": "red"}
SKIPPED = "done before"


def print_sweep(
    points: Sequence[Point], outcomes: Sequence[Outcome], console: Console | None = None
) -> None:
    """Every point with its overrides, state, mean AUROC and seconds; then why points failed."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(width=WIDTH, file=console.file)
    console.print(_table(points, outcomes))
    for point, outcome in zip(points, outcomes, strict=True):
        if outcome.state == "failed":
            console.print(f"[red]failed[/red]: {escape(' '.join(point.label))}", soft_wrap=True)
            console.print(f"  {escape(_indented(outcome.reason or 'unknown'))}", soft_wrap=True)
            if outcome.folder is not None:
                console.print(f"  {outcome.folder / 'status.json'}", soft_wrap=True)
    counts = Counter(one.state for one in outcomes)
    console.print(
        f"{len(points)} points: "
        + ", ".join(f"{count} {_told(state)}" for state, count in counts.items())
    )


def _table(points: Sequence[Point], outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="Sweep")
    keys = list(dict.fromkeys(one.partition("=")[0] for point in points for one in point.label))
    for key in keys:
        table.add_column(key, overflow="fold")
    table.add_column("state")
    table.add_column("mean AUROC", justify="right")
    table.add_column("seconds", justify="right")
    for point, outcome in zip(points, outcomes, strict=True):
        values = dict(one.partition("=")[::2] for one in point.label)
        colour = COLOURS.get(outcome.state, "yellow")
        table.add_row(
            *(escape(values.get(key, "")) for key in keys),
            f"[{colour}]{_told(outcome.state)}[/{colour}]",
            "-" if outcome.auroc is None else f"{outcome.auroc:.3f}",
            "-" if outcome.seconds is None else f"{outcome.seconds:.1f}",
        )
    return table


def _told(state: str) -> str:
    return SKIPPED if state == "skipped" else state


def _indented(text: str) -> str:
    return text.rstrip().replace("\n", "\n  ")
