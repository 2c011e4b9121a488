"""How much a span sounds like an instruction."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.flow.phrases import DIRECTIVE, IMPERATIVE, INSTRUCTIONS, PLAIN

LEXICON_WEIGHT = 0.25
"""What one directive phrase adds; three count at most."""
MOST_PHRASES = 3
PLAIN_WEIGHT = 0.5
NEIGHBOUR_WEIGHT = 0.8


def instruction_likeness(
    spans: Sequence[str],
    vectors: NDArray[np.float32],
    instructions: NDArray[np.float32],
    plain: NDArray[np.float32],
) -> NDArray[np.float32]:
    """I(span) of the spans of one text, [n].

        I_0 = clip(max cos(span, instructions) - 0.5 clip(max cos(span, plain), 0, 1), 0, 1)
              + 0.25 min(3, directive phrases + [starts with an imperative verb])
        I = max(I_0, 0.8 I_0 of the span before, 0.8 I_0 of the span after)

    An instruction runs over several sentences, of which not each sounds like one.

    Args:
        spans: In the text's order.
        vectors: [n, d], their embeddings, of unit length.
        instructions: [i, d], embeddings of `phrases.INSTRUCTIONS`.
        plain: [p, d], embeddings of `phrases.PLAIN`.
    """
    if not spans:
        return np.zeros(0, dtype=np.float32)
    directed = (vectors @ instructions.T).max(axis=1)
    ordinary = (vectors @ plain.T).max(axis=1).clip(0, 1)
    phrases = np.array([_phrases(span) for span in spans], dtype=np.float32)
    own = (directed - PLAIN_WEIGHT * ordinary).clip(0, 1) + LEXICON_WEIGHT * phrases
    likeness = own.copy()
    np.maximum(likeness[1:], NEIGHBOUR_WEIGHT * own[:-1], out=likeness[1:])
    np.maximum(likeness[:-1], NEIGHBOUR_WEIGHT * own[1:], out=likeness[:-1])
    return np.asarray(likeness, dtype=np.float32)


def prototypes() -> tuple[str, ...]:
    """The texts to embed: instructions, then plain ones."""
    return INSTRUCTIONS + PLAIN


def _phrases(span: str) -> int:
    return min(MOST_PHRASES, DIRECTIVE.count(span) + IMPERATIVE.occur(span))
