"""Late fusion through whole runs in this process; replies that can't be sums are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, MessageType, RecordDict

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.corpora.splits import SPLITS
from fglguard.encoder import load_encoder
from fglguard.errors import UpdateError
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.packed_graphs import collate
from fglguard.silo import Silo
from server.app import app as server_app
from server.branch_sums import read_branch_sums
from server.inprocess import simulate
from strategies.cohort import Member

GRAPH = GraphSettings(0, **PRESET_FEATURES["small"])
PRESET = {
    "detector__preset": "small",
    "detector__rounds": 0,
    "detector__labels": "final",
    "strategy__optimizer": "sgd",
    "strategy__learning_rate": 2.0,
    "federation__rounds": 2,
}


def run(run_config, **changes):
    config = run_config(**{**PRESET, **changes})
    silo = Silo.open(Path(config["corpus.path"]))
    packed = silo.prepare(load_encoder("hashed-words"), GRAPH)
    simulate(server_app, client_module.app, config)
    return Path(config["output"]), silo, packed


def validation_scores(detector, silo, packed, rows=None):
    val = np.flatnonzero(np.asarray(silo.split) == SPLITS.index("val"))
    chosen = val if rows is None else np.intersect1d(val, rows)
    batch = collate(packed, chosen)
    return detector.hidden(batch)[batch.final].detach().double().numpy()


def test_the_guard_standardises_by_the_moments_of_all_validation_episodes(run_config) -> None:
    """NumPy's mean and std of the saved model's branches over the silo's validation split."""
    folder, silo, packed = run(run_config)
    detector = load_bundle(folder / "guard").detector
    scores = validation_scores(detector, silo, packed)
    mean, deviation = detector.get_parameter("moments").detach().numpy()
    assert np.allclose(mean, scores.mean(axis=0), rtol=1e-4, atol=1e-6)
    spread = scores.std(axis=0)
    assert np.allclose(deviation, np.where(spread > 1e-6, spread, 1), rtol=1e-4)
    assert json.loads((folder / "results.json").read_text())["test"]["mean_auroc_raw"] == 1.0


def test_in_the_local_arm_each_model_is_fused_by_its_own_site(run_config) -> None:
    folder, *_ = run(run_config, strategy__name="local", strategy__mu=0.0)
    moments = [
        load_bundle(path).detector.get_parameter("moments").tolist()
        for path in sorted((folder / "guards").iterdir())
    ]
    assert len(moments) > 1
    assert all(one != moments[0] for one in moments[1:])


def reply(**arrays) -> Message:
    content = RecordDict({"branches": ArrayRecord({n: Array(a) for n, a in arrays.items()})})
    asked = Message(RecordDict(), dst_node_id=1, message_type=MessageType.EVALUATE)
    return Message(content, reply_to=asked)


SUMS = {"episodes": np.array([4]), "sums": np.ones(2), "squares": np.ones(2)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sums": np.array([1.0, np.nan])}, "branches.sums"),
        ({"sums": np.ones(3)}, "branches.sums: expected 2"),
        ({"episodes": np.array([4.5])}, "branches.episodes"),
        ({"episodes": np.array([-1])}, "sums of so many"),
        ({"sums": np.array([9.0, 1.0])}, "sums of so many"),
        ({"sums": np.array([1e9, 0.0]), "squares": np.array([1e18, 1.0])}, r"got 2\.5e\+08"),
        ({"episodes": np.array([10**15])}, "sums of so many"),
        ({"other": np.ones(1)}, "record 'branches'"),
    ],
)
def test_what_can_be_no_sums_of_scores_is_refused(change, message) -> None:
    """(sum)^2 <= n * sum of squares for any n numbers, by Cauchy and Schwarz: 81 > 4."""
    member = Member(0, "s", "d")
    assert read_branch_sums(reply(**SUMS), member, 2).sums.episodes == 4
    with pytest.raises(UpdateError, match=message):
        read_branch_sums(reply(**{**SUMS, **change}), member, 2)
