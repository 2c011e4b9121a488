"""The silos whose episodes a run's report shows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.errors import ReportError
from fglguard.evaluation.report.run_record import RunRecord, read_settings
from fglguard.settings import RunSettings
from fglguard.silo import Silo, open_silos


def silos_of_run(folder: Path, path: Path) -> list[Silo]:
    """Open the silos at `path` as the run at `folder` saw them.

    A simulation's domains and given splits hold here too; a real site's silo is taken as it is.

    Raises:
        ReportError: The folder holds no run, or the silos none of its test episodes.
        SettingsError: Its settings are not those of this version.
        SiloError: There is no silo, or it is damaged.
    """
    settings = RunSettings.from_flat(read_settings(folder))
    if settings.federation.roster:
        silos = open_silos(path)
    else:
        silos = open_corpus(replace(settings.corpus, path=str(path)))
    held = _domains_tested(silos)
    tested = RunRecord.read(folder).domains
    # A real site's roster may call a silo's domain by another name.
    if not held or not (settings.federation.roster or held & set(tested)):
        raise ReportError(
            f"{path}: expected test episodes of the run at {folder}, whose domains are "
            f"{', '.join(tested)}; found those of {', '.join(sorted(held)) or 'none'}"
        )
    return silos


def _domains_tested(silos: Sequence[Silo]) -> set[str]:
    """Domains of which a silo holds test episodes."""
    test = SPLITS.index("test")
    return {
        silo.domains[code] for silo in silos for code in np.unique(silo.domain[silo.split == test])
    }
