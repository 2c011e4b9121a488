"""A floor that reads episodes alone."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode

TextScorer = Callable[[Sequence[Episode]], NDArray[np.float64]]
"""Decision values [episodes]; higher is more suspect. Labels are not looked at."""

TextFloor = Callable[[Sequence[Episode], NDArray[np.bool_], int], TextScorer]
"""Trains on labelled episodes, whether each is unsafe, and a seed."""
