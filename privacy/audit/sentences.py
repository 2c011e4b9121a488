"""Plain sentences without end, for trying an audit where no corpus is at hand."""

import random
from collections.abc import Sequence

_PEOPLE = (
    "the planner", "the reviewer", "our agent", "a customer", "the auditor", "my colleague",
    "the operator", "the assistant", "a manager", "the engineer", "the accountant", "a tester",
)  # fmt: skip
_DEEDS = (
    "sent", "opened", "deleted", "signed", "copied", "checked", "approved", "renamed", "uploaded",
    "moved", "printed", "stored", "shared", "encrypted", "translated", "archived",
)  # fmt: skip
_KINDS = (
    "monthly", "secret", "broken", "final", "old", "urgent", "public", "encrypted", "medical",
    "annual", "draft", "missing", "foreign", "private", "empty", "internal",
)  # fmt: skip
_THINGS = (
    "invoice", "password", "report", "contract", "database", "ticket", "calendar", "backup",
    "message", "folder", "budget", "certificate", "schedule", "letter", "recipe", "drawing",
)  # fmt: skip
_PLACES = (
    "from the server", "to the bank", "in the office", "after the meeting", "before lunch",
    "without permission", "for the hospital", "on Friday", "with great care", "by mistake",
    "near the station", "at midnight", "during the trial", "behind the firewall",
)  # fmt: skip


def sentences(count: int, seed: int = 0) -> list[str]:
    """So many sentences such as "the planner sent the monthly invoice to the bank 417".

    The number at the end makes nearly every sentence unlike the others.
    """
    draw = random.Random(seed)
    return [
        f"{draw.choice(_PEOPLE)} {draw.choice(_DEEDS)} the {draw.choice(_KINDS)} "
        f"{draw.choice(_THINGS)} {draw.choice(_PLACES)} {draw.randrange(1000)}"
        for _ in range(count)
    ]


def topics(texts: Sequence[str], classes: int) -> list[int]:
    """The class of each sentence: which thing it is about, modulo `classes`."""
    return [_THINGS.index(text.split()[5]) % classes for text in texts]
