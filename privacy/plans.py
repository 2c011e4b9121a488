"""Which mask hides which part of a model."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, get_args

import fglguard.detector
from fglguard.errors import PrivacyError
from privacy.roles import Part, Role

Privacy = Literal["none", "aegis", "aegis_extended"]
LADDER: tuple[Privacy, ...] = get_args(Privacy)
"""From the least to the most."""


class Operation(StrEnum):
    """What is done to a part's gradient before anyone else sees it."""

    FREEZE = "freeze"
    """It is never computed; the part stays what it was."""
    UNIFORMISE = "uniformise"
    """Rows are clipped and noise covers every row, so that it can't be told which had any."""
    FLOOD = "flood"
    """Noise of the level's size on every entry."""
    OPEN = "open"
    """Nothing: exported as it is, and reported as open."""


Plan = Mapping[str, Operation]
"""The operation for each role."""

_DETECTOR = fglguard.detector.Role

_OPEN: Plan = dict.fromkeys([*Role, *_DETECTOR], Operation.OPEN)
_AEGIS: Plan = {
    **_OPEN,
    Role.ATTENTION_PROJECTION: Operation.FREEZE,
    Role.TOKEN_EMBEDDING: Operation.UNIFORMISE,
    Role.EXPANSION: Operation.FLOOD,
    # A detector sees utterances in its input projections: they are its attention projections, but
    # freezing them leaves little to train.
    _DETECTOR.NODE_PROJECTION: Operation.FLOOD,
    _DETECTOR.EDGE_PROJECTION: Operation.FLOOD,
    _DETECTOR.TEXT_ROWS: Operation.UNIFORMISE,
}
# Biases, normalisations and positions cost almost nothing to leave as they are, and frozen they
# leak nothing at any number of exports.
_EXTENDED: Plan = {
    **_AEGIS,
    Role.CONTRACTION: Operation.FLOOD,
    Role.HEAD: Operation.FLOOD,
    Role.BIAS: Operation.FREEZE,
    Role.NORMALISATION: Operation.FREEZE,
    Role.POSITION_EMBEDDING: Operation.FREEZE,
    _DETECTOR.ATTENTION: Operation.FLOOD,
    _DETECTOR.HEAD: Operation.FLOOD,
    _DETECTOR.BIAS: Operation.FREEZE,
}
_PLANS: Mapping[Privacy, Plan] = {"none": _OPEN, "aegis": _AEGIS, "aegis_extended": _EXTENDED}


def plan_of(privacy: Privacy) -> Plan:
    """The operation for each role.

    Raises:
        PrivacyError: The name is unknown.
    """
    if privacy not in _PLANS:
        raise PrivacyError(f"privacy: expected one of {', '.join(LADDER)}, got {privacy!r}")
    return _PLANS[privacy]


def operation_of(part: Part, plan: Plan) -> Operation:
    """What a plan does to a part.

    Raises:
        PrivacyError: The plan says nothing of the part's role.
    """
    if part.role not in plan:
        raise PrivacyError(f"{part.name}: the plan has no operation for the role {part.role}")
    return plan[part.role]
