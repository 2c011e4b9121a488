"""A run's results as flat names and numbers."""

from collections.abc import Iterator, Mapping
from typing import Any


def final_figures(results: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of `results.json` that tell how good the guard is.

    Args:
        results: As `run` returns them.

    Returns:
        `test/<domain>/<figure>` and `test/pooled/<figure>`, each with `_low` and `_high` where it
        has an interval; `test/mean_auroc_raw`; `calibration/<figure>`. What is undefined is left
        out.
    """
    test = results["test"]
    figures = {"test/mean_auroc_raw": test["mean_auroc_raw"]}
    for domain, estimates in {**test["domains"], "pooled": test["pooled"]}.items():
        figures |= {f"test/{domain}/{name}": value for name, value in _values(estimates)}
    figures |= {f"calibration/{name}": value for name, value in results["calibration"].items()}
    return {name: float(value) for name, value in figures.items() if _is_number(value)}


def _values(estimates: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, estimate in estimates.items():
        if isinstance(estimate, Mapping):
            yield name, estimate["value"]
            yield f"{name}_low", estimate["low"]
            yield f"{name}_high", estimate["high"]
        else:
            yield name, estimate


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
