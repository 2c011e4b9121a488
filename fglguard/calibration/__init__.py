"""Thresholds: as much recall as an over-refusal budget allows, by several rules.

`calibrate` chooses from score-label pairs, `calibrate_histogram` from counts, and `Calibrations`
holds a pooled threshold beside those of single domains. A `ReferenceHistogram` of the same scores
is what live ones are compared with (`fglguard.drift`).
"""

from fglguard.calibration.calibration import By, Calibration, Objective, Rule
from fglguard.calibration.domains import Calibrations, calibrate_histograms, calibrate_pairs
from fglguard.calibration.histogram import ScoreHistogram, calibrate_histogram
from fglguard.calibration.pairs import calibrate
from fglguard.calibration.reference import ReferenceHistogram
from fglguard.calibration.rules import needed_units

__all__ = [
    "By",
    "Calibration",
    "Calibrations",
    "Objective",
    "ReferenceHistogram",
    "Rule",
    "ScoreHistogram",
    "calibrate",
    "calibrate_histogram",
    "calibrate_histograms",
    "calibrate_pairs",
    "needed_units",
]
