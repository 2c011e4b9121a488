"""Locates the injections of a corpus' episodes."""

from collections.abc import Sequence

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection
from fglguard.evaluation.adaptive.repeated_prose import by_repetition
from fglguard.evaluation.adaptive.shared_blocks import by_injection_task


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
        found |= by_injection_task(own) if told else by_repetition(own)
    return found
