"""Floors in `results.json`: figures, or null with the reason."""

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.generate_flower_config import composed
from server.floors import floor_aurocs

NAMES = {"counts", "tfidf", "hashed_words"}


@pytest.fixture
def settings_of(tmp_path, make_episode):
    """Settings on a silo of episodes whose labels and sides are those given, by domain."""

    def make(**domains):
        episodes, sides = [], []
        for domain, rows in domains.items():
            for number, (unsafe, side) in enumerate(rows):
                episodes.append(make_episode(2 * number, domain, unsafe=unsafe))
                sides.append(side)
        silo = Silo.create(tmp_path / "silo", episodes, splits=np.array(sides))
        silo.prepare(load_encoder("hashed-words"), GraphSettings())
        changes = {"corpus.path": str(silo.path), "corpus.encoder": "hashed-words"}
        return RunSettings.from_flat({**composed("detector=paper", "privacy=none"), **changes})

    return make


def rows(train: str, test: str):
    """`us` an unsafe and a safe episode."""
    return [(c == "u", 0) for c in train] + [(c == "u", 2) for c in test]


def test_a_domain_of_one_class_is_null_with_its_reason(settings_of) -> None:
    found = floor_aurocs(settings_of(a=rows("us" * 10, "usus"), b=rows("us" * 10, "uu")))
    assert set(found) == NAMES
    for floor in found.values():
        assert floor["domains"]["b"] is None
        assert floor["reasons"] == {"b": "no safe episodes"}
        assert floor["mean"] == floor["domains"]["a"] is not None
        assert floor["reason"] is None


@pytest.mark.parametrize(
    ("train", "told"),
    [
        ("u" * 20, "expected safe and unsafe training episodes, got only unsafe ones"),
        ("ususu", "expected at least 10 labelled training episodes, got 5"),
    ],
)
def test_what_can_not_be_fitted_is_null_with_its_reason(settings_of, train, told) -> None:
    for floor in floor_aurocs(settings_of(a=rows(train, "usus"))).values():
        assert floor == {
            "domains": {"a": None},
            "reasons": {"a": told},
            "mean": None,
            "reason": told,
        }


def test_no_labelled_test_episode_is_a_reason(settings_of) -> None:
    for floor in floor_aurocs(settings_of(a=rows("us" * 10, ""))).values():
        assert floor == {
            "domains": {},
            "reasons": {},
            "mean": None,
            "reason": "no labelled test episodes",
        }
