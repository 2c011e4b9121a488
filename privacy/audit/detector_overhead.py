"""What a mask costs a detector's client in time and in bytes."""

import copy
import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fglguard.detector import Detector
from fglguard.packed_graphs import PackedGraphs
from fglguard.parameters import flatten
from fglguard.settings import PrivacySettings
from fglguard.training import Mask, TrainingSettings, train_locally
from privacy.audit.findings import Overhead
from privacy.noise import SeededNoise
from privacy.update_mask import UpdateMask

STEPS = 20
REPEATS = 5


def detector_overhead(
    detector: Detector,
    packed: PackedGraphs,
    rows: NDArray[np.int64],
    training: TrainingSettings,
    privacy: PrivacySettings,
    repeats: int = REPEATS,
) -> Overhead:
    """Time local training with and without a mask, in turns, and take the median ratio.

    Args:
        detector: Holds the global weights; copies of it train.
        packed: A site's graphs.
        rows: Those it trains on.
        training: The run's; a round is as many steps as it makes of them.
        privacy: The mask.
        repeats: Pairs of measurements.
    """
    few = dataclasses.replace(training, steps=STEPS)

    def local(settings: TrainingSettings, mode: Literal["delta", "gradient"] | None) -> None:
        own = copy.deepcopy(detector)
        mask: UpdateMask | None = None
        applied: Mask | None = None
        if mode is not None:
            mask = UpdateMask(own, dataclasses.replace(privacy, mode=mode), SeededNoise((0,)))
            applied = mask.gradients
        start = flatten(own)
        train_locally(own, packed, rows, settings, seed=(0,), mask=applied)
        if mask is not None:
            mask.update(start, flatten(own))

    own = copy.deepcopy(detector)
    UpdateMask(own, privacy, SeededNoise((0,)))
    return Overhead(
        step_time_ratio=_ratio(lambda: local(few, "gradient"), lambda: local(few, None), repeats),
        round_time_ratio=_ratio(
            lambda: local(training, "delta"), lambda: local(training, None), repeats
        ),
        payload_bytes=flatten(own).nbytes,
        trained=sum(p.numel() for p in own.parameters() if p.requires_grad),
    )


def _ratio(masked: Callable[[], None], plain: Callable[[], None], repeats: int) -> float:
    """Median of masked time over plain time, measured in turns after one run of each."""
    plain()
    masked()
    return statistics.median(_seconds(masked) / _seconds(plain) for _ in range(repeats))


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
