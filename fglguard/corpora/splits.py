"""Train, validation and test sides that share no task, and the groups a bootstrap resamples.

Episodes that share a task key resemble each other, so a key never stands on two sides. Keys chain:
a run with a user task and an injection task ties both to one side. Where such a chain holds more
than half of a domain (AgentDojo runs every user task with every injection task) the chain is cut:
each key gets a side of its own, and an episode whose keys disagree is left out.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.assignment import LEFT_OUT, SplitProblem, assign
from fglguard.episode_rules import SPLIT_NAMES
from fglguard.errors import SettingsError

SPLITS = SPLIT_NAMES
"""Sides by their codes 0, 1, 2; an episode that is left out has the code 255."""

Value = TypeVar("Value")
_SMALLEST_CUT = 0.05


def assign_splits(
    tasks: Sequence[tuple[str, ...]],
    *,
    fractions: Sequence[float] = (0.6, 0.2, 0.2),
    seed: int = 0,
    strata: Sequence[str] | None = None,
    labels: Sequence[bool | None] | None = None,
) -> NDArray[np.uint8]:
    """A side for each episode such that no task key stands on two sides.

    A few dozen seeded candidate assignments are drawn and the best improved; the one wins that is
    nearest to the wanted fractions in each stratum and for each label, has both labels on every
    side where that is possible, and leaves few episodes out.

    Args:
        tasks: The split keys of each episode, `namespace:name`.
        fractions: Wanted shares of train, val and test; they sum to 1.
        seed: Same arguments, same seed: same sides.
        strata: Stratum of each episode, usually its domain, to balance over. Strata that share a
            key are assigned together.
        labels: Label of each episode, to balance over.

    Returns:
        [episodes] codes into `SPLITS`, 255 for an episode that is left out.

    Raises:
        SettingsError: The fractions are not three shares that sum to 1.
        ValueError: The sequences differ in length, or an episode has no key.
    """
    shares = _checked_fractions(fractions)
    strata = _checked(tasks, strata, "strata") or [""] * len(tasks)
    labels = _checked(tasks, labels, "labels") or [None] * len(tasks)
    codes = np.full(len(tasks), LEFT_OUT, dtype=np.uint8)
    component = _components(tasks)
    cut = _too_large(tasks, component, strata)
    units: list[tuple[str, ...]] = [
        tuple(sorted(set(keys))) if int(code) in cut else (f"component {code}",)
        for keys, code in zip(tasks, component, strict=True)
    ]
    # Strata that share a component are one problem; otherwise each stratum is its own.
    together = _components(
        [(f"stratum {s}", f"component {c}") for s, c in zip(strata, component, strict=True)]
    )
    for number in range(int(together.max(initial=-1)) + 1):
        members = np.flatnonzero(together == number).tolist()
        problem = SplitProblem.of(
            [units[i] for i in members],
            [_classes(strata[i], labels[i], int(component[i]), cut) for i in members],
            shares,
        )
        codes[members] = assign(problem, np.random.SeedSequence([seed, number]))
    return codes


def task_groups(
    tasks: Sequence[tuple[str, ...]], strata: Sequence[str] | None = None
) -> NDArray[np.int64]:
    """Group of each episode for a bootstrap that resamples groups of alike episodes.

    A group is a connected component over shared keys. Components that `assign_splits` would cut
    are grouped by each episode's first key instead.

    Args:
        tasks: The split keys of each episode.
        strata: As for `assign_splits`; without them all episodes are one stratum.

    Returns:
        [episodes] codes from 0, in order of first appearance.

    Raises:
        ValueError: The sequences differ in length, or an episode has no key.
    """
    strata = _checked(tasks, strata, "strata") or [""] * len(tasks)
    component = _components(tasks)
    cut = _too_large(tasks, component, strata)
    codes: dict[tuple[int, str], int] = {}
    groups = [
        codes.setdefault((int(code), keys[0] if int(code) in cut else ""), len(codes))
        for keys, code in zip(tasks, component, strict=True)
    ]
    return np.array(groups, dtype=np.int64)


def _checked_fractions(fractions: Sequence[float]) -> NDArray[np.float64]:
    shares = np.array(fractions, dtype=np.float64)
    if (
        shares.shape != (len(SPLITS),)
        or not np.isfinite(shares).all()
        or shares.min() < 0
        or not math.isclose(shares.sum(), 1, abs_tol=1e-6)
    ):
        raise SettingsError(
            f"fractions: expected shares of {', '.join(SPLITS)} that sum to 1, "
            f"got {list(fractions)}"
        )
    shares /= shares.sum()
    return shares


def _checked(
    tasks: Sequence[tuple[str, ...]], values: Sequence[Value] | None, name: str
) -> Sequence[Value] | None:
    if values is not None and len(values) != len(tasks):
        raise ValueError(f"{name}: expected one an episode ({len(tasks)}), got {len(values)}")
    for index, keys in enumerate(tasks):
        if not keys or isinstance(keys, str):
            raise ValueError(f"tasks[{index}]: expected a tuple of at least one key, got {keys!r}")
    return values


def _components(tasks: Sequence[tuple[str, ...]]) -> NDArray[np.int64]:
    """Connected component of each episode over shared keys, numbered by first appearance."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while (above := parent.setdefault(key, key)) != key:
            parent[key] = parent[above]
            key = above
        return key

    for keys in tasks:
        first = root(keys[0])
        for key in keys[1:]:
            parent[root(key)] = first
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(root(keys[0]), len(numbers)) for keys in tasks], dtype=np.int64
    )


def _too_large(
    tasks: Sequence[tuple[str, ...]], component: NDArray[np.int64], strata: Sequence[str]
) -> set[int]:
    """The components to cut.

    Those of several keys with more than half of a stratum, and, so that a stratum of grids is
    treated alike throughout, the larger of the others in that stratum.
    """
    keys: dict[int, set[str]] = {}
    for own, code in zip(tasks, component.tolist(), strict=True):
        keys.setdefault(code, set()).update(own)
    total = Counter(strata)
    share = {
        (stratum, code): count / total[stratum]
        for (stratum, code), count in Counter(zip(strata, component.tolist(), strict=True)).items()
        if len(keys[code]) > 1
    }
    grids = {stratum for (stratum, _), part in share.items() if part > 0.5}
    return {
        code for (stratum, code), part in share.items() if stratum in grids and part > _SMALLEST_CUT
    }


def _classes(stratum: str, label: bool | None, component: int, cut: set[int]) -> tuple[str, ...]:
    """What an episode counts towards: each class is to be spread over the sides as wanted."""
    classes = [f"stratum {stratum}"]
    if label is not None:
        classes.append(f"label {label} {stratum}")
    if component in cut:
        classes.append(f"component {component}")
    return tuple(classes)
