"""Locates the injections of a corpus' episodes."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection
from fglguard.evaluation.adaptive.repeated_prose import by_repetition
from fglguard.evaluation.adaptive.shared_blocks import by_injection_task
from fglguard.flow.phrases import DIRECTIVE, IMPERATIVE
from fglguard.flow.spans import plain_text, spans

MOST_PLAIN = 1_000
"""Pieces of a domain's plain text that are kept, the first ones."""


def locate(episodes: Sequence[Episode]) -> dict[str, Injection]:
    """The injections that can be located, by the episodes' ids.

    In a domain whose episodes tell their injection task, by what the runs of one share; in others
    by prose that results repeat.

    Args:
        episodes: All of their domains, as texts are found by comparing episodes. Labels are not
            looked at.
    """
    found: dict[str, Injection] = {}
    for domain in sorted({episode.domain for episode in episodes}):
        own = [episode for episode in episodes if episode.domain == domain]
        told = any("injection_task" in episode.attributes for episode in own)
        located = by_injection_task(own) if told else by_repetition(own)
        plain = _plain(own, located)
        found |= {name: replace(one, plain=plain) for name, one in located.items()}
    return found


def _plain(episodes: Sequence[Episode], located: Collection[str]) -> tuple[str, ...]:
    """Spans of results that sound like no order, of episodes in which no injection is located."""
    found: dict[str, None] = {}
    for episode in episodes:
        if episode.id in located:
            continue
        for message in episode.messages:
            if message.kind == "result":
                pieces = spans(plain_text(message.text))
                found |= dict.fromkeys(p for p in pieces if not _orders(p))
        if len(found) >= MOST_PLAIN:
            break
    return tuple(found)[:MOST_PLAIN]


def _orders(text: str) -> bool:
    return DIRECTIVE.occur(text) or IMPERATIVE.occur(text)
