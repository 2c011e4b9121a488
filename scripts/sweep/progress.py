"""A live line over a sweep's points, and a printed line for each that ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scripts.sweep.status import Outcome


class SweepProgress:
    """Counts points; the time left is that of the mean point, times those left.

    Args:
        total: Points to run.
        skipped: Points that were done before.
    """

    def __init__(self, progress: Progress, total: int, skipped: int) -> None:
        self._progress = progress
        self._total = total
        self._done = self._failed = 0
        self._began = time.monotonic()
        note = f"{skipped} skipped" if skipped else ""
        self._skipped = note
        self._task = progress.add_task("points", total=total, note=note)

    def tick(self, running: int) -> None:
        """Refresh the line's text."""
        left = self._total - self._done - running
        parts = [f"{self._failed} failed", f"{running} running", f"{left} waiting"]
        parts += [self._skipped] if self._skipped else []
        parts.append(self._time_left())
        self._progress.update(self._task, completed=self._done, note=", ".join(parts))

    def ended(self, name: str, outcome: Outcome) -> None:
        """Count a point and say how it went."""
        self._done += 1
        self._failed += outcome.state == "failed"
        count = f"{self._done}/{self._total}"
        if outcome.state == "failed":
            reason = (outcome.reason or "no reason given").splitlines()[0]
            text = f"[red]{count} failed: {name}: {escape(reason)}[/red]"
        else:
            auroc = "undefined" if outcome.auroc is None else f"{outcome.auroc:.3f}"
            seconds = "" if outcome.seconds is None else f", {outcome.seconds:.0f} s"
            text = f"{count} done: {name}: mean AUROC {auroc}{seconds}"
        if not self._progress.console.is_terminal:
            text += f" ({self._time_left()})"
        self._progress.console.print(text, highlight=False, soft_wrap=True)
        if self._done == self._total:
            self.tick(0)

    def _time_left(self) -> str:
        if self._done == self._total:
            return "all done"
        if not self._done:
            return "time left unknown"
        left = (time.monotonic() - self._began) / self._done * (self._total - self._done)
        minutes, seconds = divmod(round(left), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
        return f"about {clock} left"


@contextmanager
def sweep_progress(total: int, skipped: int) -> Iterator[SweepProgress]:
    """Show the line while the body runs."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield SweepProgress(progress, total, skipped)
