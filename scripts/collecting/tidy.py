"""One tidy table: a row a run and domain."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from scripts.collecting.run_folders import Run, RunFolderError

FIGURES = ("auroc_raw", "auroc_corroborated", "recall", "false_positive_rate", "over_refusal")
FLOORS = ("counts", "tfidf", "hashed_words")
MEAN, POOLED = "mean", "pooled"
"""Beside the domains: the unweighted mean over them, and all their episodes in one."""

KEYS = {
    "strategy": "strategy.name",
    "partition": "partition.kind",
    "clients": "federation.clients",
    "seed": "seed",
}
"""Columns that are always there, and the settings they hold."""
NOT_SETTINGS = ("output", "resume")


def varying_settings(runs: Iterable[Run]) -> list[str]:
    """Settings, beside `KEYS`, that differ between the runs, in the settings' order."""
    settings = [run.settings for run in runs]
    names = list(dict.fromkeys(key for one in settings for key in one))
    known = {*KEYS.values(), *NOT_SETTINGS}
    return [
        name
        for name in names
        if name not in known and len({repr(one.get(name)) for one in settings}) > 1
    ]


def rows_of(run: Run) -> list[dict[str, Any]]:
    """A run's figures, a row a domain and one each for pooled and mean; one row if it failed.

    The mean's figures are means over the domains in which each is defined, without intervals.

    Raises:
        RunFolderError: The results are not those of a run.
    """
    if run.results is None:
        return [{"state": run.state}]
    try:
        return _rows(run.results)
    except (KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{run.folder}/results.json: damaged ({type(error).__name__}: {error})"
        ) from None


def tidy(runs: Sequence[tuple[Run, Sequence[Mapping[str, Any]]]]) -> pl.DataFrame:
    """The table of runs and their rows: settings first, then domain, figures and the rest."""
    names = varying_settings(run for run, _ in runs)
    records = []
    for run, rows in runs:
        settings = {column: run.settings.get(key) for column, key in KEYS.items()}
        settings |= {name: run.settings.get(name) for name in names}
        records += [settings | dict(row) | {"folder": str(run.folder)} for row in rows]
    return pl.DataFrame(records, schema=_schema(records, names), strict=False)


def _rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    test, floors = results["test"], results["floors"]
    common = {
        "state": "completed",
        "threshold": _threshold(results, POOLED),
        "seconds": results["seconds"]["total"],
    }
    rows = []
    for domain, figures in (*test["domains"].items(), (POOLED, test["pooled"])):
        row = common | {"domain": domain, "threshold": _threshold(results, domain)}
        row |= {"episodes": figures["episodes"], "unsafe": figures["unsafe"]}
        for name in FIGURES:
            one = figures[name]
            row |= {name: one["value"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
        if floors and domain != POOLED:
            row |= {f"floor_{name}": floors[name]["domains"].get(domain) for name in FLOORS}
        rows.append(row)
    means = {name: _mean(row[name] for row in rows if row["domain"] != POOLED) for name in FIGURES}
    means["auroc_raw"] = test["mean_auroc_raw"]
    if floors:
        means |= {f"floor_{name}": floors[name]["mean"] for name in FLOORS}
    return [*rows, common | {"domain": MEAN} | means]


def _threshold(results: Mapping[str, Any], domain: str) -> float | None:
    """The domain's own threshold where it has one, else the pooled; None blocks nothing."""
    calibration = results["calibration"]
    own = calibration.get("domains", {}).get(domain, {})
    return (own if "threshold" in own else calibration)["threshold"]


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _schema(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    # Said, not inferred: a column that is empty in the first runs has a type all the same.
    settings = {name: _type([one.get(name) for one in records]) for name in (*KEYS, *names)}
    figures = [part for name in FIGURES for part in (name, f"{name}_low", f"{name}_high")]
    numbers = [*figures, *(f"floor_{name}" for name in FLOORS), "threshold", "seconds"]
    return {
        **settings,
        "domain": pl.String,
        "state": pl.String,
        "episodes": pl.Int64,
        "unsafe": pl.Int64,
        **dict.fromkeys(numbers, pl.Float64),
        "folder": pl.String,
    }


def _type(values: Iterable[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Boolean
    if kinds == {int}:
        return pl.Int64
    if kinds and kinds <= {int, float}:
        return pl.Float64
    return pl.String
