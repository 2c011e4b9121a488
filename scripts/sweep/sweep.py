"""Run a sweep: corpora first, then every point that is not done yet, then the table."""

import dataclasses
import os
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from omegaconf import DictConfig

from fglguard.errors import FederationError, FglguardError
from fglguard.settings import values_of
from scripts.corpus_preparation import prepare_corpus
from scripts.sweep.clearing import clear
from scripts.sweep.point import Point, folders_of, read_points, readable_name
from scripts.sweep.pool import Pool
from scripts.sweep.progress import sweep_progress
from scripts.sweep.status import Outcome, completed, is_completed, mark_failed
from scripts.sweep.table import print_sweep

FAILED = 2
INTERRUPTED = 130


def run_sweep(
    composed: Sequence[tuple[tuple[str, ...], DictConfig]],
    folder: Path,
    workers: int,
    limit: float,
) -> int:
    """Run every point that `folder` does not hold yet and print a table of all.

    A failed or interrupted point's folder is cleared and the point run again: what it holds
    follows from its settings.

    Args:
        composed: Each point's overrides and what Hydra composed from them.
        folder: The sweep's folder.
        workers: Points at a time; 0: one a core.
        limit: Seconds that a point may take.

    Returns:
        The exit code: 0, 2 where a point failed, 130 where the sweep was interrupted.

    Raises:
        FglguardError: Another sweep works in the folder, or the sweep is over a setting that is
            not part of a point.
    """
    points = read_points(composed)
    _, told, interrupted = run_points(points, folder, workers, limit)
    print_sweep(points, told)
    if interrupted:
        return INTERRUPTED
    return FAILED if any(outcome.state == "failed" for outcome in told) else 0


def run_points(
    points: Sequence[Point], folder: Path, workers: int, limit: float
) -> tuple[list[Path | None], list[Outcome], bool]:
    """Prepare the corpora and run every point that `folder` does not hold yet.

    Returns:
        Each point's run folder (None for one that can't run), each one's outcome, and whether
        the sweep was interrupted.

    Raises:
        FglguardError: Another sweep works in the folder, or a silo can't be read.
    """
    with _alone_in(folder), _terminable():
        checked = _with_corpora(points)
        places = folders_of(checked, folder)
        outcomes: dict[Path, Outcome] = {
            place: completed(place, "skipped") for place in places if place and is_completed(place)
        }
        todo = {
            place: point
            for place, point in zip(places, checked, strict=True)
            if place and place not in outcomes
        }
        interrupted = _run_points(todo, outcomes, workers, limit)
        told = [
            outcomes[place] if place else Outcome("failed", reason=point.problem)
            for place, point in zip(places, checked, strict=True)
        ]
    return places, told, interrupted


def _with_corpora(points: Iterable[Point]) -> list[Point]:
    """Prepare each corpus once; a point whose corpus can't be prepared gets that as its problem."""
    problems: dict[object, str | None] = {}
    checked = []
    for point in points:
        if point.settings is None:
            checked.append(point)
            continue
        # What sides are given and which domains are kept changes nothing in the silos.
        corpus = dataclasses.replace(point.settings.corpus, domains="", splits="")
        needed = (corpus, point.settings.detector, point.root)
        if needed not in problems:
            try:
                prepare_corpus(point.settings, point.root)
                problems[needed] = None
            except (FglguardError, OSError) as error:
                problems[needed] = str(error)
        checked.append(dataclasses.replace(point, problem=problems[needed]))
    return checked


def _run_points(
    todo: Mapping[Path, Point], outcomes: dict[Path, Outcome], workers: int, limit: float
) -> bool:
    """Run points into their folders and add their outcomes; returns whether it was interrupted."""
    folders = _cleared(todo, outcomes)
    pool = Pool(_at_a_time(todo.values(), workers), limit)
    running: Sequence[int] = ()
    skipped = len(outcomes)
    try:
        with sweep_progress(len(folders), skipped) as progress:

            def tick(numbers: Sequence[int]) -> None:
                nonlocal running
                running = numbers
                progress.tick(len(numbers))

            tasks = [_task(todo[place], place) for place in folders]
            for number, error in pool.run(tasks, tick):
                place = folders[number]
                outcomes[place] = _outcome(place, error)
                progress.ended(readable_name(todo[place].label), outcomes[place])
    except KeyboardInterrupt:
        pool.stop()
        for number, place in enumerate(folders):
            if place not in outcomes:
                outcomes[place] = _after_interrupt(place, number in running)
        return True
    finally:
        pool.stop()
    return False


def _cleared(todo: Iterable[Path], outcomes: dict[Path, Outcome]) -> list[Path]:
    """The folders that are ready for their points; those that are not fail at once."""
    ready = []
    for place in todo:
        try:
            clear(place)
            ready.append(place)
        except (FederationError, OSError) as error:
            outcomes[place] = Outcome("failed", place, str(error))
    return ready


def _task(point: Point, place: Path) -> Mapping[str, bool | int | float | str]:
    if point.settings is None:
        raise ValueError("a point without settings can't run")
    return values_of(dataclasses.replace(point.settings, output=str(place.resolve())))


def _outcome(place: Path, error: str | None) -> Outcome:
    if error is None:
        return completed(place, "completed")
    mark_failed(place, error)
    return Outcome("failed", place, error)


def _after_interrupt(place: Path, was_running: bool) -> Outcome:
    if not was_running:
        shutil.rmtree(place)
        return Outcome("not run")
    if is_completed(place):
        return completed(place, "completed")
    mark_failed(place, "interrupted")
    return Outcome("interrupted", place)


def _at_a_time(points: Iterable[Point], workers: int) -> int:
    backends = {point.settings.federation.backend for point in points if point.settings}
    if backends - {"inprocess"}:
        return 1
    return workers or len(os.sched_getaffinity(0))


@contextmanager
def _terminable() -> Iterator[None]:
    """Take a request to terminate as Ctrl-C, so that it ends the workers too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise FederationError(f"output: another sweep works in {folder}") from None
    try:
        yield
    finally:
        lock.release()
