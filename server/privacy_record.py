"""What a run hid of its clients' updates, and what it left open."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fglguard.detector import Detector
from fglguard.settings import PrivacySettings
from privacy.plans import Operation, Privacy, operation_of, plan_of
from privacy.roles import parts_of

ALWAYS_OPEN = "counts, how far each tensor stands out of its noise, and scores or counts of scores"
"""What every reply holds beside the parameters."""
LOSSES: Mapping[Privacy, str] = {
    "none": "losses, update norms, ",
    "aegis": "losses, ",
    "aegis_extended": "",
}
"""What else, by mask."""


def privacy_record(detector: Detector, settings: PrivacySettings, metrics: Path) -> dict[str, Any]:
    """The run's masks for `results.json`.

    Args:
        detector: Of the run, its parameters' values unused.
        settings: The run's.
        metrics: Its `metrics.jsonl`, where clients' figures are.

    Returns:
        The settings; `exports_made`, the rounds that one client returned an update in, at most,
        beside the `exports` that the noise was budgeted for; `parts`, for each parameter its role,
        operation and size, and where noise was added the largest s1 / sigma and |G|_F / sigma of
        any client and round; `open`, the names of what was exported as it was.
    """
    plan = plan_of(settings.name)
    made, largest = _of_clients(metrics)
    parts = {}
    for part in parts_of(detector):
        trains = part.parameter.requires_grad
        operation = str(operation_of(part, plan)) if trains else "not trained"
        parts[part.name] = {
            "role": str(part.role),
            "operation": operation,
            "size": part.parameter.numel(),
            **largest.get(part.name, {}),
        }
    opened = [name for name, part in parts.items() if part["operation"] == Operation.OPEN]
    return {
        **asdict(settings),
        "exports_made": max(made.values(), default=0),
        "parts": parts,
        "open": opened,
        "always_open": LOSSES[settings.name] + ALWAYS_OPEN,
    }


def privacy_line(record: dict[str, Any]) -> str:
    """One line for people."""
    if record["name"] == "none":
        return "privacy none: every update left its client as it was"
    done = defaultdict(list)
    for name, part in record["parts"].items():
        done[part["operation"]].append(name)
    told = "; ".join(f"{how}: {', '.join(names)}" for how, names in done.items())
    return (
        f"privacy {record['name']} (mode {record['mode']}, level {record['level']}, budget of "
        f"{record['exports']} exports, {record['exports_made']} made): {told}; always open: "
        f"{record['always_open']}"
    )


def _of_clients(metrics: Path) -> tuple[Counter[str], dict[str, dict[str, float]]]:
    """Rounds that each site returned an update in, and the largest ratios of each parameter."""
    made: Counter[str] = Counter()
    largest: dict[str, dict[str, float]] = defaultdict(dict)
    with metrics.open(encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            if line["kind"] != "train":
                continue
            made[line["site"]] += 1
            for key, value in line.items():
                if key.startswith("mask."):
                    name, _, kind = key.removeprefix("mask.").rpartition(".")
                    largest[name][kind] = max(value, largest[name].get(kind, 0.0))
    return made, dict(largest)
