"""An audit as files: JSON with everything, Markdown, one page, and a summary for other tools."""

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

from fglguard.files import write_atomically
from privacy.audit.findings import BEST, Audit
from privacy.audit.text_groups import PAPER
from privacy.plans import LADDER
from scripts.auditing.page import audit_page
from scripts.auditing.table import markdown


def write_audit(audit: Audit, out: Path) -> list[Path]:
    """Write `MODEL.json`, `MODEL.md` and `MODEL.html`."""
    stem = re.sub("[^a-z0-9_-]", "-", audit.model)
    contents = {
        "json": _json(dataclasses.asdict(audit)),
        "md": markdown(audit),
        "html": audit_page(audit),
    }
    files = []
    for ending, text in contents.items():
        files.append(out / f"{stem}.{ending}")
        with write_atomically(files[-1]) as file:
            file.write(text.encode())
    return files


def write_summary(audit: Audit, path: Path) -> None:
    """Write the figures of `summary` as JSON."""
    with write_atomically(path) as file:
        file.write(_json(summary(audit)).encode())


def summary(audit: Audit) -> dict[str, float]:
    """A mask's highest figures at the smallest number of exports, and what it costs.

    `undefended.FIGURE.min` is the lowest over all cases with the smallest batch of what the best
    attack reaches without a mask; `MASK.FIGURE.max` the highest of any attack in any case,
    `MASK.paper_attack.FIGURE.max` that of the paper's, and `MASK.over_null.max` how far the best of
    a family lies above the best of it on pure noise, with `MASK.over_null.error` the standard error
    of that same difference (left out where it is that of one batch). Ablations are left out. What
    was measured of utility stands under its own keys, such as `detector.auroc.MASK`.
    """
    least = min(finding.exports for finding in audit.findings)
    smallest = min(finding.size for finding in audit.findings)
    best: dict[tuple[str, str], float] = {}
    figures: dict[str, float] = {}
    worst: dict[str, float] = {}
    for finding in audit.findings:
        if finding.exports != least or finding.privacy not in LADDER:
            continue
        for name, figure in finding.figures.items():
            if finding.privacy == "none":
                case = finding.case, name
                if finding.size == smallest:
                    best[case] = max(figure.score, best.get(case, 0.0))
                continue
            reached = {f"{finding.privacy}.{name}.max": figure.score}
            if finding.family == PAPER:
                reached[f"{finding.privacy}.paper_attack.{name}.max"] = figure.score
            over = f"{finding.privacy}.over_null"
            if finding.attack == BEST and figure.over_null > worst.get(over, -math.inf):
                worst[over] = figures[f"{over}.max"] = figure.over_null
                figures.pop(f"{over}.error", None)
                if figure.error is not None:
                    figures[f"{over}.error"] = figure.error
            for key, value in reached.items():
                figures[key] = max(value, figures.get(key, value))
    for (_, name), score in best.items():
        key = f"undefended.{name}.min"
        figures[key] = min(score, figures.get(key, score))
    for mask, cost in audit.overhead.items():
        figures |= {
            f"{mask}.step_time_ratio": cost.step_time_ratio,
            f"{mask}.round_time_ratio": cost.round_time_ratio,
            f"{mask}.payload_bytes": float(cost.payload_bytes),
        }
    return dict(sorted((figures | audit.utility).items()))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
