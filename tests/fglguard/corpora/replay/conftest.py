"""Suites and a small corpus, made once for all tests of the replay."""

from collections.abc import Callable
from functools import cache

import pytest

from fglguard.corpora.replay import generate
from fglguard.corpora.replay.generate import generate_suites
from fglguard.corpora.replay.suites import SUITES, ReplaySuite, load_suite
from fglguard.episode import Episode


@pytest.fixture(scope="session")
def banking() -> ReplaySuite:
    return load_suite("banking")


@pytest.fixture(scope="session")
def workspace() -> ReplaySuite:
    return load_suite("workspace")


@pytest.fixture(scope="session")
def small_corpus() -> list[Episode]:
    return generate_suites(SUITES, 3, {"train": 10, "val": 5, "test": 5})


@pytest.fixture(scope="session")
def whole_corpus() -> Callable[[int], list[Episode]]:
    return cache(generate)
