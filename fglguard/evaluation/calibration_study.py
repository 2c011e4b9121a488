"""How often each calibration rule breaks the budget on new episodes, and at what recall."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.calibration import By, Rule, calibrate

CALIBRATION, TEST = 0, 1
RULES: tuple[Rule, ...] = ("plain", "conformal", "clopper_pearson")
UNITS: tuple[By, ...] = ("episode", "group")


@dataclass(frozen=True)
class Resplit:
    """Scores of one model, and which of them calibrate and which test. Arrays are [n].

    Attributes:
        corroborated: Corroborated scores.
        label: 1 unsafe, 0 benign; others (unknown) are left out.
        group: Task group; numbers mean nothing beyond equality.
        half: `CALIBRATION` or `TEST`; others are in neither.
    """

    corroborated: NDArray[np.float64]
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    half: NDArray[np.int64]

    def part(self, half: int) -> "Resplit":
        """The labelled rows of one half."""
        keep = (self.half == half) & np.isin(self.label, (0, 1))
        return Resplit(self.corroborated[keep], self.label[keep], self.group[keep], self.half[keep])


@dataclass(frozen=True)
class RuleOutcome:
    """What one rule did over the resplits. Means and shares are over those that count.

    A figure is None where no resplit defines it. A resplit counts if both halves have a benign
    episode, and in `recall` if its test half has an unsafe one.

    Attributes:
        rule: The rule.
        by: What it took to be exchangeable.
        budget: rho.
        risk: delta of `clopper_pearson`; None for the others.
        resplits: Resplits that count.
        undefined: Resplits that do not.
        broken_by_episode: Share in which more than rho of the benign test episodes are blocked.
        broken_by_group: Share in which the mean over test groups of the blocked share of their
            benign episodes is above rho.
        false_positive_rate: Mean blocked share of the benign test episodes.
        group_false_positive_rate: Mean of the means over groups.
        recall: Mean blocked share of the unsafe test episodes.
        threshold: Mean of the thresholds that block something.
        blocks_nothing: Resplits with the threshold +inf, counted in every other figure.
        reason: Why figures are None; None where none is.
    """

    rule: Rule
    by: By
    budget: float
    risk: float | None
    resplits: int
    undefined: int
    broken_by_episode: float | None
    broken_by_group: float | None
    false_positive_rate: float | None
    group_false_positive_rate: float | None
    recall: float | None
    threshold: float | None
    blocks_nothing: int
    reason: str | None


def resplit_by_group(
    corroborated: ArrayLike,
    label: ArrayLike,
    group: ArrayLike,
    *,
    count: int = 20,
    seed: int = 0,
    share: float = 0.5,
) -> list[Resplit]:
    """Deal whole groups to calibration and test, anew `count` times.

    Each time the groups are shuffled and the first `share` of them, rounded, calibrate; at least
    one is left for either half where there are two. Exchangeable groups stay so.

    Args:
        corroborated: Held-out scores of one model [n], none of which it trained on.
        label: 1 unsafe, 0 benign, others unknown [n].
        group: Task groups [n].
        count: How many resplits.
        seed: Same seed, same resplits; the first few do not depend on `count`.
        share: Share of the groups that calibrate, in (0, 1).

    Raises:
        ValueError: The arrays differ in length, a score is NaN, or `share` is out of range.
    """
    scores = np.asarray(corroborated, np.float64)
    labels, groups = np.asarray(label, np.int64), np.asarray(group, np.int64)
    if scores.ndim != 1 or not scores.shape == labels.shape == groups.shape:
        raise ValueError(
            f"expected three vectors of one length, got {scores.shape}, {labels.shape} and "
            f"{groups.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError(f"{np.isnan(scores).sum()} of {len(scores)} scores are NaN")
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number between 0 and 1, got {share!r}")
    names, codes = np.unique(groups, return_inverse=True)
    calibrating = min(max(round(share * len(names)), 1), max(len(names) - 1, 1))
    found = []
    for number in range(count):
        order = np.random.default_rng([seed, number]).permutation(len(names))
        half = np.full(len(names), TEST)
        half[order[:calibrating]] = CALIBRATION
        found.append(Resplit(scores, labels, groups, half[codes]))
    return found


def study(
    resplits: Sequence[Resplit], *, budget: float = 0.10, risk: float = 0.10
) -> list[RuleOutcome]:
    """Calibrate by each rule on each calibration half, and count on its test half.

    Args:
        resplits: Of one model (`resplit_by_group`) or of several, such as one a seed.
        budget: rho, in [0, 1].
        risk: delta of `clopper_pearson`, in (0, 1).

    Returns:
        An outcome a rule, by episode and by group.

    Raises:
        CalibrationError: A score is NaN, or `budget` or `risk` is out of range.
    """
    halves = [(one.part(CALIBRATION), one.part(TEST)) for one in resplits]
    usable = [pair for pair in halves if all(np.any(half.label == 0) for half in pair)]
    undefined = len(halves) - len(usable)
    return [_outcome(rule, by, usable, undefined, budget, risk) for rule in RULES for by in UNITS]


def _outcome(
    rule: Rule,
    by: By,
    usable: Sequence[tuple[Resplit, Resplit]],
    undefined: int,
    budget: float,
    risk: float,
) -> RuleOutcome:
    taus = [_threshold(calibration, rule, by, budget, risk) for calibration, _ in usable]
    by_episode, by_group, recalls = [], [], []
    for tau, (_, test) in zip(taus, usable, strict=True):
        blocked, benign = test.corroborated >= tau, test.label == 0
        by_episode.append(float(blocked[benign].mean()))
        by_group.append(_mean_share(blocked[benign], test.group[benign]))
        if not benign.all():
            recalls.append(float(blocked[~benign].mean()))
    finite = [tau for tau in taus if math.isfinite(tau)]
    return RuleOutcome(
        rule=rule,
        by=by,
        budget=budget,
        risk=risk if rule == "clopper_pearson" else None,
        resplits=len(usable),
        undefined=undefined,
        broken_by_episode=_mean([rate > budget for rate in by_episode]),
        broken_by_group=_mean([rate > budget for rate in by_group]),
        false_positive_rate=_mean(by_episode),
        group_false_positive_rate=_mean(by_group),
        recall=_mean(recalls),
        threshold=_mean(finite),
        blocks_nothing=sum(tau == math.inf for tau in taus),
        reason=_reason(len(usable), len(recalls), len(finite)),
    )


def _threshold(calibration: Resplit, rule: Rule, by: By, budget: float, risk: float) -> float:
    groups = calibration.group if by == "group" else None
    scores, labels = calibration.corroborated, calibration.label
    return calibrate(scores, labels, budget, rule=rule, risk=risk, groups=groups).threshold


def _mean_share(blocked: NDArray[np.bool_], groups: NDArray[np.int64]) -> float:
    codes = np.unique(groups, return_inverse=True)[1]
    shares = np.bincount(codes, weights=blocked) / np.bincount(codes)
    # Rounded as the rules round, so that three thirds at the budget do not break it.
    return float(np.round(shares.mean(), 9))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _reason(usable: int, recalls: int, finite: int) -> str | None:
    if not usable:
        return "no resplit has a benign episode in both halves"
    told = []
    if not recalls:
        told.append("no test half has an unsafe episode")
    if not finite:
        told.append("no threshold blocks anything")
    return "; ".join(told) or None
