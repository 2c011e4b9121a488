"""Live progress of a run, read from its metrics file."""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

POLL_SECONDS = 0.2


@contextmanager
def follow(folder: Path, rounds: int) -> Iterator[None]:
    """Show round, loss, failed clients and time left while the body runs.

    Reads `metrics.jsonl` of the run folder as it grows, so that it does not matter which process
    writes it. Without a terminal, a line is printed every few rounds. A body that fails before its
    first round leaves no bar behind.
    """
    console = Console(stderr=True, markup=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    done = threading.Event()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=rounds, note="")
        tail = threading.Thread(
            target=_tail, args=(folder / "metrics.jsonl", progress, task, done), daemon=True
        )
        tail.start()
        try:
            yield
        except BaseException:
            # A bar at 0 would stand before the error and say nothing.
            if not progress.tasks[0].completed:
                progress.update(task, visible=False)
            raise
        finally:
            done.set()
            tail.join(5.0)


def _tail(path: Path, progress: Progress, task: object, done: threading.Event) -> None:
    # What is there already is another run's, or the part that a resumed run has done.
    file_number, position = _identity(path)
    plain = not progress.console.is_terminal
    while True:
        last = done.is_set()
        if path.exists():
            if file_number not in (None, _identity(path)[0]):
                file_number, position = _identity(path)  # cut back to the last checkpoint
            file_number = _identity(path)[0]
            with path.open("rb") as file:
                file.seek(position)
                text = file.read()
            whole, newline, _ = text.rpartition(b"\n")
            position += len(whole) + len(newline)
            for line in whole.splitlines():
                with contextlib.suppress(ValueError):  # the display must not end on a damaged line
                    _show(json.loads(line), progress, task, plain)
        if last:
            return
        done.wait(POLL_SECONDS)


def _identity(path: Path) -> tuple[int | None, int]:
    """Which file is there, and its length; None and 0 without one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None, 0
    return found.st_ino, found.st_size


def _show(record: dict, progress: Progress, task: object, plain: bool) -> None:
    if record["kind"] == "failure":
        progress.console.print(
            f"round {record['round']}, {record['during']}: site {record['site']} left out: "
            f"{record['reason'].splitlines()[0]}",
            style="red",
        )
    elif record["kind"] == "round":
        note = f"loss {record['loss']:.4f}, {record['clients']} clients"
        progress.update(task, completed=record["round"], description="round", note=note)
        if plain and (record["round"] % 10 == 0 or record["round"] in (1, record["rounds"])):
            progress.console.print(
                f"round {record['round']}/{record['rounds']}: {note}, {record['seconds']:.0f} s"
            )
