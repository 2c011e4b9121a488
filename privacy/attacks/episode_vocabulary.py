"""Which rows of hashed text an update touches: a site's vocabulary, by its support and size."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import fglguard.detector
from privacy.attacks.episode_bank import EpisodeBank, Scores
from privacy.attacks.observation import Observation
from privacy.roles import parts_of


@dataclass(frozen=True)
class VocabularyScore:
    """What was told right of which columns, hashed words, a batch touches.

    Attributes:
        recall: Share of the touched columns that were named.
        precision: Share of the named ones that were touched.
    """

    recall: float
    precision: float


def check_vocabulary(seen: Observation, bank: EpisodeBank) -> Scores:
    """Compare each candidate's columns with the rows of the text weights' gradient.

    `support`: the share of its columns whose row is not zero; `magnitude`: the mean length of those
    rows; `rank`: the mean rank of those lengths, which one loud row does not decide.
    """
    lengths = _row_lengths(seen)
    if lengths is None:
        return {}
    ranks = np.argsort(np.argsort(lengths, kind="stable"), kind="stable").astype(np.float64)
    columns = _candidate_columns(seen, bank)
    by_row = {"support": (lengths > 0).astype(np.float64), "magnitude": lengths, "rank": ranks}
    return {
        f"{name} of text rows": np.array([_mean(values, own) for own in columns])
        for name, values in by_row.items()
    }


def name_vocabulary(seen: Observation, count: int) -> NDArray[np.int64] | None:
    """The columns believed to be touched; None where no text rows are exported.

    Every row that is not zero, or under noise, where none is, the `count` longest.

    Args:
        seen: One client's exports.
        count: How many columns the batch touches: an attacker who guesses worse does worse.
    """
    lengths = _row_lengths(seen)
    if lengths is None:
        return None
    touched = np.flatnonzero(lengths)
    if len(touched) < len(lengths):
        return touched
    return np.sort(np.argsort(-lengths, kind="stable")[:count])


def score_vocabulary(true: NDArray[np.int64], named: NDArray[np.int64]) -> VocabularyScore:
    """Compare columns that were named with those a batch touches."""
    both = len(np.intersect1d(true, named))
    return VocabularyScore(
        recall=both / len(true) if len(true) else 0.0,
        precision=both / len(named) if len(named) else 0.0,
    )


def touched_rows(gradient: Tensor) -> NDArray[np.int64]:
    """Rows of a gradient [rows, d] that are not all zero, ascending."""
    touched: NDArray[np.int64] = gradient.any(dim=1).nonzero().squeeze(1).numpy()
    return touched


def text_rows(model: nn.Module) -> str | None:
    """The name of the weights with a row a hashed word; None where the model has none."""
    names = [p.name for p in parts_of(model) if p.role is fglguard.detector.Role.TEXT_ROWS]
    return names[0] if names else None


def _candidate_columns(seen: Observation, bank: EpisodeBank) -> list[NDArray[np.int64]]:
    """Columns that each candidate's own update touches: of agents that no loss counts, none."""
    name = text_rows(seen.model)
    assert name is not None
    shape = dict(seen.model.named_parameters())[name].shape
    rows = bank.updates[0].by_name[name].view(len(bank.graphs), -1, *shape)
    return [touched_rows(own[0]) for own in rows]


def _row_lengths(seen: Observation) -> NDArray[np.float64] | None:
    """|G_row| of each row of the text weights, [columns]."""
    name = text_rows(seen.model)
    export = seen.exports[0]
    if name is None or name not in export:
        return None
    lengths: NDArray[np.float64] = torch.linalg.vector_norm(export[name].double(), dim=1).numpy()
    return lengths


def _mean(values: NDArray[np.float64], columns: NDArray[np.int64]) -> float:
    return float(values[columns].mean()) if len(columns) else 0.0
