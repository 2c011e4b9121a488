"""Models that can be audited, by name: a detector's presets, and families of transformers."""

from collections.abc import Callable, Sequence

from fglguard.detector import PRESETS
from fglguard.errors import SettingsError
from fglguard.silo import open_silos
from privacy.audit import detectors
from privacy.audit.findings import Audit
from privacy.audit.text_groups import GROUPS
from privacy.audit.victims import FAMILIES
from scripts.auditing.detector import audit_detectors
from scripts.auditing.options import Options
from scripts.auditing.transformer import audit_transformers
from scripts.key_values import named

ALL_TEXT = "all-text"
"""Stands for every family of transformers."""
TEXT = "text"
"""Of `utility=`: what masks cost families of transformers."""
_TEXT_FIGURES = ("rouge1", "token_recall", "token_precision", "auc", "recall")
_DETECTOR_FIGURES = ("auc", "recall", "word_recall", "word_precision")
_DETECTORS = {f"detector:{preset}": preset for preset in PRESETS}


def run_audit(options: Options, progress: Callable[[str], None]) -> Audit:
    """Audit the model that was asked for, or several families of transformers in one table.

    Raises:
        SettingsError: A model, an attack or a gate's figure is unknown, the text lists those known;
            or a detector was asked for beside something else.
        SiloError: There are no silos to measure utility on.
    """
    known = [*_DETECTORS, *FAMILIES, ALL_TEXT]
    asked = [named("model", name.strip(), known) for name in options.model.split(",")]
    detector = [name for name in asked if name in _DETECTORS]
    figures = _DETECTOR_FIGURES if detector else _TEXT_FIGURES
    for gate in options.gates:
        named("gate", gate.figure, figures)
    if not detector:
        _check_attacks(options, tuple(GROUPS))
        if options.utility is not None:
            named("utility", str(options.utility), [TEXT])
        wanted = FAMILIES if ALL_TEXT in asked else asked
        return audit_transformers(options, [f for f in FAMILIES if f in wanted])
    if len(asked) > 1:
        raise SettingsError(
            f"model: expected one detector by itself, or families of transformers, got "
            f"{options.model}: their tables have nothing in common"
        )
    _check_attacks(options, detectors.FAMILIES)
    if options.utility is not None:
        open_silos(options.utility)
    return audit_detectors(options, _DETECTORS[detector[0]], progress)


def _check_attacks(options: Options, known: Sequence[str]) -> None:
    for attack in options.attacks:
        named("attacks", attack, ("all", *known))
