"""The mask that an attacker is up against: it is public, what it hides is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from fglguard.settings import PrivacySettings
from privacy.plans import Plan, plan_of
from privacy.signals import Strength


@dataclass(frozen=True)
class Defence:
    """What a run says of its mask.

    Attributes:
        plan: What is done to which role.
        strength: Of the noise.
    """

    plan: Plan = field(hash=False)
    strength: Strength

    @classmethod
    def of(cls, settings: PrivacySettings) -> Defence:
        """What a run's `privacy` settings mean, for a client whose export is one masked vector."""
        return cls(plan_of(settings.name), Strength.of(settings))
