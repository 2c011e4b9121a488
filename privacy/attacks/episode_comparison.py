"""Which candidate episode's own update does an export look like?"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privacy.attacks.episode_bank import LABELS, CandidateUpdates, EpisodeBank, Scores
from privacy.attacks.observation import Observation

RIDGES = (0.01, 0.3, 10.0)
"""Strengths of the ridge, relative to the mean squared length of a candidate's update."""
_TINY = 1e-36
"""Of a product of two lengths: an edge projection's gradient may be as short as 1e-9."""


def compare_updates(seen: Observation, bank: EpisodeBank) -> Scores:
    r"""Compare each candidate's update u, under either label, with the export v.

    For each parameter: cosine u . v / (|u| |v|); the centred cosine, both less their component
    along the candidates' mean, which all episodes share; the cosine of signs. Over all parameters:
    the sum of centred cosines, standardised over the candidates; the matched filter, the centred
    u . v with each parameter weighed by one over its mean square in the export, noise included
    (what is loud with noise counts little); and the ridge

        min over c of |v - sum_i c_i u_i|^2 + lambda |c|^2

    in which a candidate must explain what the others don't, parameters scaled to like lengths. A
    candidate's score is its larger one of both labels.

    Args:
        seen: Exports as gradients: descent's direction with the sign turned.
        bank: Candidates with their updates.
    """
    export = seen.exports[0]
    scores: Scores = {}
    for updates in bank.updates:
        matches = _matches(updates, export)
        if not matches:
            continue
        for name, match in matches.items():
            scores[f"cosine of {updates.kind}, {name}"] = _best(match.cosine())
            scores[f"centred cosine of {updates.kind}, {name}"] = _best(match.centred_cosine())
            scores[f"signs of {updates.kind}, {name}"] = _best(match.sign_cosine)
        together = list(matches.values())
        scores[f"summed cosines of {updates.kind}"] = _summed(together)
        scores[f"matched filter of {updates.kind}"] = _best(_matched_filter(together))
        for strength in RIDGES:
            scores[f"ridge {strength:g} of {updates.kind}"] = _best(_ridge(together, strength))
    return scores


@dataclass(frozen=True)
class _Match:
    """One parameter's inner products.

    Attributes:
        size: Numbers in it.
        dots: u_i . v of each row, [2 C].
        gram: u_i . u_j, [2 C, 2 C].
        square: |v|^2.
        sign_cosine: Cosine of sign(u_i) and sign(v), [2 C].
    """

    size: int
    dots: Tensor
    gram: Tensor
    square: float
    sign_cosine: Tensor

    @property
    def lengths(self) -> Tensor:
        return self.gram.diagonal().clamp(min=0).sqrt()

    def cosine(self) -> Tensor:
        return _quotient(self.dots, self.lengths * self.square**0.5)

    def centred_dots(self) -> Tensor:
        """(u_i - m) . (v - (v . m / |m|^2) m) with m the mean row."""
        along = self.dots.mean() / self.gram.mean().clamp(min=_TINY)
        return self.dots - self.dots.mean() - along * (self.gram.mean(1) - self.gram.mean())

    def centred_squares(self) -> Tensor:
        """|u_i - m|^2."""
        squares = self.gram.diagonal() - 2 * self.gram.mean(1) + self.gram.mean()
        return squares.clamp(min=0)

    def centred_cosine(self) -> Tensor:
        mean_square = self.gram.mean().clamp(min=_TINY)
        left = max(self.square - float(self.dots.mean() ** 2 / mean_square), 0.0)
        return _quotient(self.centred_dots(), self.centred_squares().sqrt() * left**0.5)


def _matches(updates: CandidateUpdates, export: Mapping[str, Tensor]) -> dict[str, _Match]:
    """Inner products of each parameter that the export and the candidates say something of."""
    found = {}
    for name, rows in updates.by_name.items():
        values = export.get(name)
        if values is None or not values.any() or not updates.grams[name].diagonal().any():
            continue
        flat = values.reshape(-1)
        signs, own = updates.signs[name], flat.sign()
        lengths = updates.sign_lengths[name] * float(own.count_nonzero()) ** 0.5
        found[name] = _Match(
            size=flat.numel(),
            dots=(rows @ flat).double(),
            gram=updates.grams[name],
            square=float(flat.double().square().sum()),
            sign_cosine=_quotient((signs @ own).double(), lengths),
        )
    return found


def _summed(matches: list[_Match]) -> NDArray[np.float64]:
    total = np.zeros(len(matches[0].dots) // len(LABELS))
    for match in matches:
        score = _best(match.centred_cosine())
        total += (score - score.mean()) / (score.std() + 1e-12)
    return total


def _matched_filter(matches: list[_Match]) -> Tensor:
    weights = [match.size / match.square for match in matches]
    dots = [w * match.centred_dots() for w, match in zip(weights, matches, strict=True)]
    squares = [w * match.centred_squares() for w, match in zip(weights, matches, strict=True)]
    return _quotient(torch.stack(dots).sum(0), torch.stack(squares).sum(0).sqrt())


def _ridge(matches: list[_Match], strength: float) -> Tensor:
    """C of the ridge, [2 C]; every parameter's updates and export scaled to a mean length of 1."""
    gram = torch.zeros_like(matches[0].gram)
    dots = torch.zeros_like(matches[0].dots)
    for match in matches:
        length = float(match.lengths.mean())
        gram += match.gram / length**2
        dots += match.dots / (length * match.square**0.5)
    ridge = strength * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
    solved: Tensor = torch.linalg.solve(gram + ridge, dots)
    return solved


def _best(rows: Tensor) -> NDArray[np.float64]:
    """The larger value of both labels, [C]."""
    best: NDArray[np.float64] = rows.view(-1, len(LABELS)).amax(1).numpy()
    return best


def _quotient(above: Tensor, below: Tensor) -> Tensor:
    """Above / below; 0 where there is nothing to divide by."""
    return torch.where(below > _TINY, above / below.clamp(min=_TINY), 0.0)
