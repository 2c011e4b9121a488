"""Faults, sampling and retries draw the same on Ray as in this process."""

import json
from pathlib import Path

import numpy as np
import pytest

from fglguard.bundle import load_bundle
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from scripts.flower_run import flower_run
from server.app import app as server_app

pytestmark = pytest.mark.long


def told(folder):
    """All that `metrics.jsonl` says but the time it took and the traceback's paths."""
    records = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        for timed in ("seconds", "duration"):
            record.pop(timed, None)
        if "reason" in record:
            record["reason"] = record["reason"].splitlines()[0]
        records.append(record)
    return records


def test_ray_gives_the_bits_that_a_run_in_process_gives_under_faults(run_config, tmp_path):
    from client.app import app as client_app
    from server.inprocess import simulate

    config = run_config(
        federation__fraction=0.5,
        federation__over_selection=0.5,
        federation__minimum_clients=2,
        federation__retries=9,
        faults__dropout=0.4,
        faults__straggler=0.5,
        faults__crash_round=2,
        faults__crash_client=1,
    )
    simulate(server_app, client_app, config)
    on_ray = config | {"output": str(tmp_path / "ray"), "federation.backend": "ray"}
    flower_run(RunSettings.from_flat(on_ray))
    ours, theirs = Path(config["output"]), tmp_path / "ray"
    kinds = {record["kind"] for record in told(ours)}
    assert kinds == {"train", "failure", "surplus", "retry", "round"}
    assert told(ours) == told(theirs)
    assert np.array_equal(
        flatten(load_bundle(ours / "guard").detector),
        flatten(load_bundle(theirs / "guard").detector),
    )
