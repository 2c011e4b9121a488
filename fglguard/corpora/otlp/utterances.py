"""Utterances with the moment at which they were made, by which they are put in order."""

from dataclasses import dataclass

from fglguard.corpora.otlp.spans import Span
from fglguard.episode_rules import MessageKind

_RANK = {"agent": 0, "other": 1, "model": 2, "tool": 3}
"""Which span lies within which where their times are the same."""

Moment = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said, not yet in an episode.

    Attributes:
        moment: Sorts it; of equal ones the first given is the first said.
        sender: Agent, or None for the user; a tool's name where `kind` is `result`.
        receivers: Agents, None for the user; a tool's name where `kind` is `call`.
        text: What was said; may be empty.
        kind: As in an episode.
        author: Name that the message itself bears: the sender, if an agent has it.
    """

    moment: Moment
    sender: str | None
    receivers: tuple[str | None, ...]
    text: str
    kind: MessageKind = "say"
    author: str | None = None


def at_start(span: Span) -> Moment:
    """The moment a span begins: at the same time as others, outer spans come first."""
    return span.start, 1, -span.end, _RANK[span.operation]


def at_end(span: Span) -> Moment:
    """The moment it ends: before those that begin then, inner spans first."""
    # A span that took no time must not end before it begins.
    return span.end, 2 if span.start == span.end else 0, -span.start, -_RANK[span.operation]
