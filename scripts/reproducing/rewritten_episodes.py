"""The episodes of silos rewritten, and what must be encoded to score them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.location import locate
from fglguard.evaluation.adaptive.suite import ATTACKS, HARD_NEGATIVES, Rewritten, rewrite
from fglguard.graph import GraphSettings, beside_messages
from fglguard.silo import Silo
from scripts.reproducing.scores import episodes_of

INJECTED = ("agentdojo", "rjudge")
"""Domains with injections to locate; attacks are made of these alone, where there are any."""
SEED = 0
"""Of the rewriting: the same new episodes whichever side of a split they stand on."""
NEW = (*ATTACKS, *HARD_NEGATIVES)

ByName = Mapping[str, Mapping[str, Episode]]
"""By rewriting and id, the new episodes."""


@dataclass(frozen=True)
class Counts:
    """What became of a domain's episodes: rewritten, without a located injection, left alone."""

    rewritten: int
    not_located: int
    not_applicable: int


def rewritten(
    silos: Sequence[Silo], names: Sequence[str] = NEW
) -> tuple[dict[str, dict[str, Counts]], dict[str, dict[str, Episode]]]:
    """By rewriting: what became of each domain's episodes, and the new ones by id."""
    domains: dict[str, list[Episode]] = {}
    for silo in silos:
        for episode in silo.episodes():
            domains.setdefault(episode.domain, []).append(episode)
    counts: dict[str, dict[str, Counts]] = {name: {} for name in names}
    new: dict[str, dict[str, Episode]] = {name: {} for name in names}
    for domain, episodes in sorted(domains.items()):
        located = domain in INJECTED or not set(INJECTED) & set(domains)
        injections = locate(episodes) if located else {}
        for name in names:
            if name in ATTACKS and not located:
                continue
            done: Rewritten = rewrite(name, episodes, injections, SEED)
            counts[name][domain] = Counts(len(done.episodes), done.not_located, done.not_applicable)
            new[name] |= {episode.id: episode for episode in done.episodes.values()}
    return counts, new


def texts_of(
    new: ByName, tested: Iterable[Sequence[Silo]], graphs: Iterable[GraphSettings]
) -> Iterator[str]:
    """Texts of the new episodes that are tested, rewriting by rewriting; some come repeatedly.

    Args:
        new: The new episodes.
        tested: Silos whose test episodes are scored.
        graphs: What is made of them.
    """
    ids = {episode.id for silos in tested for episode in episodes_of(silos, "test")}
    settings = tuple(graphs)
    for by_id in new.values():
        for episode in (one for name, one in by_id.items() if name in ids):
            yield from episode.texts
            for one in settings:
                yield from beside_messages(episode, one)
