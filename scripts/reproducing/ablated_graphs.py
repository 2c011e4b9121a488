"""What the graphs of preset `recommended` hold, with one part of it left out.

A part that is left out is zero, so that its weights never leave zero: the detector, its training
and its fusion are the preset's, and the rest of the features stay what they were, bit for bit.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fglguard.flow import instruction
from fglguard.flow.features import POOLED
from fglguard.graph import PRESET_FEATURES, GraphSettings, graph_agents
from fglguard.graph_builder import episode_graph
from fglguard.hashed_text import BLOCKS, hashed_text
from fglguard.packed_graphs import PackedGraphs
from fglguard.silo import Silo

PRESET = "recommended"
FEATURES = PRESET_FEATURES[PRESET]
WORD_BITS: int = FEATURES["word_bits"]
LETTER_BITS: int = FEATURES["letter_bits"]
_WORDS = len(BLOCKS) << WORD_BITS
"""Columns of words, which stand before those of letter sequences."""

Columns = NDArray[np.int32]
Change = Callable[[Silo, str, PackedGraphs], PackedGraphs]
"""From a silo, an encoder's fingerprint and the preset's graphs to those with a part left out."""


def _without_flow(_: Silo, __: str, packed: PackedGraphs) -> PackedGraphs:
    return replace(packed, flow=np.zeros_like(packed.flow))


def _without_refusal(_: Silo, __: str, packed: PackedGraphs) -> PackedGraphs:
    flow = packed.flow.copy()
    flow[:, [place for place, (name, _) in enumerate(POOLED) if name == "refusal"]] = 0
    return replace(packed, flow=flow)


def _without_text(
    left_out: Callable[[Columns], NDArray[np.bool_]], _: Silo, __: str, packed: PackedGraphs
) -> PackedGraphs:
    values = np.where(left_out(packed.text_columns), 0, packed.text_values)
    return replace(packed, text_values=values.astype(np.float32))


def block_of(columns: Columns) -> NDArray[np.int32]:
    """Which of `BLOCKS` each column of hashed text belongs to."""
    letters = columns >= _WORDS
    return np.where(letters, (columns - _WORDS) >> LETTER_BITS, columns >> WORD_BITS)


def _with_buckets(bits: int, silo: Silo, _: str, packed: PackedGraphs) -> PackedGraphs:
    """Fewer buckets: bucket i of a block of 2^bits stands in the column of bucket i of 2^12."""
    whole = GraphSettings(0)
    rows = [
        hashed_text(episode, graph_agents(episode, whole), bits, bits)
        for episode in silo.episodes()
    ]
    columns = np.concatenate([row.columns for row in rows])
    counts = np.concatenate([np.diff(row.offsets) for row in rows])
    part, bucket = columns >> bits, columns & ((1 << bits) - 1)
    words = part < len(BLOCKS)
    first = np.where(words, part << WORD_BITS, _WORDS + ((part - len(BLOCKS)) << LETTER_BITS))
    return replace(
        packed,
        text_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        text_columns=(first + bucket).astype(np.int32),
        text_values=np.concatenate([row.values for row in rows]),
    )


def _without_directives(silo: Silo, fingerprint: str, packed: PackedGraphs) -> PackedGraphs:
    """Flow features anew, with directive phrases adding nothing to a span's likeness."""
    settings = GraphSettings(0, flow=True)
    lookup = silo.lookup(fingerprint)
    vectors = silo.message_vectors(fingerprint)
    with _no_lexicon():
        flow = [
            episode_graph(episode, own, settings, lookup).flow
            for episode, own in zip(silo.episodes(), vectors, strict=True)
        ]
    return replace(packed, flow=np.concatenate([one for one in flow if one is not None]))


@contextmanager
def _no_lexicon() -> Iterator[None]:
    """The detector has no setting for this, and should have none: it is no choice to offer."""
    weight = instruction.LEXICON_WEIGHT
    instruction.LEXICON_WEIGHT = 0.0
    try:
        yield
    finally:
        instruction.LEXICON_WEIGHT = weight


ABLATIONS: Mapping[str, Change] = MappingProxyType(
    {
        "no flow features": _without_flow,
        "no phrases of instruction": _without_directives,
        "no phrases of refusal": _without_refusal,
        "no text": partial(_without_text, lambda columns: columns >= 0),
        "no words": partial(_without_text, lambda columns: columns < _WORDS),
        "no letters": partial(_without_text, lambda columns: columns >= _WORDS),
        "2^10 buckets": partial(_with_buckets, 10),
        "2^8 buckets": partial(_with_buckets, 8),
        **{
            f"no text {name}": partial(_without_text, lambda c, place=place: block_of(c) == place)
            for place, name in enumerate(BLOCKS)
        },
    }
)
"""By name, what is left out; each is trained anew."""
