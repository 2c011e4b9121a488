"""The part of a corpus that a simulation works with."""

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fglguard.corpora.assignment import LEFT_OUT
from fglguard.corpora.splits_file import with_splits
from fglguard.errors import SettingsError
from fglguard.settings import CorpusSettings
from fglguard.silo import Silo, open_silos


def open_corpus(settings: CorpusSettings) -> list[Silo]:
    """Open the silos at `corpus.path`, with the domains of `corpus.domains` alone.

    Episodes stand on the sides that the file `corpus.splits` gives them, where there is one.

    Raises:
        SettingsError: A domain is wanted that no silo holds (the text lists those there are), or
            the file of sides is not of these silos.
        SiloError: A silo can't be opened.
    """
    silos = open_silos(settings.path)
    if settings.splits:
        silos = with_splits(silos, Path(settings.splits))
    wanted = [name.strip() for name in settings.domains.split(",") if name.strip()]
    if not wanted:
        return silos
    known = sorted({name for silo in silos for name in silo.domains})
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(
            f"corpus.domains: expected some of {', '.join(known)}, got {unknown[0]!r}"
        )
    return [_only(silo, wanted) for silo in silos if set(wanted) & set(silo.domains)]


def _only(silo: Silo, wanted: Sequence[str]) -> Silo:
    """The silo, its episodes of other domains in no split.

    Rows keep their numbers, so that graphs and texts are found as before.
    """
    chosen = tuple(name for name in silo.domains if name in wanted)
    # Episodes left out need some code; no one looks at it.
    codes = np.array([chosen.index(n) if n in chosen else 0 for n in silo.domains], dtype=np.int32)
    kept = np.array([name in chosen for name in silo.domains])[silo.domain]
    view = copy.copy(silo)
    view.domains = chosen
    view.domain = codes[silo.domain]
    view.split = np.where(kept, silo.split, np.uint8(LEFT_OUT))
    return view
