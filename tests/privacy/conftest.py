import functools

import pytest

from privacy.audit.sentences import sentences
from privacy.audit.victims import Size, make_victim

SIZE = Size(width=64, vocabulary=400, positions=32)


@functools.cache
def _victim(family):
    return make_victim(family, sentences(200), size=SIZE)


@pytest.fixture
def victim_of():
    """Victims of five families, untrained, of width 64; one is made once for all tests."""
    return _victim
