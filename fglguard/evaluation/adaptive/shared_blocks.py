"""Finds injections by what runs of one injection task share and clean runs lack.

A benchmark plants one text into the runs of many user tasks. A shingle (four words in a row) of a
result is planted if results of at least two user tasks with the same injection task hold it and no
result of a clean run does; those that fewer than .7 as many tasks hold as the most frequent one
belong to one page or to what the agent then did. An injection is a stretch of planted shingles.
Wording that at least half of a suite's injection tasks share is the attack's; what is left is the
payload. No wording is known beforehand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection, Place
from fglguard.evaluation.adaptive.words import SHINGLE, Shingle, Words

LEAST_WORDS = 12
"""Of an injection's first occurrence."""
MOST_GAP = 4
"""Words in a row that need not be planted within an injection."""
SAME = 0.5
"""Share of a further occurrence's shingles that the first one holds."""
COMMON = 0.5
"""Share of the injection tasks whose shared shingles are the attack's wording."""
LEAST_TASKS = 2
FREQUENT = 0.7

Group = tuple[str, str]
"""Suite and injection task."""


def by_injection_task(episodes: Sequence[Episode]) -> dict[str, Injection]:
    """The injections of episodes with an `injection_task`, by the episodes' ids.

    An episode without any that could be found is left out: the agent may never have read it.

    Args:
        episodes: Of one domain, clean runs among them.
    """
    clean = {
        shingle for e in episodes if not _group(e) for _, w in results(e) for shingle in _of(w)
    }
    planted = _planted(episodes, clean)
    common = _common(planted)
    found = {}
    for episode in episodes:
        if group := _group(episode):
            injection = _injection(episode, planted.get(group, set()), common.get(group[0], set()))
            if injection is not None:
                found[episode.id] = injection
    return found


def results(episode: Episode) -> Iterator[tuple[int, Words]]:
    """Number and words of each result."""
    for number, message in enumerate(episode.messages):
        if message.kind == "result":
            yield number, Words.of(message.text)


def _of(words: Words) -> set[Shingle]:
    return set(words.shingles())


def _group(episode: Episode) -> Group | None:
    task = episode.attributes.get("injection_task")
    return (episode.attributes.get("suite", ""), task) if task else None


def _planted(episodes: Iterable[Episode], clean: set[Shingle]) -> dict[Group, set[Shingle]]:
    holders: dict[Group, dict[Shingle, set[str]]] = defaultdict(lambda: defaultdict(set))
    for episode in episodes:
        if group := _group(episode):
            for _, words in results(episode):
                for shingle in _of(words) - clean:
                    holders[group][shingle].add(episode.attributes.get("user_task", episode.id))
    planted = {}
    for group, own in holders.items():
        least = max(LEAST_TASKS, FREQUENT * max(map(len, own.values()), default=0))
        planted[group] = {shingle for shingle, tasks in own.items() if len(tasks) >= least}
    return planted


def _common(planted: Mapping[Group, set[Shingle]]) -> dict[str, set[Shingle]]:
    """By suite, the shingles of the attack's wording; none where there is one injection task."""
    common: dict[str, set[Shingle]] = {}
    for suite in {group[0] for group in planted}:
        sets = [shingles for group, shingles in planted.items() if group[0] == suite]
        counts: dict[Shingle, int] = defaultdict(int)
        for shingles in sets:
            for shingle in shingles:
                counts[shingle] += 1
        least = max(LEAST_TASKS, COMMON * len(sets))
        common[suite] = {shingle for shingle, count in counts.items() if count >= least}
    return common


def _injection(episode: Episode, planted: set[Shingle], common: set[Shingle]) -> Injection | None:
    places: list[Place] = []
    first: set[Shingle] = set()
    payload = ""
    for number, words in results(episode):
        stretch = _longest_stretch(words, planted)
        if stretch is None:
            continue
        own = set(words.shingles()[stretch[0] : stretch[1] - SHINGLE + 2])
        # What an obeyed injection brings about is planted too, but lacks the attack's wording.
        if not places and common and own.isdisjoint(common):
            continue
        if places and len(own & first) < SAME * len(own):
            continue
        if not places:
            first, payload = own, _payload(words, stretch, common)
        places.append(Place(number, *words.characters(*stretch)))
    return Injection(tuple(places), payload) if places else None


def _longest_stretch(words: Words, planted: set[Shingle]) -> tuple[int, int] | None:
    """First and last word of the longest stretch; None where it is too short."""
    best: tuple[int, int] | None = None
    first = last = -1
    for place, shingle in enumerate(words.shingles()):
        if shingle not in planted:
            continue
        if last < 0 or place > last + MOST_GAP + 1:
            first = place
        last = place + SHINGLE - 1
        if best is None or last - first > best[1] - best[0]:
            best = first, last
    return best if best and best[1] - best[0] + 1 >= LEAST_WORDS else None


def _payload(words: Words, stretch: tuple[int, int], common: set[Shingle]) -> str:
    """The stretch without the words at its ends that only the attack's wording covers."""
    first, last = stretch
    covered = {
        word
        for place, shingle in enumerate(words.shingles())
        if shingle in common
        for word in range(place, place + SHINGLE)
    }
    own = [word for word in range(first, last + 1) if word not in covered]
    ends = (own[0], own[-1]) if own else stretch
    start, end = words.characters(*ends)
    # A quote within a quoted YAML text is doubled.
    return " ".join(words.text[start:end].replace("''", "'").split())
