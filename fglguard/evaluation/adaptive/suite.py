"""The suite: every rewriting by name, and its application to many episodes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.declarative import declarative
from fglguard.evaluation.adaptive.delegated import delegated
from fglguard.evaluation.adaptive.encoded_values import (
    double_encoding,
    encoded_values,
    long_values,
)
from fglguard.evaluation.adaptive.flooded import flooded
from fglguard.evaluation.adaptive.foreign_language import foreign_language
from fglguard.evaluation.adaptive.hidden_markup import hidden_markup
from fglguard.evaluation.adaptive.hidden_values import look_alikes, number_words, split_values
from fglguard.evaluation.adaptive.inert_instructions import inert_instructions
from fglguard.evaluation.adaptive.injection import Injection
from fglguard.evaluation.adaptive.near_copies import near_copies
from fglguard.evaluation.adaptive.padded import padded
from fglguard.evaluation.adaptive.quoted_by_user import quoted_by_user
from fglguard.evaluation.adaptive.relayed import relayed, relayed_result
from fglguard.evaluation.adaptive.spread_payload import spread_payload

Attack = Callable[[Episode, Injection, Generator], Episode | None]
HardNegative = Callable[[Episode, Injection | None, Generator], Episode | None]

ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {
        "declarative": declarative,
        "foreign_language": foreign_language,
        "split_values": split_values,
        "encoded_values": encoded_values,
        "double_encoding": double_encoding,
        "long_values": long_values,
        "number_words": number_words,
        "look_alikes": look_alikes,
        "hidden_markup": hidden_markup,
        "padded": padded,
        "quoted_by_user": quoted_by_user,
        "near_copies": near_copies,
        "flooded": flooded,
        "spread_payload": spread_payload,
        "relayed": relayed,
    }
)
"""Of unsafe episodes whose injection is located. They give None where they do not apply."""
HARD_NEGATIVES: Mapping[str, HardNegative] = MappingProxyType(
    {
        "inert_instructions": inert_instructions,
        "delegated": delegated,
        "relayed_result": relayed_result,
    }
)
"""Of safe episodes, with or without an injection that was not obeyed."""


@dataclass(frozen=True)
class Rewritten:
    """What a rewriting made of episodes.

    Attributes:
        episodes: The new ones by the place of the old ones; id, task and label are the same.
        not_located: Unsafe episodes whose injection is not located.
        not_applicable: Episodes that the rewriting does not apply to.
    """

    episodes: dict[int, Episode]
    not_located: int
    not_applicable: int


def rewrite(
    name: str, episodes: Sequence[Episode], injections: Mapping[str, Injection], seed: int
) -> Rewritten:
    """Apply an attack to the unsafe episodes, or a hard negative to the safe ones.

    Args:
        name: Of `ATTACKS` or `HARD_NEGATIVES`.
        episodes: Unlabelled ones are passed over.
        injections: By id, as `locate` gives them.
        seed: With the name and an episode's id it decides on all that is drawn.

    Raises:
        ValueError: There is no such rewriting.
    """
    if name not in ATTACKS and name not in HARD_NEGATIVES:
        known = ", ".join((*ATTACKS, *HARD_NEGATIVES))
        raise ValueError(f"rewriting: expected one of {known}, got {name!r}")
    found: dict[int, Episode] = {}
    not_located = not_applicable = 0
    for place, episode in enumerate(episodes):
        if episode.unsafe is not (name in ATTACKS):
            continue
        injection = injections.get(episode.id)
        random = _random(name, episode.id, seed)
        if name in HARD_NEGATIVES:
            new = HARD_NEGATIVES[name](episode, injection, random)
        elif injection is None:
            not_located += 1
            continue
        else:
            new = ATTACKS[name](episode, injection, random)
        if new is None:
            not_applicable += 1
        else:
            found[place] = new
    return Rewritten(found, not_located, not_applicable)


def _random(name: str, episode: str, seed: int) -> Generator:
    digest = hashlib.sha256(f"{name}\0{episode}".encode()).digest()
    words = np.frombuffer(digest[:16], dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))
