"""The rules: how many benign scores may lie at or above a threshold.

Let n exchangeable units (episodes, or groups of them) be in the calibration data, and let b(tau)
be the sum over units of the share of the unit's benign scores at or above tau. By episode a share
is 0 or 1 and b a count. b falls as tau rises, so each rule allows the thresholds above some point:

- `plain` (FGLGuard, arXiv 2609.02967): b / n <= rho. It promises nothing on new data.
- `conformal`: (b + 1) / (n + 1) <= rho. The expected share of a new unit that is blocked is then
  at most rho, over draws of the calibration data and of the unit. By episode this is split
  conformal prediction (Vovk, Gammerman and Shafer 2005, section 2.2): of n + 1 exchangeable
  scores, the new one lies strictly above the (k + 1)-th largest of the others with probability at
  most (k + 1) / (n + 1). By group it is the same with shares, as in Lee, Barber and Willett,
  "Distribution-free inference with hierarchical data": let B(tau) be b with the new group's share
  added. B <= b + 1, so every allowed tau is at or above the smallest tau with
  B(tau) / (n + 1) <= rho, which treats all n + 1 groups alike; there the new group's share has
  the mean of B / (n + 1), at most rho, and a higher tau blocks no more.
- `clopper_pearson`: with probability at least 1 - delta over calibration data, the rate on new
  units is at most rho. By episode b is binomial, and the one-sided upper bound of Clopper and
  Pearson (1934) at level 1 - delta is at most rho exactly where P(Bin(n, rho) <= b) <= delta. By
  group shares lie anywhere in [0, 1], where a binomial tail is no bound; Hoeffding's (1963,
  theorem 1), which holds for means of any such variables, takes its place: allowed where
  b / n < rho and exp(-n KL(b / n, rho)) <= delta, KL of two Bernoulli distributions. What is
  bounded is the mean over groups of the blocked share.

Many thresholds are tried, yet the level of `clopper_pearson` needs no correction: they are taken
from +inf downwards and the first that fails ends the search, which is fixed-sequence testing. A
threshold with a rate above rho is chosen only if the highest one with such a rate passes (or, where
there is no highest, if some in a sequence that rises to their supremum do), as b is monotone, and
that has probability at most delta. What is chosen among the allowed ones may depend on anything, as
all of them are allowed together.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.calibration.calibration import By, Rule

_DECIMALS = 9
"""Sums of shares such as 1/3 are rounded to so many, so that three of them make 1."""


def permitted(
    refused: ArrayLike, units: int, budget: float, rule: Rule, risk: float, by: By
) -> NDArray[np.bool_]:
    """Whether a rule allows each sum of blocked shares.

    Args:
        refused: b, from 0 to `units`, [n].
        units: Exchangeable units with a benign episode, at least 1.
        budget: rho, in [0, 1].
        rule: Which rule.
        risk: delta, in (0, 1); `clopper_pearson` only.
        by: Whether b is a count of episodes or a sum of groups' shares.
    """
    sums = np.asarray(refused, dtype=np.float64)
    if by == "group":
        sums = np.round(sums, _DECIMALS)
    if rule == "plain":
        return np.asarray(sums / units <= budget)
    if rule == "conformal":
        return np.asarray((sums + 1) / (units + 1) <= budget)
    if budget >= 1:
        return np.ones(sums.shape, dtype=np.bool_)
    if budget <= 0:
        return np.zeros(sums.shape, dtype=np.bool_)
    if by == "group":
        return _hoeffding(sums / units, units, budget) <= math.log(risk)
    return binomial_tail(units, budget)[sums.astype(np.int64)] <= risk


def binomial_tail(units: int, budget: float) -> NDArray[np.float64]:
    """P(Bin(units, budget) <= k) for k = 0 ... units, with 0 < budget < 1."""
    k = np.arange(units, dtype=np.float64)
    ratios = np.log((units - k) / (k + 1)) + math.log(budget) - math.log1p(-budget)
    logs = units * math.log1p(-budget) + np.append(0.0, np.cumsum(ratios))
    tail: NDArray[np.float64] = np.minimum(np.cumsum(np.exp(logs)), 1.0)
    return tail


def needed_units(rule: Rule, budget: float, risk: float, by: By = "episode") -> int | None:
    """The fewest benign units with which a rule allows a finite threshold; None: no number does."""
    if budget <= 0 and rule != "plain":
        return None
    if budget >= 1 or rule == "plain":
        return 1
    near = 1 / budget - 1 if rule == "conformal" else math.log(risk) / math.log1p(-budget)
    if near > 2**53:
        return None
    # The closed form to within rounding; the rule's own arithmetic decides.
    start = max(1, math.floor(near) - 1)
    return next(
        units for units in range(start, start + 4) if _allows_any(rule, units, budget, risk, by)
    )


def _allows_any(rule: Rule, units: int, budget: float, risk: float, by: By) -> bool:
    """Whether even a threshold that blocks no benign calibration episode is allowed."""
    if rule == "clopper_pearson" and by == "episode":  # without the tail's array of all counts
        return bool(np.exp(units * math.log1p(-budget)) <= risk)
    return bool(permitted([0.0], units, budget, rule, risk, by)[0])


def _hoeffding(rate: NDArray[np.float64], units: int, budget: float) -> NDArray[np.float64]:
    """Logarithm of Hoeffding's bound on P(mean of `units` shares <= rate), their mean being rho."""
    kept = 1 - rate
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(rate > 0, rate * np.log(rate / budget), 0.0)
        divergence += np.where(kept > 0, kept * np.log(kept / (1 - budget)), 0.0)
    return np.where(rate < budget, -units * divergence, 0.0)
