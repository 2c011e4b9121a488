"""The page: sections of a report put together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fglguard.errors import ReportError
from fglguard.evaluation.report import distributions
from fglguard.evaluation.report.clients import clients_table, draw_fairness, draw_holdings
from fglguard.evaluation.report.episode_view import EpisodeView, EpisodeViews
from fglguard.evaluation.report.floors import best_floor, draw_floors
from fglguard.evaluation.report.graph_picture import KEY as GRAPH_KEY
from fglguard.evaluation.report.graph_picture import agents_table, draw_graph
from fglguard.evaluation.report.learning import draw_learning
from fglguard.evaluation.report.picture import Table, number
from fglguard.evaluation.report.results import interval, results_table, undefined_figures
from fglguard.evaluation.report.roc import draw_roc
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.style import STYLE
from fglguard.evaluation.report.template import PAGE
from fglguard.evaluation.report.theme import stylesheet
from fglguard.evaluation.report.thresholds import calibration_lines, domain_thresholds, warnings

PATHS = (
    "output",
    "resume",
    "corpus.path",
    "corpus.splits",
    "federation.roster",
    "delivery.signing_key",
    "tracking.mlflow",
)
"""Settings that name places on a machine, which a page that leaves it does not tell."""


@dataclass(frozen=True)
class Tile:
    """A figure in large print."""

    value: str
    label: str
    note: str = ""


def report_page(run: RunRecord, episodes: EpisodeViews | None = None) -> str:
    """A run's report as one self-contained page: no script, nothing loaded from elsewhere.

    Names are escaped wherever they come from, and the page's content security policy forbids
    scripts and requests even where one were not.

    Args:
        run: The run.
        episodes: What the episode viewer shows; None leaves it out.

    Raises:
        ReportError: matplotlib or jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ReportError(
            f"a report is laid out with jinja2 ({error}): pip install 'fglguard[report]'"
        ) from error
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(PAGE).render(
        stylesheet=stylesheet() + STYLE, run=run, **_run_content(run), **_viewer_content(episodes)
    )


def _run_content(run: RunRecord) -> dict[str, Any]:
    results = run.results
    return {
        "summary": _summary(run),
        "tiles": _tiles(results),
        "notices": [*warnings(run), *_verdict(results)],
        "results": results_table(results),
        "calibration": _calibration(run),
        "domain_thresholds": domain_thresholds(run),
        "undefined": undefined_figures(results),
        "learning": draw_learning(run.learning),
        "roc": draw_roc(run),
        "floors": draw_floors(run),
        "distributions": distributions.draw_distributions(run),
        "distribution_key": distributions.KEY,
        "unseen_domains": max(0, len(run.curves["domains"]) - distributions.MOST_PANELS),
        "holdings": draw_holdings(results["clients"]),
        "fairness": draw_fairness(results["clients"], results["fairness"]),
        "clients": clients_table(results["clients"]),
        "participation": _participation(results["participation"]),
        "settings": Table(
            ("setting", "value"),
            [(key, str(run.settings[key])) for key in sorted(run.settings) if key not in PATHS],
        ),
    }


def _viewer_content(episodes: EpisodeViews | None) -> dict[str, Any]:
    shown = episodes.shown if episodes else ()
    return {
        "episodes": episodes,
        "graph_key": GRAPH_KEY,
        "threshold_text": _threshold_text,
        "views": [
            (view, draw_graph(view, f"episode-{place}"), agents_table(view))
            for place, view in enumerate(shown)
        ],
    }


def _threshold_text(view: EpisodeView) -> str:
    return f"{view.threshold:.4f}" if math.isfinite(view.threshold) else "blocks nothing"


def _summary(run: RunRecord) -> str:
    settings, results = run.settings, run.results
    seconds = results["seconds"]
    return (
        f"{settings['strategy.name']} over {len(results['clients'])} clients, "
        f"{settings['federation.rounds']} rounds, detector {settings['detector.preset']} "
        f"({results['parameters']:,} parameters), encoder {settings['corpus.encoder']}, corpus "
        f"{settings['corpus.name']}, seed {settings['seed']}; training took "
        f"{seconds['train']:.0f} s of {seconds['total']:.0f} s."
    )


def _tiles(results: Mapping[str, Any]) -> list[Tile]:
    test, floor = results["test"], best_floor(results)
    pooled, budget = test["pooled"], results["calibration"]["budget"]
    tiles = [Tile(number(test["mean_auroc_raw"]), "mean AUROC raw", "over domains")]
    if floor:
        tiles.append(Tile(number(floor[1]), "best text floor", f"{floor[0]}, mean AUROC"))
    tiles += [
        Tile(number(pooled["recall"]["value"]), "recall", _range(pooled["recall"])),
        Tile(
            number(pooled["false_positive_rate"]["value"]),
            "false-positive rate",
            f"{_range(pooled['false_positive_rate'])}; budget {budget:g}",
        ),
        Tile(
            number(pooled["over_refusal"]["value"]), "over-refusal", _range(pooled["over_refusal"])
        ),
    ]
    return tiles


def _range(estimate: Mapping[str, Any]) -> str:
    return interval(estimate).partition("\n")[2] or "no interval"


def _verdict(results: Mapping[str, Any]) -> list[str]:
    """Whether the guard earned its place beside the best floor; empty without floors."""
    mean, floor = results["test"]["mean_auroc_raw"], best_floor(results)
    if floor is None or mean is None:
        return []
    name, value = floor
    if mean > value:
        return [
            f"The guard's mean AUROC is {mean - value:.3f} above that of the best text floor, "
            f"{name} ({value:.3f})."
        ]
    return [
        f"The best text floor, {name}, has a mean AUROC of {value:.3f}, {value - mean:.3f} above "
        f"the guard's: a text classifier would do this job."
    ]


def _calibration(run: RunRecord) -> list[str]:
    lines = calibration_lines(run)
    if local := run.results["local"]:
        lines.append(
            f"Every client on its own: mean AUROC {number(local['own_domain'])} in its own domain, "
            f"{number(local['other_domains'])} in the others."
        )
    return lines


def _participation(counts: Mapping[str, Any]) -> str:
    trained = counts["trained"].values()
    fewest, most = min(trained, default=0), max(trained, default=0)
    rounds = f"{most}" if fewest == most else f"{fewest} to {most}"
    return (
        f"Clients that trained did so in {rounds} rounds. {counts['failures']} replies could not "
        f"be used, {counts['surplus']} came after enough others, {counts['retries']} attempts at a "
        f"round were given up."
    )
