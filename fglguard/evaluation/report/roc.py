"""ROC curves and the point that was chosen on each."""

from collections.abc import Mapping
from typing import Any

from fglguard.evaluation.report.picture import KeyEntry, Picture, Table, number
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes
from fglguard.evaluation.report.theme import colour, series
from fglguard.evaluation.report.thresholds import threshold_text

TITLE = "ROC by domain, with the chosen point"


def draw_roc(run: RunRecord) -> Picture:
    """A curve a domain of the corroborated score, which decides; a circle where tau stands."""
    description = (
        "Recall against the false-positive rate on the test split, for every threshold on the "
        "corroborated score, which decides. "
    )
    if run.own_thresholds:
        description += "Each client has a threshold of its own, so that no point is marked."
    elif run.guarded:
        description += "Circles mark the threshold that was chosen on calibration data."
    figures = run.results["test"]["domains"]
    marked = run.guarded and not run.own_thresholds
    drawable = {d: c["roc"] for d, c in run.curves["domains"].items() if c["roc"] is not None}
    if not drawable:
        return Picture(TITLE, "No domain's test split has both safe and unsafe episodes.")
    keys: list[KeyEntry] = []
    with figure(3.6) as drawn:
        axes = place_axes(drawn)
        axes.plot([0, 1], [0, 1], color=colour("muted"), linewidth=0.9, linestyle=(0, (2, 3)))
        for place, (domain, roc) in enumerate(drawable.items()):
            name, dashes = series(place)
            keys.append(KeyEntry(domain, name, dashes=dashes))
            axes.plot(
                roc["fpr"], roc["recall"], color=colour(name), linewidth=1.6, linestyle=(0, dashes)
            )
            point = _chosen(figures[domain]) if marked else None
            if point:
                axes.plot(
                    *point,
                    color=colour(name),
                    marker="o",
                    markersize=8,
                    markerfacecolor=colour("surface"),
                    markeredgewidth=2,
                    clip_on=False,
                    zorder=3,
                )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("false-positive rate")
        axes.set_ylabel("recall")
        axes.grid()
        svg = inline_svg(drawn, "roc", TITLE, description)
    keys.append(KeyEntry("chance", "muted", dashes=(2, 3)))
    if marked:
        keys.append(KeyEntry("chosen threshold", "text", "circle"))
    return Picture(TITLE, description, svg, keys, _table(figures, run))


def _chosen(figures: Mapping[str, Any]) -> tuple[float, float] | None:
    at = figures["false_positive_rate"]["value"], figures["recall"]["value"]
    return None if None in at else at


def _table(figures: Mapping[str, Any], run: RunRecord) -> Table:
    names = ("auroc_corroborated", "recall", "false_positive_rate")
    return Table(
        ("domain", "threshold", "AUROC corroborated", "recall", "FPR"),
        [
            (
                domain,
                threshold_text(run, domain),
                *(number(values[name]["value"]) for name in names),
            )
            for domain, values in figures.items()
        ],
    )
