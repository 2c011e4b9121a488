"""From a score, an error or an exemption to a verdict."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from fglguard.bundle import Bundle
from fglguard.errors import FglguardError, raised_at
from fglguard.events import Event
from fglguard.flow.taint import most_suspicious
from fglguard.live.policy import Policy
from fglguard.reasons import reason
from fglguard.scoring import Scored
from fglguard.verdict import Decision, Verdict

log = logging.getLogger(__name__)


class Judge:
    """Decides by a bundle's threshold and an operator's policy.

    Args:
        bundle: Threshold and ids.
        domain: Whose threshold decides. None, or a domain without one of its own: the pooled one.
        policy: What an error means, and whether decisions are enforced.
        taints: Whether verdicts tell of tainted values, which quote the episode.
    """

    def __init__(self, bundle: Bundle, domain: str | None, policy: Policy, taints: bool) -> None:
        self._bundle = bundle
        self._policy = policy
        self._taints = taints
        self.calibration, self.calibration_id = bundle.for_domain(domain)

    @property
    def threshold(self) -> float:
        """tau: what has a corroborated score at or above it is held back."""
        return self.calibration.threshold

    def scored(self, episode: str, scored: Scored, began: float) -> Verdict:
        """The verdict on something that was scored, `allow` or `block`."""
        blocked = scored.corroborated >= self.threshold
        bundle, graph = self._bundle, scored.graph
        return replace(
            self._verdict(episode, "block" if blocked else "allow", began),
            status="success",
            score=scored.score,
            corroborated_score=scored.corroborated,
            reason=reason(
                graph,
                scored.nodes,
                bundle.detector.options.readout,
                scored.score,
                scored.corroborated,
                self.threshold,
            ),
            agents=dict(zip(graph.agent_ids, scored.nodes.tolist(), strict=True)),
            taints=most_suspicious(graph.taints) if self._taints else (),
        )

    def skipped(self, episode: str, why: str, began: float) -> Verdict:
        """The verdict on something that is not checked."""
        return replace(self._verdict(episode, "allow", began), reason=why)

    def failure(self, episode: str, error: Exception, began: float) -> Verdict:
        """The verdict on something that can't be scored: what the operator chose for that case.

        It tells what is wrong where the error is one of ours, which quote no text; of any other
        the type alone, and the log where it was raised.
        """
        kind = type(error).__name__
        own = isinstance(error, FglguardError)
        told = f"{kind}: {error}" if own else kind
        logged = told if own else f"{told}, raised at {raised_at(error)}"
        log.error("episode %r can't be scored: %s; %s", episode, logged, self._policy.on_error)
        return replace(
            self._verdict(episode, self._policy.on_error, began),
            status="error",
            reason=f"could not be scored ({told}); on_error is {self._policy.on_error}",
        )

    def of(self, event: Event, verdict: Verdict) -> Verdict:
        """The verdict with what it is on."""
        return replace(
            verdict,
            agent=event.sender,
            kind=event.kind,
            content_hash=event.content_hash,
        )

    def _verdict(self, episode: str, decision: Decision, began: float) -> Verdict:
        return Verdict(
            episode_id=episode,
            decision=decision,
            status="skipped",
            score=None,
            corroborated_score=None,
            threshold=self.threshold,
            reason="",
            model_id=self._bundle.model_id,
            calibration_id=self.calibration_id,
            latency_ms=(time.perf_counter() - began) * 1000,
            enforced=self._policy.mode == "enforce",
        )
