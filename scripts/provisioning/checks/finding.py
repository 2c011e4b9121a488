"""One thing that is wrong with a kit, and what to do about it."""

from collections.abc import Iterator
from dataclasses import dataclass

from fglguard.errors import FglguardError


@dataclass(frozen=True)
class Finding:
    """A finding; its text is one line.

    Attributes:
        what: What is wrong, and where.
        remedy: What to do.
    """

    what: str
    remedy: str

    def __str__(self) -> str:
        return " ".join(f"wrong: {self.what}. To do: {self.remedy}".split())


Findings = Iterator[Finding]


def found(error: FglguardError, remedy: str) -> Finding:
    """An error as a finding."""
    return Finding(str(error), remedy)
