"""Who took part in training and what went wrong, counted from a run's `metrics.jsonl`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any


def participation(metrics: Path) -> dict[str, Any]:
    """Count the lines that tell of training.

    Returns:
        `retries`: attempts that were given up; `failures`: replies that couldn't be used;
        `surplus`: updates that came after enough others; `trained`: in how many rounds each
        client's update counted, by site, for those that counted in any.
    """
    kinds: Counter[str] = Counter()
    trained: Counter[str] = Counter()
    with metrics.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("during", "train") != "train":
                continue
            kinds[record["kind"]] += 1
            if record["kind"] == "train":
                trained[record["site"]] += 1
    return {
        "retries": kinds["retry"],
        "failures": kinds["failure"],
        "surplus": kinds["surplus"],
        "trained": dict(sorted(trained.items())),
    }
