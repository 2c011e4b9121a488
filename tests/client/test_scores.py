"""What leaves a client after scoring, by setting, split and kind of client."""

from dataclasses import replace

import numpy as np
import pytest

from client.holdings import simulated_holdings
from client.scores import scores_to_return
from fglguard.errors import CalibrationError
from fglguard.settings import RunSettings
from fglguard.training import Scores
from scripts.generate_flower_config import composed


@pytest.fixture
def held(make_silo):
    changes = {"corpus.path": str(make_silo().path), "corpus.encoder": "hashed-words"}
    changes |= {"partition.kind": "iid", "federation.clients": 4}
    settings = RunSettings.from_flat({**composed("detector=paper", "privacy=none"), **changes})
    calibration = replace(settings.calibration, scores="histogram", bins=10)
    return simulated_holdings(settings, 0, 4), calibration


def returned(held, split, simulated, scores="histogram", spoil=None):
    holdings, settings = held
    rows = holdings.indices(split)
    random = np.random.default_rng(1)
    raw = random.random(len(rows))
    found = Scores(raw, np.maximum(raw, random.random(len(rows))))
    if spoil is not None:
        found.corroborated[0] = spoil
    answer = scores_to_return(
        found, holdings, rows, split, replace(settings, scores=scores), simulated=simulated
    )
    return found, rows, answer


@pytest.mark.parametrize(
    ("scores", "split", "simulated", "record"),
    [
        ("pairs", "val", False, "scores"),
        ("pairs", "test", False, "scores"),
        ("histogram", "val", True, "histogram"),
        ("histogram", "test", True, "scores"),
        ("histogram", "val", False, "histogram"),
        ("histogram", "test", False, "histogram"),
        ("histogram", "train", False, "histogram"),
    ],
)
def test_with_histograms_a_real_site_returns_no_pair_of_any_split(
    held, scores, split, simulated, record
):
    assert set(returned(held, split, simulated, scores)[2]) == {record}


def test_counts_are_those_of_each_domain_and_class(held):
    """Brute force: an episode at a time."""
    holdings, _ = held
    scores, rows, answer = returned(held, "test", simulated=False)
    expected = {name: np.zeros((2, 10), int) for name in answer["histogram"]}
    for place, row in enumerate(rows):
        domain = holdings.domain_of[row]
        label = "unsafe" if holdings.packed.label[row] == 1 else "safe"
        bins = int(scores.corroborated[place] * 10), int(scores.raw[place] * 10)
        expected[label][domain, bins[0]] += 1
        expected[f"raw_{label}"][domain, bins[1]] += 1
        if label == "safe" and holdings.clean[row] == 0:
            expected["safe_attacked"][domain, bins[0]] += 1
    assert set(expected) == {"safe", "unsafe", "safe_attacked", "raw_safe", "raw_unsafe"}
    for name, array in answer["histogram"].items():
        np.testing.assert_array_equal(array.numpy(), expected[name])


def test_calibration_asks_for_two_counts_alone(held):
    assert set(returned(held, "val", simulated=False)[2]["histogram"]) == {"safe", "unsafe"}


def test_a_score_of_nan_is_no_count(held):
    with pytest.raises(CalibrationError, match=r"within \[0, 1\], got 1 of"):
        returned(held, "val", simulated=False, spoil=np.nan)
