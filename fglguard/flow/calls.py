"""Features of each message of an agent: by what is it explained?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode, Message
from fglguard.flow.instruction import instruction_likeness, prototypes
from fglguard.flow.phrases import INSTRUCTIONS, REFUSAL, words
from fglguard.flow.spans import chosen, plain_text, spans
from fglguard.flow.taint import Ledger, Taint

Lookup = Callable[[Sequence[str]], NDArray[np.float32]]
"""Embeddings [n, d] of texts, which must be among `flow_texts`."""

FEATURES = (
    "provenance",
    "provenance_mean",
    "tainted",
    "echo",
    "closest",
    "coverage",
    "strongest",
    "refusal",
)
"""Columns of `MessageFlow.features`.

With S the untrusted spans that came before and I their instruction-likeness:

- `provenance`: largest I of the spans that the message's tainted values came in by; 0 without any;
- `provenance_mean`: their mean;
- `tainted`: log(1 + number of tainted values);
- `echo`: max over S of cos(message, span) I(span);
- `closest`: I of the span most alike the message;
- `coverage`: among the three spans of largest I, the largest share of a span's words, the user's
  aside, that the message repeats;
- `strongest`: the largest I in S;
- `refusal`: phrases of refusal, at most 3; 0 for a call.
"""
TOP_SPANS = 3
LEAST_WORDS = 3
"""A span with fewer words of its own counts as having so many: two words are soon repeated."""
MOST_REFUSALS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """The untrusted spans of a message: their texts, I [n] and embeddings [n, d]."""

    spans: Sequence[str]
    likeness: NDArray[np.float32]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MessageFlow:
    """What flowed into one message of an agent.

    Attributes:
        message: Its number in the episode.
        sender: Whose message it is.
        call: Whether it calls a tool.
        features: [len(FEATURES)] float32.
        taints: Its tainted values.
    """

    message: int
    sender: str
    call: bool
    features: NDArray[np.float32]
    taints: tuple[Taint, ...]


def flow_texts(episode: Episode) -> list[str]:
    """Texts to embed besides the messages: the prototypes and every untrusted span."""
    texts = dict.fromkeys(prototypes())
    kinds = episode.kinds
    for message in episode.messages:
        texts.update(dict.fromkeys(untrusted_spans(message, kinds)))
    return list(texts)


class FlowTracker:
    """The flow into an episode's messages, as they come. Labels are not looked at.

    Users are trusted. Tools and environments are not, nor is what one agent tells another: a
    value is tainted where the first to bring it in was none of the users.

    Args:
        lookup: Embeddings of `prototypes`.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._instructions, self._plain = np.split(lookup(prototypes()), [len(INSTRUCTIONS)])
        self._ledger = Ledger()
        self._taken = 0

    def flow(
        self, message: Message, kinds: Mapping[str, str], vector: NDArray[np.float32]
    ) -> MessageFlow | None:
        """The flow into the message that comes next, [d] its embedding; None if no agent's."""
        if kinds[message.sender] != "agent":
            return None
        return _flow(self._ledger, self._taken, message, vector)

    def heard(self, message: Message, kinds: Mapping[str, str], lookup: Lookup) -> Heard | None:
        """A message's untrusted spans; None without any. Nothing is taken in.

        Args:
            message: What was said.
            kinds: Kind of each agent.
            lookup: Embeddings of the message's `untrusted_spans`.
        """
        untrusted = untrusted_spans(message, kinds)
        if not untrusted:
            return None
        vectors = lookup(untrusted)
        likeness = instruction_likeness(untrusted, vectors, self._instructions, self._plain)
        return Heard(untrusted, likeness, vectors)

    def take(self, message: Message, kinds: Mapping[str, str], heard: Heard | None) -> None:
        """Take a message in, for those after it.

        Args:
            message: What was said.
            kinds: Kind of each agent.
            heard: The message's untrusted spans.
        """
        number, self._taken = self._taken, self._taken + 1
        if kinds[message.sender] == "user":
            self._ledger.ask(message.text)
            return
        if kinds[message.sender] == "agent":
            self._ledger.repeat(number, message)
        if heard is not None:
            self._ledger.hear(number, message, heard.spans, heard.likeness, heard.vectors)


def message_flows(
    episode: Episode, vectors: NDArray[np.float32], lookup: Lookup
) -> list[MessageFlow]:
    """The flow into each message that an agent sent, in order; see `FlowTracker`.

    Args:
        episode: The episode.
        vectors: [messages, d], embeddings of its messages.
        lookup: Embeddings of `flow_texts`.
    """
    kinds = episode.kinds
    tracker = FlowTracker(lookup)
    flows = []
    for message, vector in zip(episode.messages, vectors, strict=True):
        if flow := tracker.flow(message, kinds, vector):
            flows.append(flow)
        tracker.take(message, kinds, tracker.heard(message, kinds, lookup))
    return flows


def untrusted_spans(message: Message, kinds: Mapping[str, str]) -> Sequence[str]:
    """Spans of what a tool or environment returned, or an agent told another."""
    if kinds[message.sender] == "user":
        return []
    if kinds[message.sender] == "agent" and not any(
        kinds[receiver] == "agent" and receiver != message.sender for receiver in message.receivers
    ):
        return []
    return _spans_of(message.text)


@lru_cache(maxsize=1024)
def _spans_of(text: str) -> tuple[str, ...]:
    """Asked for twice an episode: before its texts are embedded, and after."""
    return tuple(chosen(spans(plain_text(text))))


def _flow(
    ledger: Ledger, number: int, message: Message, vector: NDArray[np.float32]
) -> MessageFlow:
    call = message.kind == "call"
    taints = ledger.taints(number, message)
    features = np.zeros(len(FEATURES), dtype=np.float32)
    if taints:
        likeness = [taint.likeness for taint in taints]
        features[:3] = max(likeness), np.mean(likeness), np.log1p(len(taints))
    places, strength, vectors = ledger.spans.told(message.sender)
    if places:
        alike = vectors @ vector
        top = np.argsort(-strength, kind="stable")[:TOP_SPANS]
        said = words(message.text) - ledger.asked_words
        features[3] = (alike * strength).max()
        features[4] = strength[alike.argmax()]
        features[5] = max(
            _coverage(said, ledger.spans.words(places[i]) - ledger.asked_words) for i in top
        )
        features[6] = strength[top[0]]
    if not call:
        features[7] = min(MOST_REFUSALS, REFUSAL.count(message.text))
    return MessageFlow(number, message.sender, call, features, tuple(taints))


def _coverage(said: frozenset[str], span: frozenset[str]) -> float:
    return len(said & span) / max(len(span), LEAST_WORDS)
