"""A figure over each swept setting, one line a strategy, with intervals over seeds."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scripts.collecting.axes import LINE, Axis, swept_axes
from scripts.collecting.intervals import MeanOverSeeds, mean_over_seeds
from scripts.collecting.tidy import FLOORS, MEAN, POOLED

LABELS = {
    "auroc_raw": "AUROC (raw)",
    "auroc_corroborated": "AUROC (corroborated)",
    "recall": "recall",
    "false_positive_rate": "false-positive rate",
    "over_refusal": "over-refusal",
}
# Okabe and Ito's palette, which colour-blind readers can tell apart, and a shape for print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_PANELS = 24
COLUMNS = 4
DODGE = 0.03
STYLE = {
    "svg.hashsalt": "fglguard",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_plots(
    frame: pl.DataFrame, settings: list[str], figure: str, domain: str, folder: Path
) -> tuple[list[Path], list[str]]:
    """Draw `figure` over every swept setting, as SVG and PNG.

    Each other swept setting gets panels of its own. Points are means over seeds; bars are 95 %
    t-intervals, and a hollow point is a single seed. Without a swept number the x axis holds the
    values of the first other axis, or the strategies.

    Args:
        frame: The tidy table.
        settings: Its columns that hold settings that vary.
        figure: One of `LABELS`.
        domain: Whose rows.
        folder: Where files go.

    Returns:
        The files written, and what could not be drawn and why.
    """
    shown = frame.filter((pl.col("domain") == domain) & pl.col(figure).is_not_null())
    if shown.is_empty():
        return [], [f"{figure} of {domain}: no completed run has it; nothing drawn"]
    axes = swept_axes(shown, settings)
    numbers = [axis for axis in axes if not isinstance(axis.values[0], str | bool)]
    xs = numbers or axes[:1] or [Axis(LINE, tuple(sorted(shown[LINE].unique())), even=True)]
    files, notes = [], []
    for x in xs:
        others = [axis for axis in axes if axis != x]
        panels = _panels(shown, others)
        if len(panels) > MOST_PANELS:
            notes.append(f"{figure} over {x.name}: {len(panels)} panels are too many; none drawn")
            continue
        with matplotlib.rc_context(STYLE):
            drawn = _draw(panels, x, figure, domain)
            files += _save(drawn, folder / f"{figure}-{domain}-over-{x.name}")
    return files, notes


def _panels(frame: pl.DataFrame, axes: Sequence[Axis]) -> dict[str, pl.DataFrame]:
    panels = {}
    for values in product(*(axis.values for axis in axes)):
        chosen = frame
        for axis, value in zip(axes, values, strict=True):
            chosen = chosen.filter(pl.col(axis.name) == value)
        if not chosen.is_empty():
            title = ", ".join(
                f"{_short(axis.name)} {_text(value)}"
                for axis, value in zip(axes, values, strict=True)
            )
            panels[title] = chosen
    return panels


def _draw(panels: Mapping[str, pl.DataFrame], x: Axis, figure: str, domain: str) -> Figure:
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    width = max(5.2, 1.2 + (2.6 if columns > 1 else 4.6) * columns)
    height = 1.2 + 2.5 * rows + (0.5 if rows == 1 else 0)
    drawn = Figure(figsize=(width, height), layout="constrained")
    grid = drawn.subplots(rows, columns, sharey=True, sharex=True, squeeze=False)
    lines = sorted({name for panel in panels.values() for name in panel[LINE].unique()})
    seeds: set[int] = set()
    for place, (title, panel) in zip(grid.flat, panels.items(), strict=False):
        seeds |= _draw_panel(place, panel, x, lines, figure, domain)
        place.set_title(title, fontsize=9)
    for place in list(grid.flat)[len(panels) :]:
        place.set_visible(False)
        above = grid[-2, list(grid[-1]).index(place)] if rows > 1 else None
        if above is not None:
            above.tick_params(labelbottom=True)
    drawn.supxlabel(f"{_axis_label(x)}\n", fontsize=10)
    drawn.supylabel(_figure_label(figure, domain), fontsize=10)
    _legend(drawn, grid[0, 0], _caption(seeds))
    return drawn


def _draw_panel(
    place: Axes, panel: pl.DataFrame, x: Axis, lines: Sequence[str], figure: str, domain: str
) -> set[int]:
    positions = dict(zip(x.values, _positions(x), strict=True))
    span = max(positions.values()) - min(positions.values()) or 1.0
    seeds: set[int] = set()
    for number, line in enumerate(lines):
        means = {
            value: found
            for value in x.values
            if (found := _mean(panel.filter(pl.col(LINE) == line), x, value, figure))
        }
        if not means:
            continue
        shift = 0.0 if x.name == LINE else (number - (len(lines) - 1) / 2) * DODGE * span
        at = np.array([positions[value] + shift for value in means])
        _draw_line(place, at, list(means.values()), line, number, joined=not _is_text(x))
        seeds |= {mean.seeds for mean in means.values()}
    if figure.startswith("auroc"):
        _draw_floor(place, panel, x, positions, domain)
    place.set_xticks(list(positions.values()), [_text(value) for value in positions])
    place.margins(x=0.08 if len(x.values) > 1 else 0.5)
    place.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    place.set_axisbelow(True)
    return seeds


def _mean(rows: pl.DataFrame, x: Axis, value: Any, figure: str) -> MeanOverSeeds | None:
    return mean_over_seeds(rows.filter(pl.col(x.name) == value)[figure].to_list())


def _draw_line(
    place: Axes,
    at: "np.ndarray[Any, Any]",
    means: Sequence[MeanOverSeeds],
    label: str,
    number: int,
    *,
    joined: bool,
) -> None:
    colour, shape = COLOURS[number % len(COLOURS)], SHAPES[number % len(SHAPES)]
    values = np.array([mean.mean for mean in means])
    halves = np.array([mean.half or 0.0 for mean in means])
    single = np.array([mean.half is None for mean in means])
    if joined:
        place.plot(at, values, color=colour, linewidth=1.4, zorder=2)
    place.errorbar(
        at[~single],
        values[~single],
        halves[~single],
        color=colour,
        fmt="none",
        elinewidth=1.3,
        capsize=3,
        zorder=3,
    )
    for hollow in (False, True):
        chosen = single == hollow
        place.plot(
            at[chosen],
            values[chosen],
            linestyle="none",
            marker=shape,
            markersize=5.5,
            color=colour,
            markerfacecolor="white" if hollow else colour,
            zorder=4,
        )
    place.plot([], [], color=colour, marker=shape, markersize=5.5, linewidth=1.4, label=label)


def _draw_floor(
    place: Axes, panel: pl.DataFrame, x: Axis, positions: Mapping[Any, float], domain: str
) -> None:
    """The best of the text floors, each a mean over runs: what the guard must beat."""
    if domain == POOLED:
        return
    names = [f"floor_{name}" for name in FLOORS]
    at, best = [], []
    for value, position in positions.items():
        rows = panel.filter(pl.col(x.name) == value)
        means = [m.mean for name in names if (m := mean_over_seeds(rows[name].to_list()))]
        if means:
            at.append(position)
            best.append(max(means))
    if not at:
        return
    style = {"color": "#777777", "linestyle": (0, (4, 3)), "linewidth": 1.2, "zorder": 1}
    place.plot(at, best, **style, label="best text floor")
    if len(at) == 1:
        place.axhline(best[0], **style)


def _legend(drawn: Figure, first: Axes, caption: str) -> None:
    handles, labels = [], []
    for place in drawn.axes:
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    drawn.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=min(6, len(labels)),
        frameon=False,
        fontsize=9,
    )
    drawn.text(0.5, 0.01, caption, ha="center", va="bottom", fontsize=7.5, color="#555555")


def _save(drawn: Figure, stem: Path) -> list[Path]:
    # Not with_suffix: names of settings hold dots.
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png")]
    drawn.savefig(files[0], metadata={"Date": None})
    drawn.savefig(files[1], dpi=160)
    return files


def _positions(x: Axis) -> list[float]:
    return [float(n) for n in range(len(x.values))] if x.even else [float(v) for v in x.values]


def _caption(seeds: set[int]) -> str:
    several = sorted(count for count in seeds if count > 1)
    parts = []
    if several:
        told = str(several[0]) if len(several) == 1 else f"{several[0]} to {several[-1]}"
        parts.append(f"means over {told} seeds, bars: 95 % t-intervals")
    if 1 in seeds:
        parts.append("hollow: one seed, no interval")
    return "; ".join(parts)


def _figure_label(figure: str, domain: str) -> str:
    of = {MEAN: "mean over domains", POOLED: "all domains pooled"}.get(domain, domain)
    return f"{LABELS[figure]}, {of}"


def _axis_label(x: Axis) -> str:
    return _short(x.name).replace("_", " ")


def _short(name: str) -> str:
    return name.removeprefix("partition.").removeprefix("federation.").removeprefix("strategy.")


def _is_text(x: Axis) -> bool:
    return isinstance(x.values[0], str | bool)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
