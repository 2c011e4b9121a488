"""How much each parameter counts when gradients are compared."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from privacy.attacks.observation import Observation

_ROUNDING = 1e-6
"""Of the largest norm: a gradient below is zero but for rounding, as that of a key's bias is."""


def scales_of(seen: Observation, names: Sequence[str]) -> dict[str, float]:
    """A factor for each parameter that counts.

    One over sigma where all have noise: a known signal in Gaussian noise of unequal sizes is best
    told so (Neyman and Pearson). Parameters without noise outweigh any that has some, and then
    stand alone, each divided by its norm; none is left if all of those are zero.

    Args:
        seen: The attacker's view.
        names: Of exported parameters.
    """
    free = [name for name in names if name not in seen.sigma]
    if not free:
        return {name: 1 / seen.sigma[name] for name in names}
    norms = {name: float(seen.exports[0][name].norm()) for name in free}
    least = _ROUNDING * max(norms.values(), default=0.0)
    return {name: 1 / norm for name, norm in norms.items() if norm > least}


def flatten(values: Mapping[str, Tensor], scales: Mapping[str, float]) -> Tensor:
    """The parameters that have a scale as one vector, each times its scale; a 0 comes first."""
    return torch.cat(
        [torch.zeros(1)] + [values[name].flatten() * scale for name, scale in scales.items()]
    )
