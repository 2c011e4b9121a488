"""Bounds on what attacks may get, for continuous integration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fglguard.errors import SettingsError
from privacy.audit.findings import BEST, Audit, Finding
from privacy.plans import LADDER

MARGIN = 2.0
"""Standard errors by which a figure may lie above its limit: of a few batches, chance does that."""
FEW = 8
"""Batches: of fewer, a standard error says little, and of one there is none."""


@dataclass(frozen=True)
class Gate:
    """No family of attacks may beat its null baseline on a masked export by more than `limit`.

    What lies above it by less than two standard errors of the difference counts as chance; where
    there is one batch, and no standard error, nothing does.

    Of each family the best attack is looked at, and on pure noise the best as well: one attack's
    own null baseline moves so much with the batch that one of dozens is always far below chance.

    Attributes:
        figure: Such as `rouge1` or `auc`.
        limit: At most so far above the null baseline.
    """

    figure: str
    limit: float


def read_gate(text: str) -> Gate:
    """Read `rouge1=0.05`.

    Raises:
        SettingsError: It is not a name and a number of at least 0.
    """
    figure, _, limit = text.partition("=")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if not figure or not 0 <= value < math.inf:
        raise SettingsError(
            f"gate: expected FIGURE=LIMIT with a limit of at least 0, such as rouge1=0.05, got "
            f"{text!r}"
        )
    return Gate(figure, value)


def broken(audit: Audit, gates: Sequence[Gate]) -> list[str]:
    """A sentence for each case in which a gate does not hold, its worst attack named.

    Looked at are the masks that were asked for, without `none` where there is another and without
    ablations, at the smallest number of exports that was asked for: the table says what more
    exports do.

    Raises:
        SettingsError: A gate's figure was not measured.
    """
    told = []
    for gate in gates:
        worst: dict[tuple[str, str], Finding] = {}
        for finding in _looked_at(audit, gate):
            key = finding.privacy, finding.case
            if key not in worst or _excess(finding, gate) > _excess(worst[key], gate):
                worst[key] = finding
        told += [_sentence(f, gate) for f in worst.values() if _excess(f, gate) > 0]
    return told


def blunt(audit: Audit, gates: Sequence[Gate]) -> list[str]:
    """A sentence for each gate that stands on fewer than `FEW` batches somewhere.

    Raises:
        SettingsError: A gate's figure was not measured.
    """
    told = []
    for gate in gates:
        few = {
            f"{finding.case}: {finding.family} ({finding.batches})": finding.batches
            for finding in _looked_at(audit, gate)
            if finding.batches < FEW
        }
        if few:
            alone = ", and allows none for one alone" if min(few.values()) == 1 else ""
            told.append(
                f"gate {gate.figure} is blunt: it looks at two standard errors of fewer than "
                f"{FEW} batches{alone}, in {'; '.join(few)}"
            )
    return told


def _looked_at(audit: Audit, gate: Gate) -> list[Finding]:
    least = min(finding.exports for finding in audit.findings)
    best = [f for f in audit.findings if f.attack == BEST and f.privacy in LADDER]
    masked = [finding for finding in best if finding.privacy != "none"] or best
    looked_at = [f for f in masked if f.exports == least and gate.figure in f.figures]
    if not looked_at:
        known = sorted({name for finding in audit.findings for name in finding.figures})
        raise SettingsError(
            f"gate {gate.figure}: expected a figure that {audit.model} has "
            f"({', '.join(known)}), got none of that name"
        )
    return looked_at


def _excess(finding: Finding, gate: Gate) -> float:
    """How far above limit and margin; one batch has no standard error, and gets no margin."""
    figure = finding.figures[gate.figure]
    return figure.over_null - gate.limit - MARGIN * (figure.error or 0.0)


def _sentence(finding: Finding, gate: Gate) -> str:
    figure = finding.figures[gate.figure]
    null = "no null baseline" if figure.null is None else f"{figure.null:.3f} on pure noise"
    return (
        f"{finding.case} under {finding.privacy}, T = {finding.exports}: the best attack on "
        f"{finding.family} reaches {gate.figure} {figure.score:.3f} against {null}, "
        f"{figure.over_null:.3f} above, with a standard error of {figure.error or 0.0:.3f} over "
        f"{finding.batches} batches; the gate allows {gate.limit:g} and two standard errors"
    )
