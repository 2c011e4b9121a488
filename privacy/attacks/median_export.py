"""The middle of several exports, which a few wild ones among them do not move."""

import math
from dataclasses import replace

import torch

from privacy.attacks.observation import Observation

MEDIAN_LOSS = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, for Gaussian noise and many exports."""


def median_export(seen: Observation) -> Observation:
    """One export, the element-wise median of all T, with the noise left in it.

    The median divides sigma by sqrt(T) / sqrt(pi / 2), where the mean divides it by sqrt(T).
    """
    count = len(seen.exports)
    if count == 1:
        return seen
    export = {
        name: torch.stack([export[name] for export in seen.exports]).quantile(0.5, dim=0)
        for name in seen.exports[0]
    }
    sigma = {name: size * MEDIAN_LOSS / math.sqrt(count) for name, size in seen.sigma.items()}
    return replace(seen, exports=[export], sigma=sigma)
