"""What the server does to an update before it counts: cap its node count, bound its length."""

import logging
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fglguard.parameters import vector_length
from fglguard.settings import StrategySettings
from strategies.updates import Update

logger = logging.getLogger("fglguard")


def admit(
    update: Update, sent: NDArray[np.float32], settings: StrategySettings, server_round: int
) -> Update:
    """Limit what one site can do to the aggregate.

    - A node count above the roster's `max_nodes` is taken as `max_nodes`; the metric
      `claimed_nodes` holds what the site said.
    - The update's length is measured here, whatever the site says of it: the metric `update_norm`.
    - With `settings.norm_bound`, a longer one is scaled down (`bounded`). The metric `bounded` is 1
      where that was done and 0 elsewhere; `update_norm` is the length before scaling.

    Args:
        update: What the site returned.
        sent: The global parameters that it started from, [P].
        settings: `norm_bound`.
        server_round: For the log.
    """
    update = _cap_nodes(update, server_round)
    if not settings.norm_bound:
        length = vector_length(update.parameters.astype(np.float64) - sent)
        return replace(update, metrics={**update.metrics, "update_norm": length})
    parameters, norm = bounded(update.parameters, sent, settings.norm_bound)
    above = norm > settings.norm_bound
    if above:
        logger.warning(
            "train, round %d: site %s: update of length %.6g scaled down to "
            "strategy.norm_bound=%.6g",
            server_round,
            update.member.site,
            norm,
            settings.norm_bound,
        )
    metrics = {**update.metrics, "update_norm": norm, "bounded": float(above)}
    return replace(update, parameters=parameters, metrics=metrics)


def bounded(
    vector: NDArray[np.float32], reference: NDArray[np.float32], bound: float
) -> tuple[NDArray[np.float32], float]:
    """Scale v - r down to a length of at most `bound`: r + (v - r) min(1, bound / ||v - r||).

    Sun et al., Can You Really Backdoor Federated Learning?, 2019 (norm thresholding). Computed in
    double precision; no coordinate ends up farther from the reference than it was.

    Returns:
        The vector, float32 [P] (`vector` itself where it is within the bound), and ||v - r||
        before scaling.
    """
    change = vector.astype(np.float64) - reference
    norm = vector_length(change)
    if norm <= bound:
        return vector, norm
    change *= bound / norm
    change += reference
    return change.astype(np.float32), norm


def _cap_nodes(update: Update, server_round: int) -> Update:
    most = update.member.max_nodes
    if most is None or update.nodes <= most:
        return update
    logger.warning(
        "train, round %d: site %s claims %d nodes, the roster's max_nodes is %d: counted as %d",
        server_round,
        update.member.site,
        update.nodes,
        most,
        most,
    )
    metrics = {**update.metrics, "nodes": float(most), "claimed_nodes": float(update.nodes)}
    return replace(update, nodes=most, metrics=metrics)
