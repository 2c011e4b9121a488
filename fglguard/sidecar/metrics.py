"""What Prometheus is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fglguard.sidecar.generations import Generations
from fglguard.sidecar.queue import Queue
from fglguard.sidecar.verdict_log import VerdictLog
from fglguard.verdict import Verdict

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one sidecar, and what is looked up as they are asked for.

    Args:
        generations: The guards.
        queue: What is taken.
        log: The verdict log, if there is one.
    """

    def __init__(self, generations: Generations, queue: Queue, log: VerdictLog | None) -> None:
        self._registry = CollectorRegistry()
        self._checks = self._counter("checks", "Checks.", "decision", "status")
        self._scored = self._counter("scored_episodes", "Stored episodes.", "decision", "status")
        self._allowed = self._counter("allow_list_uses", "Checks let through unchecked.", "entry")
        self._messages = self._counter("messages", "Messages observed.", "new")
        self._refused = self._counter("refused", "Requests that were refused.", "reason")
        self._reloads = self._counter("reloads", "Reloads of the bundle.", "outcome")
        self._seconds = Histogram(
            "fglguard_check_seconds",
            "Wall time of a check.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self._registry.register(_State(generations, queue, log))

    def checked(self, verdict: Verdict, seconds: float, allowed_by: str | None) -> None:
        """Count a check."""
        self._checks.labels(verdict.decision, verdict.status).inc()
        self._seconds.observe(seconds)
        if allowed_by is not None:
            self._allowed.labels(allowed_by.split(" ")[0]).inc()

    def scored(self, verdict: Verdict) -> None:
        """Count a stored episode."""
        self._scored.labels(verdict.decision, verdict.status).inc()

    def observed(self, new: bool) -> None:
        """Count a message."""
        self._messages.labels(str(new).lower()).inc()

    def refused(self, reason: str) -> None:
        """Count a request that was refused."""
        self._refused.labels(reason).inc()

    def reloaded(self, outcome: str) -> None:
        """Count a reload: `done` or `refused`."""
        self._reloads.labels(outcome).inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"fglguard_{name}", about, labels, registry=self._registry)


class _State(Collector):
    """What is as it is at the moment of a scrape."""

    def __init__(self, generations: Generations, queue: Queue, log: VerdictLog | None) -> None:
        self._generations = generations
        self._queue = queue
        self._log = log

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are known once there is something to tell."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Everything of this moment."""
        every = self._generations.every
        episodes = [one.guard.episodes for one in every]
        yield _gauge("episodes_running", "Episodes that run.", sum(len(one) for one in episodes))
        yield _counted("episodes_expired", "Idle too long.", sum(one.expired for one in episodes))
        yield _counted(
            "episodes_displaced", "Gave way to newer ones.", sum(one.displaced for one in episodes)
        )
        yield _gauge("queue_depth", "Requests that wait or are worked at.", self._queue.depth)
        yield _gauge("closing", "1 while the sidecar stops.", float(self._queue.closed))
        yield _gauge("guards", "Guards that serve: 2 while old episodes run out.", len(every))
        yield self._bundle()
        yield from self._drift()
        if self._log is not None:
            failing = float(self._log.failing is not None)
            yield _gauge("verdict_log_failing", "1 while verdicts can't be logged.", failing)
            yield _counted("verdict_log_lost", "Verdicts that were not logged.", self._log.lost)

    def _bundle(self) -> Metric:
        guard = self._generations.current.guard
        labels = {
            "model_id": guard.bundle.model_id,
            "calibration_id": guard.calibration_id,
            "domain": guard.domain or "",
            "mode": guard.policy.mode,
            "on_error": guard.policy.on_error,
            "blocks_nothing": str(guard.calibration.blocks_nothing).lower(),
        }
        family = GaugeMetricFamily("fglguard_bundle_info", "The guard.", labels=list(labels))
        family.add_metric(list(labels.values()), 1.0)
        return family

    def _drift(self) -> Iterator[Metric]:
        report = self._generations.current.drift.report()
        yield _gauge("drift_alert", "1 once live scores have drifted.", float(report.alert))
        yield _gauge("drift_scores", "Live scores seen.", report.scores)
        told: dict[str, tuple[str, float | None]] = {
            "drift_e_value": ("Evidence of drift.", report.e_value),
            "drift_psi": ("Population stability index of the latest scores.", report.psi),
            "drift_psi_without_drift": (
                "What it is on average where nothing changed.",
                report.psi_without_drift,
            ),
        }
        for name, (about, value) in told.items():
            if value is not None:  # What is undefined is left out, and never 0.
                yield _gauge(name, about, value)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"fglguard_{name}", about, value=value)


def _counted(name: str, about: str, value: float) -> Metric:
    return CounterMetricFamily(f"fglguard_{name}", about, value=value)
