r"""Which candidate fits an export best, for an attacker who knows the mask.

Each candidate's gradient goes through the mask's own arithmetic (`mask_rows`), so that u is what
the mask would have added noise to. With export v under noise of known size sigma_k in part k, the
log-likelihood ratio between "the batch was this candidate" and "noise alone" is

    sum over k of (u_k . v_k - |u_k|^2 / 2) / sigma_k^2

and of candidates that are equally likely beforehand, the largest is the best guess there is
(Neyman and Pearson, 1933). For batches of several, where u is no more than a share of the signal,
the cosine, which is free of lengths, with what all candidates have in common taken off both sides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privacy.attacks.masked_rows import MaskedRows
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.scales import scales_of
from privacy.attacks.text_candidates import masked_texts

Statistic = Literal["centred cosine", "likelihood ratio"]
MaskedOf = Callable[[Observation, Sequence[Tokens]], Mapping[str, MaskedRows]]
"""From texts to what the mask makes of each under each label, a text's rows one after another."""


def compare_masked(
    seen: Observation, masked: Mapping[str, MaskedRows], labels: int
) -> dict[Statistic, NDArray[np.float64]]:
    """Scores [C] of candidates, each the best of its labels'; none if nothing can be compared.

    Args:
        seen: One export, or the mean of several; parts are scaled by `scales_of`.
        masked: Rows [C * labels], a candidate's one after another.
        labels: How many rows a candidate has; each label's mean is taken off its own rows.
    """
    export = seen.exports[0]
    names = [name for name in masked if name in export]
    scales = scales_of(seen, names) if names else {}
    if not scales:
        return {}
    found = [
        _statistics([_products(masked[n], export[n], scales[n], start, labels) for n in scales])
        for start in range(labels)
    ]
    return {
        "centred cosine": torch.stack([cosine for cosine, _ in found]).amax(0).numpy(),
        "likelihood ratio": torch.stack([ratio for _, ratio in found]).amax(0).numpy(),
    }


@dataclass(frozen=True)
class MaskedComparison:
    """`compare_masked` on texts.

    Attributes:
        statistic: Which score.
        masked_of: Computes what the mask makes of candidates, or remembers it.
    """

    statistic: Statistic
    masked_of: MaskedOf = masked_texts

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"{self.statistic} through the mask"

    def __call__(self, seen: Observation, candidates: Sequence[Tokens]) -> NDArray[np.float64]:
        """A score for each text; all 0 if nothing was exported."""
        masked = self.masked_of(seen, candidates)
        rows = next((len(part.factors) for part in masked.values()), 0)
        scores = compare_masked(seen, masked, rows // len(candidates))
        return scores.get(self.statistic, np.zeros(len(candidates)))


@dataclass(frozen=True)
class _Products:
    """Inner products over one part, with m the mean row: u . v, u . m, |u|^2, v . m, |m|^2."""

    with_export: Tensor
    with_mean: Tensor
    squares: Tensor
    export_with_mean: float
    mean_square: float


def _products(part: MaskedRows, values: Tensor, scale: float, start: int, labels: int) -> _Products:
    rows, factors = part.rows[start::labels], part.factors[start::labels]
    flat, known = values.flatten(), factors.nan_to_num(0.0)
    mean = (known.to(rows.dtype) @ rows) / max(int(factors.isfinite().sum()), 1)
    square = scale**2
    return _Products(
        square * factors * (rows @ flat).double(),
        square * factors * (rows @ mean).double(),
        square * part.squares[start::labels],
        square * float(flat @ mean),
        square * float(mean @ mean),
    )


def _statistics(parts: Sequence[_Products]) -> tuple[Tensor, Tensor]:
    """The centred cosine, but for the export's own length, and the likelihood ratio."""
    with_export = torch.stack([part.with_export for part in parts]).sum(0)
    with_mean = torch.stack([part.with_mean for part in parts]).sum(0)
    squares = torch.stack([part.squares for part in parts]).sum(0)
    export_with_mean = sum(part.export_with_mean for part in parts)
    mean_square = sum(part.mean_square for part in parts)
    along = export_with_mean / mean_square if mean_square else 0.0
    centred = with_export - export_with_mean - along * (with_mean - mean_square)
    length = (squares - 2 * with_mean + mean_square).clamp_min(0).sqrt()
    cosine = torch.where(length > 0, centred / length.clamp_min(1e-30), 0.0)
    return cosine, with_export - squares / 2
