"""What a report says of a run's thresholds."""

from collections.abc import Mapping
from typing import Any

from fglguard.evaluation.report.picture import Table, number
from fglguard.evaluation.report.run_record import RunRecord

READOUTS = {
    "final": "the final agent's own score",
    "mean": "the score of the agents' mean logit",
    "max": "the most suspect agent's own score",
}


def threshold_text(run: RunRecord, domain: str) -> str:
    """The domain's threshold, in words where there is no number."""
    threshold = run.threshold(domain)
    if threshold is not None:
        return f"{threshold:.4f}"
    if run.own_thresholds:
        return "a client each"
    return "blocks nothing" if run.guarded else "no guard"


def warnings(run: RunRecord) -> list[str]:
    """What an operator would not expect: no guard, or one that blocks nothing, and why."""
    reason = run.calibration["reason"]
    if not run.guarded:
        return [f"There is no guard: {reason}."]
    told = []
    if not run.own_thresholds and run.calibration["threshold"] is None:
        told.append(f"This guard blocks nothing: {reason}.")
    for domain, own in run.calibration["domains"].items():
        if "fallback" not in own and own["threshold"] is None:
            told.append(f"This guard blocks nothing in domain {domain}: {own['reason']}.")
    return told


def calibration_lines(run: RunRecord) -> list[str]:
    """How the threshold was chosen and what it does to the data it was chosen on."""
    calibration = run.calibration
    lines = [
        f"{_chosen(run)} (over-refusal budget {calibration['budget']:g}; {_rule(calibration)}). On "
        f"calibration data: recall {_figure(calibration['recall'])}, false-positive rate "
        f"{_figure(calibration['false_positive_rate'])}, {_count(calibration['benign'])} safe and "
        f"{_count(calibration['unsafe'])} unsafe episodes."
    ]
    if calibration["reason"] and calibration["threshold"] is not None:
        lines.append(f"No unsafe calibration episode is blocked: {calibration['reason']}.")
    lines.append(
        f"Raw is {READOUTS[run.settings['detector.readout']]}. Corroborated is the largest of it, "
        f"the final agent's and those of the agents that it heard; the threshold decides by it."
    )
    return lines


def domain_thresholds(run: RunRecord) -> Table | None:
    """A row a domain where thresholds were chosen by domain."""
    rows = [(domain, *_domain_row(own)) for domain, own in run.calibration["domains"].items()]
    if not rows:
        return None
    return Table(("domain", "threshold", "safe", "unsafe", "recall", "FPR", "why"), rows)


def _domain_row(own: Mapping[str, Any]) -> tuple[str, ...]:
    if "fallback" in own:
        return ("pooled", "-", "-", "-", "-", own["fallback"])
    return (
        _figure(own["threshold"], 4) if own["threshold"] is not None else "blocks nothing",
        _count(own["benign"]),
        _count(own["unsafe"]),
        _figure(own["recall"]),
        _figure(own["false_positive_rate"]),
        own["reason"] or "",
    )


def _chosen(run: RunRecord) -> str:
    calibration = run.calibration
    if run.own_thresholds:
        return f"{calibration['guards']} thresholds, a client each"
    if calibration["threshold"] is None:
        return "No threshold"
    pooled = "Pooled threshold" if calibration["domains"] else "Threshold"
    return f"{pooled} {calibration['threshold']:.4f}"


def _rule(calibration: Mapping[str, Any]) -> str:
    """The rule in words: `rule plain, by episode, from score-label pairs`."""
    name = str(calibration["rule"]).replace("_", "-")
    risk = "" if calibration["risk"] is None else f" at risk {calibration['risk']:g}"
    by = "task group" if calibration["by"] == "group" else "episode"
    groups = calibration.get("benign_groups")
    held = "" if groups is None else f" ({groups} with a safe episode)"
    data = "score-label pairs"
    if calibration["bins"] is not None:
        data = f"histograms of {calibration['bins']} bins"
    return f"rule {name}{risk}, by {by}{held}, from {data}"


def _figure(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else number(value, digits)


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)
