"""The floor of hashed words, kept apart by who said them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from fglguard.baselines.logistic import decisions, logistic_regression
from fglguard.baselines.text_floor import TextScorer
from fglguard.baselines.words import spoken_text
from fglguard.episode import Episode
from fglguard.episode_rules import AgentKind

BUCKETS = 2**12
SPEAKERS: tuple[frozenset[AgentKind], ...] = (
    frozenset({"user"}),
    frozenset({"agent"}),
    frozenset({"tool", "environment"}),
)


def fit_hashed_words(train: Sequence[Episode], unsafe: NDArray[np.bool_], seed: int) -> TextScorer:
    """Logistic regression (C = 3) on hashed words.

    Words fall into 2^12 signed buckets for each of user, agent, and tool or environment;
    sign(c) log(1 + |c|), each speaker's part to unit length.
    """
    model = logistic_regression(3.0, seed).fit(_features(train), unsafe)
    return lambda episodes: decisions(model, _features, episodes)


def _features(episodes: Sequence[Episode]) -> csr_matrix:
    vectorizer = HashingVectorizer(n_features=BUCKETS, norm=None, alternate_sign=True)
    blocks = []
    for speakers in SPEAKERS:
        counts = vectorizer.transform([spoken_text(episode, speakers) for episode in episodes])
        counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
        blocks.append(normalize(counts))
    return hstack(blocks, format="csr")
