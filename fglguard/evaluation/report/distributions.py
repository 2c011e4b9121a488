"""Score distributions: safe episodes above the axis, unsafe ones below."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.evaluation.report.picture import KeyEntry, Picture, Table
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes
from fglguard.evaluation.report.theme import colour
from fglguard.evaluation.report.thresholds import threshold_text

MOST_PANELS = 12
KEY = (
    KeyEntry("safe, upwards", "safe", "box"),
    KeyEntry("unsafe, downwards", "unsafe", "box"),
    KeyEntry("threshold: blocked at or right of it", "text", dashes=(4, 3)),
)


def draw_distributions(run: RunRecord) -> list[Picture]:
    """A picture a domain, of the first `MOST_PANELS` domains, on one common axis of scores."""
    edges = np.array(run.curves["edges"])
    return [
        _draw(run, place, domain, run.curves["domains"][domain], edges)
        for place, domain in enumerate(list(run.curves["domains"])[:MOST_PANELS])
    ]


def _draw(
    run: RunRecord,
    place: int,
    domain: str,
    counts: Mapping[str, Any],
    edges: NDArray[np.float64],
) -> Picture:
    safe, unsafe = np.array(counts["safe"]), np.array(counts["unsafe"])
    threshold = run.threshold(domain)
    description = (
        f"Corroborated scores of {safe.sum()} safe and {unsafe.sum()} unsafe test episodes, each "
        f"class as shares of its own; threshold: {threshold_text(run, domain)}."
    )
    with figure(2.2) as drawn:
        axes = place_axes(drawn)
        for shares, name in ((_shares(safe), "safe"), (-_shares(unsafe), "unsafe")):
            axes.stairs(
                shares, edges, fill=True, facecolor=colour(name), edgecolor="none", alpha=0.75
            )
        axes.axhline(0, color=colour("muted"), linewidth=0.8)
        if threshold is not None:
            axes.axvline(threshold, color=colour("text"), linewidth=1.2, linestyle=(0, (4, 3)))
        shown = [*edges[[0, -1]], *([] if threshold is None else [threshold])]
        axes.set_xlim(min(shown), max(shown))
        highest = max(_shares(safe).max(), _shares(unsafe).max(), 0.05) * 1.08
        axes.set_ylim(-highest, highest)
        axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0%}")
        axes.set_xlabel("corroborated score")
        svg = inline_svg(drawn, f"scores-{place}", domain, description)
    return Picture(domain, description, svg, (), _table(safe, unsafe, edges))


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts / max(1, counts.sum()), dtype=np.float64)


def _table(safe: NDArray[np.int64], unsafe: NDArray[np.int64], edges: NDArray[np.float64]) -> Table:
    held = np.flatnonzero(safe + unsafe)
    return Table(
        ("scores", "safe", "unsafe"),
        [
            (f"{edges[i]:.3f} to {edges[i + 1]:.3f}", str(safe[i]), str(unsafe[i]))
            for i in held.tolist()
        ],
    )
