"""Span check: utterance vectors lie in the row space of an input projection's gradient."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import fglguard.detector
from privacy.attacks.episode_bank import EpisodeBank, Scores
from privacy.attacks.observation import Observation
from privacy.roles import parts_of

RANKS = (1, 2, 4, 8, 16, 32, 64)
"""Singular vectors kept: under noise, an attacker doesn't know how many of them are signal."""
TOLERANCE = 1e-5
"""Singular values below this share of the largest are rounding."""
_INPUT_ROLES = (fglguard.detector.Role.NODE_PROJECTION, fglguard.detector.Role.EDGE_PROJECTION)


def check_episodes(seen: Observation, bank: EpisodeBank) -> Scores:
    """How much of each candidate's node features lies in the row space, averaged over its nodes."""
    graphs = bank.graphs
    nodes = torch.from_numpy(np.array(graphs.x))
    silent = np.linalg.norm(graphs.x, axis=1) == 0
    owner = np.repeat(np.arange(len(graphs)), graphs.nodes)[~silent]
    counts = np.maximum(np.bincount(owner, minlength=len(graphs)), 1)
    return {
        variant: np.bincount(owner, shares.numpy()[~silent], minlength=len(graphs)) / counts
        for variant, shares in check_rows(seen, nodes).items()
    }


def check_utterances(seen: Observation, utterances: NDArray[np.float32]) -> Scores:
    """How much of each candidate utterance vector [U, d] lies in the row space, in [0, 1]."""
    shares = check_rows(seen, torch.from_numpy(np.array(utterances)))
    return {variant: found.numpy() for variant, found in shares.items()}


def check_rows(seen: Observation, rows: Tensor) -> dict[str, Tensor]:
    r"""|V^T x| / |x| of each row x [rows, d], for each input projection and each rank.

    The gradient of a linear layer y = W x is sum over its inputs of (dL/dy) x^T, so that the inputs
    lie in its row space: that of V, the right singular vectors (after DAGER, arXiv 2405.15586). Of
    edge projections in every layer, too, since psi(e) is made of the same features.

    Args:
        seen: The model's input projections of width d are looked at, where they are exported.
        rows: Candidates for inputs.

    Returns:
        By variant, [rows] float64; empty where no such projection is exported.
    """
    found: dict[str, Tensor] = {}
    rows = rows.double()
    lengths = rows.norm(dim=1).clamp(min=1e-12)
    for name, matrix in _input_projections(seen, rows.shape[1]).items():
        _, values, vectors = torch.linalg.svd(matrix.double(), full_matrices=False)
        inside = (rows @ vectors.t()).square().cumsum(1)
        whole = int((values > TOLERANCE * values[0]).sum())
        for rank in sorted({*(r for r in RANKS if r < whole), whole}):
            told = "every" if rank == whole else str(rank)
            variant = f"row space of {name}, {told} direction{'s' * (rank > 1 and told != 'every')}"
            found[variant] = inside[:, rank - 1].sqrt() / lengths
    return found


def _input_projections(seen: Observation, width: int) -> Mapping[str, Tensor]:
    """Exported projections of vectors of that width that are not all zero."""
    names = [
        part.name
        for part in parts_of(seen.model)
        if part.role in _INPUT_ROLES
        and part.parameter.ndim == 2
        and part.parameter.shape[1] == width
    ]
    export = seen.exports[0]
    return {name: export[name] for name in names if name in export and export[name].any()}
