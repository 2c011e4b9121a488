"""Bounds on what attacks may get, for continuous integration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fglguard.errors import SettingsError
from privacy.audit.findings import BEST, Audit, Finding
from privacy.plans import LADDER


@dataclass(frozen=True)
class Gate:
    """No family of attacks may beat its null baseline on a masked export by more than `limit`.

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
    least = min(finding.exports for finding in audit.findings)
    best = [f for f in audit.findings if f.attack == BEST and f.privacy in LADDER]
    masked = [finding for finding in best if finding.privacy != "none"] or best
    told = []
    for gate in gates:
        looked_at = [f for f in masked if f.exports == least and gate.figure in f.figures]
        if not looked_at:
            known = sorted({name for finding in audit.findings for name in finding.figures})
            raise SettingsError(
                f"gate {gate.figure}: expected a figure that {audit.model} has "
                f"({', '.join(known)}), got none of that name"
            )
        worst: dict[tuple[str, str], Finding] = {}
        for finding in looked_at:
            key = finding.privacy, finding.case
            over = finding.figures[gate.figure].over_null
            if key not in worst or over > worst[key].figures[gate.figure].over_null:
                worst[key] = finding
        told += [
            _sentence(finding, gate)
            for finding in worst.values()
            if finding.figures[gate.figure].over_null > gate.limit
        ]
    return told


def _sentence(finding: Finding, gate: Gate) -> str:
    figure = finding.figures[gate.figure]
    null = "no null baseline" if figure.null is None else f"{figure.null:.3f} on pure noise"
    return (
        f"{finding.case} under {finding.privacy}, T = {finding.exports}: the best attack on "
        f"{finding.family} reaches {gate.figure} {figure.score:.3f} against {null}, "
        f"{figure.over_null:.3f} above; the gate allows {gate.limit:g}"
    )
