"""Learning curves: the training loss of each round, by domain."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import ReportError


@dataclass(frozen=True)
class Learning:
    """One domain's training loss, a value for each round in which a client of it trained.

    Attributes:
        rounds: Numbers of the rounds, ascending.
        mean: Mean over the domain's clients, each counted once.
        low: The lowest client's.
        high: The highest client's.
    """

    rounds: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


def loss_by_domain(lines: Iterable[dict[str, Any]]) -> dict[str, Learning]:
    """Gather the loss of `train` lines of a run's `metrics.jsonl`, domains sorted."""
    losses: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["kind"] == "train" and "loss" in line:
            losses[line["domain"]][line["round"]].append(float(line["loss"]))
    return {domain: _learning(losses[domain]) for domain in sorted(losses)}


def read_history(path: Path) -> list[dict[str, Any]]:
    """The lines of a `metrics.jsonl`.

    Raises:
        ReportError: It can't be read, or a line is damaged.
    """
    records: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                record = json.loads(line)
                if not isinstance(record, dict) or not {"kind", "round"} <= record.keys():
                    raise ReportError(f"{path}:{number}: expected a line of a run's log")
                records.append(record)
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}:{len(records) + 1}: can't be read: {error}") from error
    return records


def _learning(by_round: dict[int, list[float]]) -> Learning:
    rounds = sorted(by_round)
    values = [by_round[number] for number in rounds]
    return Learning(
        rounds=rounds,
        mean=[sum(v) / len(v) for v in values],
        low=[min(v) for v in values],
        high=[max(v) for v in values],
    )
