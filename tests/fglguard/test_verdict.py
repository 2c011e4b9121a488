import json
import math
from dataclasses import FrozenInstanceError, asdict

import pytest

from fglguard.errors import SettingsError
from fglguard.flow.taint import Taint
from fglguard.verdict import Driver, Verdict


def verdict(**changes) -> Verdict:
    values = {
        "episode_id": "e1",
        "decision": "block",
        "status": "success",
        "score": 0.4,
        "corroborated_score": 0.9,
        "threshold": 0.5,
        "reason": "tool scores 0.9",
        "model_id": "m",
        "calibration_id": "c",
        "latency_ms": 1.5,
        "agents": {"tool": 0.9, "agent": 0.4},
    }
    return Verdict(**{**values, **changes})


def test_record_is_strict_json_with_every_field() -> None:
    taint = Taint("a@b.example", "Send it to a@b.example", 0.5, 1, 2, ("tool", "agent"))
    driver = Driver("tool", "agent", 1.5, (0, 2))
    record = verdict(taints=(taint,), drivers=(driver,)).to_record()
    assert json.loads(json.dumps(record, allow_nan=False))["taints"][0]["path"] == ["tool", "agent"]
    told = {"taints": [asdict(taint)], "drivers": [asdict(driver)]}
    assert record == {**asdict(verdict()), **told}
    assert verdict(threshold=math.inf).to_record()["threshold"] is None


def test_is_frozen_and_travels_between_processes_as_json() -> None:
    with pytest.raises(FrozenInstanceError):
        verdict().decision = "allow"  # type: ignore[misc]
    travelled = json.loads(json.dumps(verdict().to_record()))
    assert Verdict(**{**travelled, "taints": (), "drivers": ()}) == verdict()


def test_only_allow_lets_an_answer_out() -> None:
    assert not verdict(decision="allow").blocked
    for decision in ("rewrite", "human_review", "block"):
        assert verdict(decision=decision).blocked


@pytest.mark.parametrize(
    "changes",
    [
        {"score": None, "corroborated_score": None},
        {"corroborated_score": None},
        {"status": "error"},
        {"status": "skipped"},
    ],
)
def test_scores_and_status_must_agree(changes) -> None:
    with pytest.raises(SettingsError, match="does not hold together"):
        verdict(**changes)


def test_an_error_has_no_score() -> None:
    failed = verdict(status="error", score=None, corroborated_score=None)
    assert failed.to_record()["score"] is None
