"""No choice looks at the test side: flip all of its labels and the same guard comes out."""

import dataclasses
import json

import numpy as np
import pytest

from client.app import app as client_app
from fglguard.corpora.splits_file import Splits
from fglguard.encoder import load_encoder
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.sealing import unseal
from fglguard.silo import Silo
from scripts.generate_flower_config import composed
from server.app import app as server_app
from server.inprocess import simulate

pytestmark = pytest.mark.long


SETTINGS = {
    "paper": {},
    "small": {
        "detector.preset": "small",
        "detector.rounds": 0,
        "detector.labels": "final",
        "strategy.optimizer": "sgd",
        "strategy.learning_rate": 2.0,
    },
}


def run(folder, episodes, splits, preset):
    """A small federation on these episodes, with its silo and run in a folder of their own."""
    silo = Silo.create(folder / "silo", episodes, name="silo")
    rounds = SETTINGS[preset].get("detector.rounds", GraphSettings().rounds)
    graph = GraphSettings(rounds, **PRESET_FEATURES[preset])
    silo.prepare(load_encoder("hashed-words"), graph)
    splits.write(folder / "splits.json")
    values = composed("detector=paper", "privacy=none") | {
        "corpus.name": "silos",
        "corpus.path": str(silo.path),
        "corpus.encoder": "hashed-words",
        "corpus.splits": str(folder / "splits.json"),
        "federation.clients": 4,
        "federation.rounds": 3,
        "federation.connect_timeout": 0.1,
        "output": str(folder / "run"),
        **SETTINGS[preset],
    }
    simulate(server_app, client_app, values)
    return folder / "run"


@pytest.mark.parametrize("preset", ["paper", "small"])
def test_flipped_test_labels_change_no_choice(tmp_path, make_episode, preset):
    episodes = [
        make_episode(number, domain, unsafe=number % 4 < 2)
        for domain in ("a", "b")
        for number in range(60)
    ]
    sides = np.array([(0, 0, 1, 2)[(n // 4) % 4] for _ in "ab" for n in range(60)], np.uint8)
    silo = Silo.create(tmp_path / "ids", episodes, name="silo")
    splits = Splits.of("by hand", [silo], [sides])
    flipped = [
        dataclasses.replace(episode, unsafe=not episode.unsafe) if side == 2 else episode
        for episode, side in zip(episodes, sides.tolist(), strict=True)
    ]

    first = run(tmp_path / "first", episodes, splits, preset)
    second = run(tmp_path / "second", flipped, splits, preset)

    # Weights and whatever is fused into them, bit for bit.
    model = "guard/model.safetensors"
    assert (first / model).read_bytes() == (second / model).read_bytes()
    # Threshold, calibration counts and all else but where the run took place.
    guards = [unseal((f / "guard/guard.json").read_bytes(), "guard") for f in (first, second)]
    for guard in guards:
        del guard["provenance"]
    assert guards[0] == guards[1]
    results = [json.loads((f / "results.json").read_bytes()) for f in (first, second)]
    assert results[0]["calibration"] == results[1]["calibration"]
    # The labels were seen where they belong: AUROC turns round.
    areas = [r["test"]["pooled"]["auroc_raw"]["value"] for r in results]
    assert areas[0] + areas[1] == pytest.approx(1.0)
    assert areas[0] != pytest.approx(areas[1])
    # The given sides were those of the run.
    held = [results[0]["clients"][site]["test_graphs"] for site in results[0]["clients"]]
    assert sum(held) == np.count_nonzero(sides == 2)
