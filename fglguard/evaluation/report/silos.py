"""The silos whose episodes a run's report shows."""

from dataclasses import replace
from pathlib import Path

from fglguard.corpora.selection import open_corpus
from fglguard.evaluation.report.run_record import read_settings
from fglguard.settings import RunSettings
from fglguard.silo import Silo, open_silos


def silos_of_run(folder: Path, path: Path) -> list[Silo]:
    """Open the silos at `path` as the run at `folder` saw them.

    A simulation's domains and given splits hold here too; a real site's silo is taken as it is.

    Raises:
        ReportError: The folder holds no run.
        SettingsError: Its settings are not those of this version.
        SiloError: There is no silo, or it is damaged.
    """
    settings = RunSettings.from_flat(read_settings(folder))
    if settings.federation.roster:
        return open_silos(path)
    return open_corpus(replace(settings.corpus, path=str(path)))
