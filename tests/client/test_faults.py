from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.faults import Fault, draw_fault, inject_faults, simulated_seconds
from fglguard.settings import FaultSettings

NONE = FaultSettings(
    dropout=0.0,
    straggler=0.0,
    slowdown=5.0,
    step_seconds=2.0,
    deadline=0.0,
    crash_round=0,
    crash_client=0,
)
keys = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(1, 500), st.integers(0, 2000), st.integers(0, 5)
)


@given(keys)
def test_no_probability_no_fault(key):
    assert draw_fault(NONE, *key) == Fault(dropout=False, straggler=False, crash=False)


@given(keys)
def test_probability_one_is_certain(key):
    fault = draw_fault(replace(NONE, dropout=1.0, straggler=1.0), *key)
    assert fault.dropout
    assert fault.straggler


@given(keys, st.floats(0, 1), st.floats(0, 1))
def test_who_drops_out_does_so_at_every_larger_probability(key, one, other):
    small, large = sorted((one, other))
    if draw_fault(replace(NONE, dropout=small), *key).dropout:
        assert draw_fault(replace(NONE, dropout=large), *key).dropout


def test_dropout_and_straggling_come_as_often_as_asked_and_independently():
    """Of 4000 draws: counts within 3 standard deviations of n p, both at once of n p q."""
    settings = replace(NONE, dropout=0.2, straggler=0.5)
    faults = [draw_fault(settings, 5, r, c, 0) for r in range(1, 41) for c in range(100)]
    for found, p in (
        (sum(f.dropout for f in faults), 0.2),
        (sum(f.straggler for f in faults), 0.5),
        (sum(f.dropout and f.straggler for f in faults), 0.1),
    ):
        assert abs(found - 4000 * p) < 3 * np.sqrt(4000 * p * (1 - p))


def test_seed_round_client_and_attempt_each_draw_anew():
    settings = replace(NONE, dropout=0.5)
    rows = [
        tuple(draw_fault(settings, *key(n)).dropout for n in range(64))
        for key in (
            lambda n: (n, 1, 0, 0),
            lambda n: (0, n + 1, 0, 0),
            lambda n: (0, 1, n, 0),
            lambda n: (0, 1, 0, n),
        )
    ]
    assert len(set(rows)) == 4
    assert all(0 < sum(row) < 64 for row in rows)


def test_a_crash_comes_in_its_round_at_its_client_in_every_attempt():
    settings = replace(NONE, crash_round=3, crash_client=1)
    assert [
        (r, c, a)
        for r in range(1, 5)
        for c in range(3)
        for a in range(2)
        if draw_fault(settings, 0, r, c, a).crash
    ] == [(3, 1, 0), (3, 1, 1)]


@pytest.mark.parametrize(("straggler", "seconds"), [(False, 14.0), (True, 70.0)])
def test_seconds_by_hand(straggler, seconds):
    """7 steps of 2 s; a straggler takes 5 times as long."""
    fault = Fault(dropout=False, straggler=straggler, crash=False)
    assert simulated_seconds(NONE, fault, 7) == seconds


def test_a_real_site_ignores_faults():
    """With a silo of its own, the handler gets the message itself, and its reply goes out as is."""

    class SiteContext:
        node_config = {"site": "a", "data-path": "/srv/silo"}

    message, reply = object(), object()
    seen = []

    def handler(received, context):
        seen.append(received)
        return reply

    assert inject_faults(handler)(message, SiteContext()) is reply
    assert seen == [message]
