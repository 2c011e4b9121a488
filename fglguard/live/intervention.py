"""One rewrite, then no answer: what goes out in the place of an answer that is held back."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fglguard.events import Event
from fglguard.verdict import Verdict

log = logging.getLogger(__name__)

Rewrite = Callable[[Event, Verdict], str]
"""A new text for an answer that was held back, given the verdict on it."""
AsyncRewrite = Callable[[Event, Verdict], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an answer.

    Attributes:
        text: What is to go out: the answer, its rewrite, or the safe message.
        released: Whether it is the answer or its rewrite.
        rewritten: Whether it is the rewrite.
        verdicts: On the answer, and on its rewrite where there was one.
    """

    text: str
    released: bool
    rewritten: bool
    verdicts: tuple[Verdict, ...]


def rewritten_event(event: Event, text: object) -> Event | None:
    """The event with a rewrite's text; None, and a log entry, where a rewrite gave no text."""
    if isinstance(text, str) and text.strip():
        return replace(event, text=text)
    log.error("episode %r: the rewrite gave no text: refused", event.episode)
    return None


def failed_rewrite(event: Event, error: Exception) -> None:
    """Log that a rewrite raised; the answer is then refused."""
    kind = type(error).__name__
    log.error("episode %r: the rewrite failed: %s: refused", event.episode, kind, exc_info=error)


def settled(event: Event, verdicts: tuple[Verdict, ...], safe_message: str) -> Outcome:
    """The outcome by the last verdict.

    Args:
        event: The answer or its rewrite, whichever the last verdict is on.
        verdicts: All verdicts, in order.
        safe_message: What goes out where that one holds it back.
    """
    if verdicts[-1].blocked:
        return Outcome(safe_message, False, False, verdicts)
    return Outcome(event.text, True, len(verdicts) > 1, verdicts)
