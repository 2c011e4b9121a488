"""Rewriting: the injection stands behind pages of plain text from elsewhere in the corpus."""

from numpy.random import Generator

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection, carried_values, replaced, spelled

LEAST_CHARACTERS = 4_000
"""Before the injection: a reader that stops earlier never meets it."""


def padded(episode: Episode, injection: Injection, random: Generator) -> Episode | None:
    """None where the corpus has no plain text without the injection's values."""
    own = [spelled(value) for value in carried_values(episode, injection)]
    plain = [text for text in injection.plain if not any(value.search(text) for value in own)]
    if not plain:
        return None
    drawn: list[str] = []
    length = 0
    while length < LEAST_CHARACTERS:
        drawn.append(plain[int(random.integers(len(plain)))])
        length += len(drawn[-1]) + 1
    return replaced(episode, injection, lambda text: " ".join([*drawn, text]))
