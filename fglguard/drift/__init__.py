"""Do live scores still look like those the threshold was chosen on?

`DriftMonitor` takes live corroborated scores one at a time and reports the population stability
index of the latest ones and a sequential test of all of them, both against the guard's reference
histogram.
"""

from fglguard.drift.monitor import DriftMonitor
from fglguard.drift.report import DriftReport

__all__ = ["DriftMonitor", "DriftReport"]
