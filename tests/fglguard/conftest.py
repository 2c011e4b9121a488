"""The real corpora, for the tests that read them where they are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fglguard.corpora import corpus
from fglguard.episode import Episode, Problem

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def real() -> Callable[[str], list[Episode]]:
    """Reads one of the real corpora whole, or skips where they are absent."""

    def read(name: str, problems: list[Problem] | None = None) -> list[Episode]:
        root = Path(os.environ.get("FGLGUARD_CORPORA") or REPOSITORY.parent / "shared" / "corpora")
        if not (root / name).is_dir():
            pytest.skip(f"the real {name} logs are absent; FGLGUARD_CORPORA names their folder")
        collected: list[Problem] = [] if problems is None else problems
        episodes = list(corpus(name).read(root / name, problems=collected))
        assert problems is not None or collected == []
        assert len({episode.id for episode in episodes}) == len(episodes)
        return episodes

    return read
