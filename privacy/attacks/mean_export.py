"""What an attacker who sees T exports of one batch does first: average them."""

from collections.abc import Iterable

import torch
from torch import Tensor

from fglguard.errors import PrivacyError
from privacy.attacks.observation import Export


def mean_export(exports: Iterable[Export]) -> dict[str, Tensor]:
    """The mean of each parameter over exports, which are read once.

    For one signal under independent Gaussian noise the mean is a sufficient statistic: no attack
    on the T exports themselves can know more. Noise of size sigma is sigma / sqrt(T) in it.

    Raises:
        PrivacyError: There is no export, or they are not of the same parameters.
    """
    sums: dict[str, Tensor] = {}
    count = 0
    for export in exports:
        if count and export.keys() != sums.keys():
            raise PrivacyError(
                f"exports: expected every one to hold the same parameters, got "
                f"{', '.join(sorted(export.keys() ^ sums.keys()))} in some alone"
            )
        for name, values in export.items():
            sums[name] = values.double() + sums[name] if count else values.double()
        count += 1
    if not count:
        raise PrivacyError("exports: expected at least one, got none")
    return {name: (total / count).to(torch.float32) for name, total in sums.items()}
