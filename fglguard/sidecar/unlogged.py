"""Verdicts where each must be logged, and the log can't be written."""

from __future__ import annotations

from dataclasses import replace

from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.verdict import Verdict


def refused_verdict(guard: Guard, event: Event, why: str) -> Verdict:
    """The verdict on an event that is not even checked, as the last one could not be logged."""
    return Verdict(
        episode_id=event.episode,
        decision="block",
        status="error",
        score=None,
        corroborated_score=None,
        threshold=guard.threshold,
        reason=f"not checked: the verdict log can't be written ({why}), and it is required",
        model_id=guard.bundle.model_id,
        calibration_id=guard.calibration_id,
        latency_ms=0.0,
        agent=event.sender,
        kind=event.kind,
        content_hash=event.content_hash,
        enforced=guard.policy.mode == "enforce",
    )


def withdrawn_verdict(verdict: Verdict) -> Verdict:
    """What becomes of a verdict that could not be logged."""
    return replace(
        verdict,
        decision="block",
        status="error",
        score=None,
        corroborated_score=None,
        reason="the verdict log can't be written, and it is required",
        agents={},
        taints=(),
        drivers=(),
    )
