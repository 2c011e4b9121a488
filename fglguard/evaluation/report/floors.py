"""The guard's AUROC beside what a text classifier reaches."""

from collections.abc import Mapping
from typing import Any

from fglguard.evaluation.report.picture import MARKERS, KeyEntry, Picture, Table, number
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes, short
from fglguard.evaluation.report.theme import SERIES, colour

TITLE = "The guard beside text floors"
GUARD = "series-1"
MEAN = "mean of domains"
LABELS = {
    "counts": "message counts",
    "tfidf": "TF-IDF",
    "hashed_words": "hashed words",
}
_ROW = 0.34


def floor_label(name: str) -> str:
    """A floor's name for a person."""
    return LABELS.get(name, name.replace("_", " "))


def best_floor(results: Mapping[str, Any]) -> tuple[str, float] | None:
    """The floor with the highest mean AUROC and that mean; None where there is none."""
    means = {
        floor_label(name): float(figures["mean"])
        for name, figures in (results["floors"] or {}).items()
        if figures["mean"] is not None
    }
    return max(means.items(), key=lambda item: item[1]) if means else None


def draw_floors(run: RunRecord) -> Picture:
    """A row a domain: the guard's raw AUROC with its interval, and each floor's."""
    floors = run.results["floors"]
    if not floors:
        return Picture(TITLE, "No text floors: they need every site's text in one place.")
    description = (
        "AUROC of the raw score on each domain's test split, with its 95 % interval, "
        "beside classifiers on the text of all sites pooled, which a federation does not have."
    )
    test = run.results["test"]
    rows = [*test["domains"], MEAN]
    estimates = [figures["auroc_raw"] for figures in test["domains"].values()]
    estimates.append({"value": test["mean_auroc_raw"], "low": None, "high": None})
    values = {
        floor_label(name): [*(found["domains"].get(d) for d in test["domains"]), found["mean"]]
        for name, found in floors.items()
    }
    keys = [KeyEntry("guard, with its interval", GUARD, "dot")]
    with figure(0.7 + _ROW * len(rows)) as drawn:
        axes = place_axes(drawn, names=[short(row) for row in rows])
        axes.axvline(0.5, color=colour("muted"), linewidth=0.9, linestyle=(0, (2, 3)))
        for y, estimate in enumerate(estimates):
            if estimate["low"] is not None:
                axes.plot([estimate["low"], estimate["high"]], [y, y], color=colour(GUARD), lw=2)
        for place, (label, found) in enumerate(values.items()):
            shape, name = _look(place)
            keys.append(KeyEntry(label, name, shape))
            axes.plot(
                *_defined(found),
                linestyle="none",
                marker=MARKERS[shape],
                markersize=6.5,
                color=colour(name),
                markerfacecolor=colour("surface"),
                markeredgewidth=1.5,
            )
        guard = _defined([estimate["value"] for estimate in estimates])
        axes.plot(*guard, linestyle="none", marker="o", markersize=7.5, color=colour(GUARD))
        axes.set_yticks(range(len(rows)), [short(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("AUROC (dotted: chance)")
        axes.grid(axis="x")
        svg = inline_svg(drawn, "floors", TITLE, description)
    table = Table(
        ("domain", "guard", *values),
        [
            (row, number(estimates[y]["value"]), *(number(found[y]) for found in values.values()))
            for y, row in enumerate(rows)
        ],
    )
    return Picture(TITLE, description, svg, keys, table)


def _look(place: int) -> tuple[str, str]:
    """Shape and colour of floor number `place`; none looks like the guard."""
    shapes = list(MARKERS)[1:]
    return shapes[place % len(shapes)], SERIES[1 + place % (len(SERIES) - 1)]


def _defined(values: list[Any]) -> tuple[list[float], list[int]]:
    """Values that are there, and their rows."""
    rows = [y for y, value in enumerate(values) if value is not None]
    return [values[y] for y in rows], rows
