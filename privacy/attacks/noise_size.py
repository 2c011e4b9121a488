r"""Which candidate would have got noise of the size seen: where sigma is measured on what it hides.

Levels `edge`, `bbp` and `span` make sigma from the gradient, so that the size of the noise is a
public number computed from a secret. Of a part with n numbers, the export's root mean square r is
known to a share of 1 / sqrt(2 n), and a candidate with signal u and noise sigma would have had

    r_c^2 = |u|^2 / n + sigma^2 / T

after averaging T exports. Its score is - sum over masked parts of n (ln r - ln r_c)^2: up to a
factor of 2 the log-likelihood of r. At `dp_scale` every candidate gets the same sigma, and nothing
is learnt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from privacy.attacks.masked_comparison import MaskedOf
from privacy.attacks.masked_rows import MaskedRows
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.text_candidates import masked_texts


def compare_sizes(
    seen: Observation, masked: Mapping[str, MaskedRows], labels: int
) -> NDArray[np.float64] | None:
    """Scores [C] of candidates, each the best of its labels'; None where there is no noise.

    The noise is measured on the export alone: `seen.sigma` is not looked at.

    Args:
        seen: One export, or the mean of several.
        masked: Rows [C * labels], a candidate's one after another.
        labels: How many rows a candidate has.
    """
    total = None
    for name, part in masked.items():
        if name not in seen.exports[0] or not bool(part.sigmas.any()):
            continue
        values = seen.exports[0][name]
        size = values.numel()
        own = float(values.double().square().mean())
        expected = part.squares / size + part.sigmas.square() / seen.averaged
        apart = (own / expected).log() / 2
        score = -size * apart.square()
        total = score if total is None else total + score
    if total is None:
        return None
    # What a mask would have withheld has no size, and could not be seen: the least likely.
    known = torch.where(total.isnan(), -torch.inf, total)
    best: NDArray[np.float64] = known.view(-1, labels).amax(1).numpy()
    return best


@dataclass(frozen=True)
class NoiseSize:
    """`compare_sizes` on texts.

    Attributes:
        masked_of: Computes what the mask makes of candidates, or remembers it.
        name: In the audit's table.
    """

    masked_of: MaskedOf = masked_texts
    name: str = "noise size"

    def __call__(self, seen: Observation, candidates: Sequence[Tokens]) -> NDArray[np.float64]:
        """A score for each text; all 0 where nothing is hidden by noise."""
        masked = self.masked_of(seen, candidates)
        rows = next((len(part.factors) for part in masked.values()), 0)
        scores = compare_sizes(seen, masked, rows // len(candidates))
        return np.zeros(len(candidates)) if scores is None else scores
