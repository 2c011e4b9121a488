"""Collect runs: `python scripts/collect.py runs/sweep -o tables`.

Every run folder below the folders given becomes rows of one table, written as CSV, Parquet and
Markdown, and plots over what was swept.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fglguard.errors import FglguardError
from scripts.collecting.plots import LABELS, draw_plots
from scripts.collecting.run_folders import RunFolderError, find_runs, read_run
from scripts.collecting.tidy import MEAN, rows_of, tidy, varying_settings
from scripts.collecting.writing import write_table

console = Console(stderr=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect; returns 0, or 2 where there is nothing to collect."""
    options = _parser().parse_args(arguments)
    try:
        return _collect(options.folders, options.output, options.figures, options.domain)
    except FglguardError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _collect(folders: list[Path], output: Path, figures: list[str], domain: str) -> int:
    runs, skipped = [], 0
    for folder in find_runs(folders):
        try:
            run = read_run(folder)
            runs.append((run, rows_of(run)))
        except RunFolderError as error:
            skipped += 1
            _tell(f"skipped: {error}")
    failed = [run for run, _ in runs if run.state == "failed"]
    for run in failed:
        reason = (run.error or "no reason given").splitlines()[0]
        _tell(f"failed, without figures: {run.folder}: {reason}")
    if not runs:
        raise RunFolderError(f"no run that can be read in {', '.join(map(str, folders))}")
    output.mkdir(parents=True, exist_ok=True)
    frame, settings = tidy(runs), varying_settings(run for run, _ in runs)
    files = write_table(frame, settings, output)
    for figure in figures:
        drawn, notes = draw_plots(frame, settings, figure, domain, output)
        files += drawn
        for note in notes:
            _tell(note)
    completed = len(runs) - len(failed)
    _tell(f"{completed} completed runs, {len(failed)} failed, {skipped} folders skipped")
    for file in files:
        print(file)
    return 0


def _tell(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("runs/tables"), help="default: %(default)s"
    )
    parser.add_argument(
        "--figures",
        nargs="+",
        choices=tuple(LABELS),
        default=["auroc_raw"],
        help="what to plot; default: auroc_raw",
    )
    parser.add_argument(
        "--domain", default=MEAN, help="whose figures to plot: a domain, pooled or mean (default)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
