r"""How much noise a mask adds, by what it is meant to stop.

G is the gradient of one weight, [m outputs, n inputs], s1 its largest singular value, sigma the
standard deviation of the noise on each entry, N a number of candidates and T the number of exports
an attacker can average. Averaging T exports of the same G divides the noise by sqrt(T), so every
sigma is multiplied by sqrt(T).

At `edge`, `bbp` and `span` sigma is measured on what it hides, and who measures it learns s1: of a
batch of one text or episode enough to pick it out of a bank. At `dp_scale` no data
enters sigma. None is a differential-privacy guarantee by itself: nobody keeps account of exports.
"""

import math
from typing import Literal

import torch
from torch import Tensor

from fglguard.errors import PrivacyError

Level = Literal["edge", "bbp", "span", "dp_scale"]

Spectral = Literal["edge", "bbp", "span"]
"""Levels whose noise is measured on one weight's gradient."""

ROW_SHIFT = 1 / 3
"""How far a hidden row's squared norm may lie above an empty row's, in standard deviations."""

_DIRECTION = 20
"""Seed of the random direction that power iteration starts from."""
_LEAST_PRODUCTS = 3
_LOUDEST = 1e30
"""Noise is rounded in float32, by way of numbers 10^5 times as large."""


def flood_sigma(
    gradient: Tensor,
    level: Spectral,
    *,
    candidates: int,
    exports: int,
    top: float | None = None,
) -> float:
    r"""The noise on one weight's gradient at a level.

    - edge: s1 / (sqrt m + sqrt n). The largest singular value of the noise alone tends to
      sigma (sqrt m + sqrt n) (Bai and Yin, 1993); here it equals the signal's.
    - bbp: s1 / (m n)^(1/4). In noise of that size a spike of strength s1 leaves no outlier among
      the singular values (Baik, Ben Arous and Péché, 2005; Benaych-Georges and Nadakuditi, 2012),
      so that an SVD without knowledge of the texts does not see it.
    - span: s1 / (4 m ln N)^(1/4). For a unit direction x without signal, |G' x|^2 / sigma^2 is
      chi-squared with m degrees of freedom: mean m, standard deviation sqrt(2 m), and the largest
      of N lies near m + sqrt(2 m) sqrt(2 ln N) = m + sqrt(4 m ln N). The true direction adds at
      most s1^2 / sigma^2, which lifts it no higher than that: one of N, not above all. With few
      inputs, n < 4 ln N, this is less than bbp's, which is then taken instead.

    All are times sqrt(T). `dp_scale` is for whole exports: `whole_sigma`.

    Args:
        gradient: [m, n]; a vector counts as one output.
        level: Which.
        candidates: N of `span`.
        exports: T.
        top: s1, where it is known already.

    Raises:
        PrivacyError: The sigma would be zero or infinite.
    """
    matrix = gradient if gradient.ndim == 2 else gradient.reshape(1, -1)
    m, n = matrix.shape
    top = largest_singular_value(matrix) if top is None else top
    bbp = top / (m * n) ** 0.25
    sigma = {
        "edge": top / (math.sqrt(m) + math.sqrt(n)),
        "bbp": bbp,
        "span": max(bbp, top / (4 * m * math.log(candidates)) ** 0.25),
    }[level]
    return checked_sigma(sigma * math.sqrt(exports))


def whole_sigma(clip: float, kappa: float, exports: int) -> float:
    r"""The noise of `dp_scale` on every number of an export whose length is at most `clip`.

        sigma = clip sqrt(T) / kappa

    The best test for a known export G has signal-to-noise ratio |G| / sigma <= kappa / sqrt(T)
    (Neyman and Pearson: along G). Of two candidates whose exports are at right angles it takes the
    right one with probability at most Phi(kappa / sqrt 2), T = 1: .76 for kappa = 1, .55 for .18.
    No data enters sigma, so that the noise tells nothing by its size.

    Args:
        clip: Bound on the length of all parts together.
        kappa: Signal-to-noise ratio.
        exports: T.

    Raises:
        PrivacyError: The sigma would be zero or infinite.
    """
    return checked_sigma(clip / kappa * math.sqrt(exports))


def row_sigma(row_norm: float, width: int, exports: int, shift: float = ROW_SHIFT) -> float:
    r"""The noise on each entry of an embedding's gradient that hides which rows are not zero.

    With rows of d entries clipped to length rho, an empty row's squared norm over sigma^2 is
    chi-squared with d degrees of freedom (standard deviation sqrt(2 d)), a full row's is shifted by
    up to kappa^2 = rho^2 / sigma^2. A shift of `shift` standard deviations is

        kappa^2 = shift sqrt(2 d),   sigma = rho sqrt(T) / kappa

    For d = 384 and a third of a standard deviation, kappa = 3.04.

    Args:
        row_norm: rho.
        width: d.
        exports: T.
        shift: In standard deviations.

    Raises:
        PrivacyError: The sigma would be zero or infinite.
    """
    kappa = math.sqrt(shift * math.sqrt(2 * width))
    return checked_sigma(row_norm * math.sqrt(exports) / kappa)


def checked_sigma(sigma: float) -> float:
    """The sigma itself.

    Raises:
        PrivacyError: It is zero, infinite or not a number: nothing would be hidden, or all lost.
    """
    if not 0 < sigma < _LOUDEST:
        raise PrivacyError(
            f"expected noise of a size above 0 and finite, got sigma = {sigma:g}: the gradient is "
            f"zero or not finite"
        )
    return sigma


def largest_singular_value(matrix: Tensor, tolerance: float = 1e-3, most: int = 64) -> float:
    """s1 of a matrix [m, n], by power iteration.

    It starts from the row of largest norm and, in case that one is orthogonal to all others, a
    tenth of a random direction. Rows of zeros, most of an embedding's, are not multiplied with.

    Args:
        matrix: float32.
        tolerance: Stops when s1 grows by less than this share of itself, after three products.
        most: Stops at the latest after so many products.
    """
    if min(matrix.shape) == 1:
        return float(matrix.norm())
    lengths = torch.linalg.vector_norm(matrix, dim=1)
    longest = matrix[lengths.argmax()]
    generator = torch.Generator().manual_seed(_DIRECTION)
    random = torch.randn(len(longest), generator=generator)
    vector = longest + random * (0.1 * longest.norm() / random.norm())
    filled = lengths.nonzero().squeeze(1)
    if 2 * len(filled) < len(lengths):
        matrix = matrix[filled]
    before = 0.0
    for product in range(most):
        length = vector.norm()
        if not length:
            return 0.0
        image = matrix @ (vector / length)
        value = float(image.norm())
        if product >= _LEAST_PRODUCTS and value - before <= tolerance * value:
            return value
        before = value
        # By a power of two, which rounds nothing: s1^4 of a short gradient is below a float32.
        vector = torch.mv(matrix.t(), image * 2.0 ** -math.frexp(value)[1])
    return before
