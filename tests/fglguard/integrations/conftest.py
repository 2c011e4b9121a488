"""The guard of known scores, and a tool whose side effect tells whether it ran.

The guard holds back what an agent says or calls with the word `wire` in it: the scripted models
say it, or not, and so the expected decision is known by construction.
"""

import pytest

from fglguard.live.policy import Policy
from tests.fglguard.live import conftest as live

bundle = live.bundle
make_guard = live.make_guard

ATTACKER = "US133000000121212121212"


@pytest.fixture
def guard(make_guard):
    return make_guard(policy=Policy(calls=True))


@pytest.fixture
def failing_guard(make_guard):
    """A guard whose encoder raises, and which holds back whatever it can't score."""
    encoder = live.Failing()

    def fail():
        raise RuntimeError("no encoder")

    encoder.before = fail
    return make_guard(encoder, policy=Policy(calls=True))


@pytest.fixture(params=["sync", "async"])
def how(request):
    return request.param
