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
        labels: How many rows a candidate has. What all have in common is the span of each label's
            mean row.
    """
    export = seen.exports[0]
    names = [name for name in masked if name in export]
    scales = scales_of(seen, names) if names else {}
    if not scales:
        return {}
    parts = [_products(masked[name], export[name], scales[name], labels) for name in scales]
    return {
        "centred cosine": _best(_centred_cosine(parts), labels),
        "likelihood ratio": _best(
            torch.stack([p.with_export - p.squares / 2 for p in parts]).sum(0), labels
        ),
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
    """Inner products over one part, M being the mean rows of each label.

    Attributes:
        with_export: u . v, [R].
        with_means: u . M, [R, labels].
        squares: |u|^2, [R].
        export_with_means: v . M, [labels].
        gram: M . M, [labels, labels].
    """

    with_export: Tensor
    with_means: Tensor
    squares: Tensor
    export_with_means: Tensor
    gram: Tensor


def _products(part: MaskedRows, values: Tensor, scale: float, labels: int) -> _Products:
    flat, known, square = values.flatten(), part.factors.nan_to_num(0.0), scale**2
    means = torch.stack(
        [
            (known[start::labels].to(part.rows.dtype) @ part.rows[start::labels])
            / max(int(part.factors[start::labels].isfinite().sum()), 1)
            for start in range(labels)
        ]
    )
    return _Products(
        square * part.factors * (part.rows @ flat).double(),
        square * part.factors.unsqueeze(1) * (part.rows @ means.t()).double(),
        square * part.squares,
        square * (means @ flat).double(),
        square * (means @ means.t()).double(),
    )


def _centred_cosine(parts: Sequence[_Products]) -> Tensor:
    """Of u and v less their components in the span of M, but for the length of v, [R]."""
    with_means = torch.stack([part.with_means for part in parts]).sum(0)
    export_with_means = torch.stack([part.export_with_means for part in parts]).sum(0)
    inverse = torch.linalg.pinv(torch.stack([part.gram for part in parts]).sum(0), hermitian=True)
    inside = with_means @ inverse
    along = torch.stack([part.with_export for part in parts]).sum(0) - inside @ export_with_means
    squares = torch.stack([part.squares for part in parts]).sum(0)
    length = (squares - (inside * with_means).sum(1)).clamp_min(0).sqrt()
    return torch.where(length > 0, along / length.clamp_min(1e-30), 0.0)


def _best(rows: Tensor, labels: int) -> NDArray[np.float64]:
    best: NDArray[np.float64] = rows.view(-1, labels).amax(1).numpy()
    return best
