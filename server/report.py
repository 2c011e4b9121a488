"""The report that a finished run leaves in its folder; no episode's text is in it."""

import logging
from pathlib import Path

from fglguard.corpora.selection import open_corpus
from fglguard.evaluation.report.writing import REPORT_FILE, write_report
from fglguard.settings import RunSettings
from fglguard.silo import Silo

logger = logging.getLogger("fglguard")


def write_run_report(folder: Path, settings: RunSettings) -> str | None:
    """Write `report.html` of a run whose results are in its folder.

    In a simulation, where the silos are at hand, its viewer shows graphs and risks; never text.
    Whatever goes wrong here is logged and told, and costs the run nothing: `fglguard report` writes
    the page again.

    Returns:
        Why there is no report; None where there is one.
    """
    try:
        write_report(folder, folder / REPORT_FILE, silos=_silos(folder, settings))
    except Exception as error:  # a whole run must not fail on a page about it
        logger.exception(
            "the run's results are whole, but its report could not be written; "
            "`fglguard report %s` writes it again",
            folder,
        )
        return f"{type(error).__name__}: {error}"
    return None


def _silos(folder: Path, settings: RunSettings) -> list[Silo]:
    """None in a real federation, and none where each client has a guard of its own."""
    if settings.federation.roster or not (folder / "guard").exists():
        return []
    return open_corpus(settings.corpus)
