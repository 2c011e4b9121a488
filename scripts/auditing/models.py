"""Kinds of models that can be audited, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fglguard.detector import PRESETS
from privacy.audit.detectors import FAMILIES
from privacy.audit.findings import Audit
from scripts.auditing.detector import audit_detectors
from scripts.auditing.options import Options, named

Auditor = Callable[[Options, str, Callable[[str], None]], Audit]
"""Options, the model's variant, and what is told of progress."""


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Attributes:
        variants: What may stand after the colon; empty: nothing does.
        attacks: Families of attacks that there are.
        audit: Runs them.
    """

    variants: Sequence[str]
    attacks: Sequence[str]
    audit: Auditor


KINDS: Mapping[str, Kind] = {"detector": Kind(PRESETS, FAMILIES, audit_detectors)}


def run_audit(options: Options, progress: Callable[[str], None]) -> Audit:
    """Audit the model that was asked for.

    Raises:
        SettingsError: The model, its variant or an attack is unknown; the text lists those known.
    """
    kind, _, variant = named("model", options.model, _model_names()).partition(":")
    known = KINDS[kind]
    for attack in options.attacks:
        named("attacks", attack, ("all", *known.attacks))
    return known.audit(options, variant, progress)


def _model_names() -> list[str]:
    return [
        name
        for kind, of in KINDS.items()
        for name in ([f"{kind}:{variant}" for variant in of.variants] or [kind])
    ]
