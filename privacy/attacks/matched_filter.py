r"""Texts whose inputs a noisy gradient answers more loudly than noise would.

For G' = G + sigma Z [m, n] and a unit vector x that G sends to zero, |G' x|^2 / sigma^2 is
chi-squared with m degrees of freedom; a text's input adds |G x|^2 / sigma^2. No span and no rank
has to be known, only the noise's size.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from privacy.attacks.channels import Kind, channels
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.prefix_search import Check
from privacy.attacks.span_check import Search, search_texts

_ROBUST = 0.6745
"""Median absolute value of a standard Gaussian."""


def filter_response(gradient: Tensor, inputs: Tensor, sigma: float) -> Tensor:
    r"""How far |G' x|^2 lies above its mean under noise, in standard deviations, [...].

        z = (|G' x|^2 / (|x|^2 sigma^2) - m) / sqrt(2 m)

    Args:
        gradient: G', [m, n].
        inputs: [..., n].
        sigma: Of the noise on each entry.
    """
    unit = inputs / inputs.norm(dim=-1, keepdim=True).clamp_min(1e-30)
    outputs = len(gradient)
    energy: Tensor = (unit @ gradient.t()).square().sum(-1) / sigma**2
    response: Tensor = (energy - outputs) / math.sqrt(2 * outputs)
    return response


@dataclass(frozen=True)
class MatchedFilter:
    """At each position the token with the largest response, over every block of one kind.

    Attributes:
        kind: Of weight.
        search: Its tolerance must be None: a length is guessed, and every position filled.
    """

    kind: Kind
    search: Search = field(default_factory=lambda: Search(tolerance=None, longest=16, beam=4))

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"matched filter, {self.kind}"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The texts found, the best first; none if the weight was not exported."""
        export = seen.exports[0]
        checks = []
        for channel in channels(seen.model, self.kind):
            gradient = channel.gradient(export)
            if gradient is not None:
                sigma = channel.sigma(export, seen.sigma) or _spread(gradient)
                checks.append(_check(channel.module, gradient, sigma))
        return search_texts(seen, self.kind, checks, self.search)


def _check(module: str, gradient: Tensor, sigma: float) -> Check:
    return Check(module, lambda inputs: -filter_response(gradient, inputs, sigma))


def _spread(gradient: Tensor) -> float:
    """Of an open weight's entries: there is no noise, and responses are compared all the same."""
    middle = float(gradient.abs().median()) / _ROBUST
    return middle or float(gradient.abs().max()) or 1.0
