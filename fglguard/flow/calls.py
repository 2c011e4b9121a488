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


@dataclass(frozen=True, slots=True)
class MessageFlow:
    """What flowed into one message of an agent.

    Attributes:
        message: Its number in the episode.
        call: Whether it calls a tool.
        features: [len(FEATURES)] float32.
        taints: Its tainted values.
    """

    message: int
    call: bool
    features: NDArray[np.float32]
    taints: tuple[Taint, ...]


def flow_texts(episode: Episode) -> list[str]:
    """Texts to embed besides the messages: the prototypes and every untrusted span."""
    texts = dict.fromkeys(prototypes())
    kinds = episode.kinds
    for message in episode.messages:
        texts.update(dict.fromkeys(_untrusted_spans(message, kinds)))
    return list(texts)


def message_flows(
    episode: Episode, vectors: NDArray[np.float32], lookup: Lookup
) -> list[MessageFlow]:
    """The flow into each message that an agent sent, in order. Labels are not looked at.

    Users are trusted. Tools and environments are not, nor is what one agent tells another: a
    value is tainted where the first to bring it in was none of the users.

    Args:
        episode: The episode.
        vectors: [messages, d], embeddings of its messages.
        lookup: Embeddings of `flow_texts`.
    """
    instructions, plain = np.split(lookup(prototypes()), [len(INSTRUCTIONS)])
    kinds = episode.kinds
    ledger = Ledger(episode)
    flows = []
    for number, message in enumerate(episode.messages):
        kind = kinds[message.sender]
        if kind == "user":
            ledger.ask(message.text)
            continue
        if kind == "agent":
            flows.append(_flow(ledger, episode, number, vectors[number]))
            ledger.repeat(number, message.text)
        if untrusted := _untrusted_spans(message, kinds):
            embedded = lookup(untrusted)
            likeness = instruction_likeness(untrusted, embedded, instructions, plain)
            ledger.hear(number, untrusted, likeness, embedded)
    return flows


def _untrusted_spans(message: Message, kinds: Mapping[str, str]) -> Sequence[str]:
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
    ledger: Ledger, episode: Episode, number: int, vector: NDArray[np.float32]
) -> MessageFlow:
    message = episode.messages[number]
    call = message.kind == "call"
    taints = ledger.taints(number)
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
    return MessageFlow(number, call, features, tuple(taints))


def _coverage(said: frozenset[str], span: frozenset[str]) -> float:
    return len(said & span) / max(len(span), LEAST_WORDS)
