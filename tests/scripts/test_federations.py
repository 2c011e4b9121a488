"""Whole federations on a small silo."""

import pytest

from fglguard.errors import FglguardError
from scripts.auditing.federations import Federations, federated_auroc, mean_auroc

FEW = ("federation.clients=2", "federation.rounds=1", "federation.connect_timeout=0.1")


def test_a_mean_for_each_mask():
    assert mean_auroc({"none": [0.8, 0.9], "aegis": [0.5]}) == {
        "none": pytest.approx(0.85),
        "aegis": 0.5,
    }


@pytest.mark.long
def test_a_run_for_each_mask_and_seed(make_silo):
    told = []
    federations = Federations(
        "paper", make_silo().path, "hashed-words", ("none", "aegis"), (0, 1), FEW
    )
    found = federated_auroc(federations, told.append)
    assert [len(values) for values in found.values()] == [2, 2]
    assert all(0 <= value <= 1 for values in found.values() for value in values)
    assert len(told) == 4 and told[1].startswith("paper, privacy=aegis, seed 0: AUROC")


@pytest.mark.long
def test_a_run_that_fails_is_named(make_silo):
    silo = make_silo()
    few = (*FEW, "privacy.minimum_graphs=1000")
    with pytest.raises(FglguardError, match=r"privacy=aegis, seed 0: .*"):
        federated_auroc(Federations("paper", silo.path, "hashed-words", ("aegis",), (0,), few))
