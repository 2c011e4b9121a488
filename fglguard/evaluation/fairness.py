"""How evenly a figure is spread over clients."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

DECILES = tuple(range(10, 100, 10))


@dataclass(frozen=True, slots=True)
class Fairness:
    """The spread of one figure over clients.

    Attributes:
        clients: Clients in which the figure is defined; the rest of the summary is over them.
        undefined: Clients in which it is not, such as an AUROC without both classes.
        mean: Unweighted mean; None without any client.
        std: Population standard deviation, sqrt(mean((x - mean)^2)): these clients are all there
            are, not a sample of them.
        minimum: The worst client's figure.
        maximum: The best client's figure.
        deciles: The 10th, 20th, ..., 90th percentiles, with linear interpolation between order
            statistics; None without any client.
    """

    clients: int
    undefined: int
    mean: float | None
    std: float | None
    minimum: float | None
    maximum: float | None
    deciles: tuple[float, ...] | None


def fairness(values: Mapping[str, float | None]) -> Fairness:
    """Summarise a figure over clients; None stands for a client in which it is undefined.

    The spread over clients is the notion of fairness of q-FFL (Li et al. 2020, "Fair Resource
    Allocation in Federated Learning"): a model is fairer when the figure varies less.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    defined = np.array([value for value in values.values() if value is not None], np.float64)
    wrong = [name for name, v in values.items() if v is not None and not np.isfinite(v)]
    if wrong:
        raise ValueError(f"client {wrong[0]}: expected a finite number or None")
    undefined = len(values) - len(defined)
    if not len(defined):
        return Fairness(0, undefined, None, None, None, None, None)
    return Fairness(
        clients=len(defined),
        undefined=undefined,
        mean=float(defined.mean()),
        std=float(defined.std()),
        minimum=float(defined.min()),
        maximum=float(defined.max()),
        deciles=tuple(float(x) for x in np.percentile(defined, DECILES)),
    )


def fairness_text(fairness: Mapping[str, Any]) -> str:
    """The spread of AUROC over clients in words, from a `Fairness` as a record."""
    undefined = fairness["undefined"]
    why = "whose test episodes lack a class or that never trained"
    if not fairness["clients"]:
        return f"AUROC is undefined in all {undefined} clients, {why}."
    told = f"; undefined in {undefined}, {why}" if undefined else ""
    deciles = " ".join(f"{value:.3f}" for value in fairness["deciles"])
    return (
        f"AUROC over {fairness['clients']} clients: min {fairness['minimum']:.3f}, max "
        f"{fairness['maximum']:.3f}, mean {fairness['mean']:.3f}, standard deviation "
        f"{fairness['std']:.3f}{told}; deciles (10 % to 90 %): {deciles}."
    )
