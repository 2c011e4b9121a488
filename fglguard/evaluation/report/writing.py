"""From a run folder, and a silo where there is one, to a page in a file."""

from collections.abc import Sequence
from pathlib import Path

from fglguard.bundle import load_bundle
from fglguard.errors import ReportError
from fglguard.evaluation.report.episodes import EACH, view_episodes
from fglguard.evaluation.report.page import report_page
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.files import write_atomically
from fglguard.silo import Silo

REPORT_FILE = "report.html"
"""A run folder's own report, which may leave the site: it never holds text."""
TEXT_FILE = "report-with-text.html"


def write_report(
    folder: Path,
    output: Path,
    *,
    silos: Sequence[Silo] = (),
    with_text: bool = False,
    guard: Path | None = None,
    each: int = EACH,
) -> None:
    """Write the report of a completed run.

    A page with text can be read by its owner only (mode 0600), and so can one that was meant to
    hold some.

    Args:
        folder: The run folder.
        output: The page; one that is there is replaced.
        silos: Whose test episodes the viewer shows; none leaves it out.
        with_text: Whether utterances and the names that a site chose go along.
        guard: The guard that scores them; by default the run's.
        each: Episodes of each sort.

    Raises:
        ReportError: The run is not completed, has no one guard, a page with text would be written
            over a report that may leave the site, or something to draw with is not installed.
        SiloError: A silo was not prepared for the guard.
        BundleError: The guard is missing or was changed.
    """
    if with_text and output.resolve() == (folder / REPORT_FILE).resolve():
        raise ReportError(
            f"{output}: not written: this is the report that may leave the site, and text must "
            f"not be in it; name another file"
        )
    run = RunRecord.read(folder)
    episodes = None
    if silos:
        bundle = load_bundle(guard or _guard_of(folder))
        episodes = view_episodes(silos, bundle, with_text=with_text, each=each)
    page = report_page(run, episodes)
    with write_atomically(output, mode=0o600 if with_text else 0o644) as file:
        file.write(page.encode())


def _guard_of(folder: Path) -> Path:
    if (folder / "guard").exists():
        return folder / "guard"
    names = sorted(path.name for path in (folder / "guards").glob("*"))
    raise ReportError(
        f"{folder}: the run has no one guard to score episodes with; name one of "
        f"{', '.join(f'guards/{name}' for name in names) or 'another run'}"
    )
