"""Finds injections where nothing says which episodes share one: prose that unlike requests meet.

A corpus that was built by planting texts into results repeats each of them: in answer to other
users' requests, and after the same lead-in. A piece of prose (a field of a record, at least eight
words) is planted if results of at least two tasks hold it, with a lead-in somewhere. A lead-in is
what stands before a piece that also occurs alone, for at least two pieces. No wording is known
beforehand.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection, Place
from fglguard.evaluation.adaptive.words import Words

LEAST_WORDS = 8
LEAST_TASKS = 2

# Brackets, line breaks, and quotes that open or close a field; those within prose do neither.
_FIELD_ENDS = re.compile(
    r"[{}\[\]|<>\n]|\\n|(?:(?<=[:\[{,])|(?<=[:\[{,]\s)|^)\\?['\"]"
    r"|\\?['\"](?=\s*(?:[}\]]|[,:]\s*[\\'\"\[{\dTFNtfn-]|$))"
)

Piece = tuple[str, ...]


def by_repetition(episodes: Sequence[Episode]) -> dict[str, Injection]:
    """The injections of episodes, by their ids; of an episode with several, the longest.

    Args:
        episodes: Of one domain.
    """
    holders: dict[Piece, set[str]] = defaultdict(set)
    for episode in episodes:
        for _, words in _pieces(episode):
            holders[words.words].add(episode.task[0])
    lead_ins = _lead_ins(holders)
    tasks: dict[Piece, set[str]] = defaultdict(set)
    led = set()
    for piece, own in holders.items():
        alone = _without(piece, lead_ins)
        tasks[alone] |= own
        if alone != piece:
            led.add(alone)
    planted = {piece for piece in led if len(tasks[piece]) >= LEAST_TASKS}
    found = {}
    for episode in episodes:
        injection = _injection(episode, planted, lead_ins)
        if injection is not None:
            found[episode.id] = injection
    return found


def _pieces(episode: Episode) -> Iterator[tuple[Place, Words]]:
    """Fields of results that are long enough, with their places."""
    for number, message in enumerate(episode.messages):
        if message.kind != "result":
            continue
        start = 0
        ends = [m.span() for m in _FIELD_ENDS.finditer(message.text)]
        for end, following in [*ends, (len(message.text), len(message.text))]:
            words = Words.of(message.text[start:end])
            if len(words.words) >= LEAST_WORDS:
                yield Place(number, start, end), words
            start = following


def _lead_ins(holders: dict[Piece, set[str]]) -> set[Piece]:
    before: dict[Piece, int] = defaultdict(int)
    for piece in holders:
        for cut in range(1, len(piece) - LEAST_WORDS + 1):
            if piece[cut:] in holders:
                before[piece[:cut]] += 1
    return {lead_in for lead_in, count in before.items() if count >= LEAST_TASKS}


def _without(piece: Piece, lead_ins: set[Piece]) -> Piece:
    return piece[_lead_in_words(piece, lead_ins) :]


def _lead_in_words(piece: Piece, lead_ins: set[Piece]) -> int:
    longest = range(len(piece) - 1, 0, -1)
    return next((cut for cut in longest if piece[:cut] in lead_ins), 0)


def _injection(episode: Episode, planted: set[Piece], lead_ins: set[Piece]) -> Injection | None:
    found = [
        (place, words)
        for place, words in _pieces(episode)
        if _without(words.words, lead_ins) in planted
    ]
    if not found:
        return None
    chosen = max(found, key=lambda one: len(one[1].words))[1]
    places: dict[int, Place] = {}
    for place, words in found:
        if words.words == chosen.words:
            places.setdefault(place.message, place)
    start, _ = chosen.spans[_lead_in_words(chosen.words, lead_ins)]
    return Injection(tuple(places.values()), " ".join(chosen.text[start:].split()))
