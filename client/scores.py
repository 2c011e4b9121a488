"""What a client returns of its scores: pairs with labels, or counts in a fixed histogram."""

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from client.holdings import Holdings
from fglguard.calibration.histogram import counts
from fglguard.settings import CalibrationSettings
from fglguard.training import Scores


def scores_to_return(
    scores: Scores,
    holdings: Holdings,
    rows: NDArray[np.int64],
    split: str,
    settings: CalibrationSettings,
    *,
    simulated: bool,
) -> dict[str, ArrayRecord]:
    """A record `scores` of pairs, or a record `histogram` of counts.

    With `calibration.scores=histogram` a real site returns counts alone, whatever the split; in a
    simulation there is nothing to protect, so that every split but `val` gives pairs, from which
    the test figures have intervals.

    Args:
        scores: Of the graphs in `rows`.
        holdings: The client's data.
        rows: Which graphs were scored.
        split: The split they are.
        settings: Of calibration.
        simulated: Whether this is a partition of a simulation.

    Raises:
        CalibrationError: A score is NaN, which no histogram can hold.
    """
    if settings.scores == "histogram" and (split == "val" or not simulated):
        return {"histogram": _histogram(scores, holdings, rows, split, settings.bins)}
    pairs = {
        "raw": Array(scores.raw),
        "corroborated": Array(scores.corroborated),
        "label": Array(np.asarray(holdings.packed.label[rows])),
        "group": Array(holdings.group[rows]),
        "clean": Array(holdings.clean[rows]),
        "domain": Array(holdings.domain_of[rows]),
    }
    return {"scores": ArrayRecord(pairs)}


def _histogram(
    scores: Scores, holdings: Holdings, rows: NDArray[np.int64], split: str, bins: int
) -> ArrayRecord:
    """Counts [domains, bins]; what only the test figures need is left out of calibration."""
    label, domain = np.asarray(holdings.packed.label[rows]), holdings.domain_of[rows]
    attacked = np.asarray(holdings.clean[rows]) == 0
    raised, raw = scores.corroborated, scores.raw
    classes = {"safe": (raised, label == 0), "unsafe": (raised, label == 1)}
    if split != "val":
        classes["safe_attacked"] = (raised, (label == 0) & attacked)
        classes["raw_safe"] = (raw, label == 0)
        classes["raw_unsafe"] = (raw, label == 1)
    return ArrayRecord(
        {
            name: Array(
                np.stack(
                    [
                        counts(values[kept & (domain == code)], bins)
                        for code in range(len(holdings.domains))
                    ]
                )
            )
            for name, (values, kept) in classes.items()
        }
    )
