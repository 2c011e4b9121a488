import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from strategies.admission import admit, bounded
from strategies.cohort import Member
from strategies.updates import Update

SETTINGS = RunSettings.from_flat(composed("detector=paper", "privacy=none")).strategy

vectors = arrays(np.float32, 6, elements=st.floats(-1e6, 1e6, width=32))


def length(vector, reference):
    return np.linalg.norm(vector.astype(np.float64) - reference)


def update(parameters, nodes=10, max_nodes=None):
    member = Member(0, "a-0", "a", max_nodes)
    vector = np.array(parameters, dtype=np.float32)
    return Update(member, vector, nodes, {"nodes": float(nodes), "loss": 0.5, "update_norm": 0.1})


def test_three_four_five_by_hand():
    """r = (1, 1), v - r = (3, 4) of length 5; bound 2.5 halves it: r + (1.5, 2)."""
    reference = np.array([1, 1], dtype=np.float32)
    vector, norm = bounded(np.array([4, 5], dtype=np.float32), reference, 2.5)
    assert norm == pytest.approx(5)
    assert vector == pytest.approx([2.5, 3])
    assert vector.dtype == np.float32


@given(vectors, vectors, st.floats(1e-3, 1e7))
def test_a_bound_never_lengthens(vector, reference, bound):
    shorter, norm = bounded(vector, reference, bound)
    assert norm == pytest.approx(length(vector, reference))
    change = np.abs(shorter.astype(np.float64) - reference)
    assert np.all(change <= np.abs(vector.astype(np.float64) - reference))
    # What rounding to float32 can add: half a unit in the last place of each coordinate.
    slack = np.linalg.norm(np.spacing(np.maximum(np.abs(shorter), np.abs(reference))))
    assert length(shorter, reference) <= bound * (1 + 1e-9) + slack


@given(vectors, vectors)
def test_an_update_within_the_bound_keeps_its_bits(vector, reference):
    bound = length(vector, reference) * (1 + 1e-9)
    assert bounded(vector, reference, bound)[0] is vector


def test_the_length_is_measured_and_not_believed(caplog):
    """The site says 0.1; (3, 4) from the origin is 5 long and is halved."""
    settings = dataclasses.replace(SETTINGS, norm_bound=2.5)
    found = admit(update([3, 4]), np.zeros(2, dtype=np.float32), settings, 7)
    assert found.parameters == pytest.approx([1.5, 2])
    assert found.metrics["update_norm"] == pytest.approx(5)
    assert found.metrics["bounded"] == 1
    assert "round 7: site a-0: update of length 5 scaled down" in caplog.text
    short = admit(update([0.3, 0.4]), np.zeros(2, dtype=np.float32), settings, 7)
    assert short.metrics["bounded"] == 0


def test_without_a_bound_the_length_is_measured_and_nothing_else_changes():
    """The hypotenuse of 3 and 4 is 5, from (1, 1) to (4, 5)."""
    found = admit(update([4, 5]), np.ones(2, dtype=np.float32), SETTINGS, 1)
    assert found.metrics["update_norm"] == 5
    assert np.array_equal(found.parameters, update([4, 5]).parameters)
    assert "bounded" not in found.metrics


def test_a_claim_above_the_rosters_is_capped(caplog):
    sent = np.zeros(2, dtype=np.float32)
    found = admit(update([1, 2], nodes=5000, max_nodes=200), sent, SETTINGS, 3)
    assert found.nodes == 200
    assert found.metrics["nodes"] == 200
    assert found.metrics["claimed_nodes"] == 5000
    assert "site a-0 claims 5000 nodes, the roster's max_nodes is 200" in caplog.text
    honest = update([1, 2], nodes=200, max_nodes=200)
    assert admit(honest, sent, SETTINGS, 3).nodes == 200
    assert "claimed_nodes" not in admit(honest, sent, SETTINGS, 3).metrics
