"""The floor of weighted words, whoever said them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from fglguard.baselines.logistic import decisions, logistic_regression
from fglguard.baselines.text_floor import TextScorer
from fglguard.baselines.words import spoken_text
from fglguard.episode import Episode
from fglguard.episode_rules import AGENT_KINDS
from fglguard.errors import BaselineError


def fit_tfidf(train: Sequence[Episode], unsafe: NDArray[np.bool_], seed: int) -> TextScorer:
    """Logistic regression (C = 3) on the TF-IDF of an episode's words.

    Sublinear tf; words of at least 2 episodes, at most 20 000 of them.

    Raises:
        BaselineError: No word occurs in two training episodes.
    """
    vectorizer = TfidfVectorizer(max_features=20_000, sublinear_tf=True, min_df=2)
    texts = _texts(train)
    analyze = vectorizer.build_analyzer()
    seen: set[str] = set()
    if not any(_repeats(set(analyze(text)), seen) for text in texts):
        raise BaselineError("no word occurs in two training episodes")
    model = make_pipeline(vectorizer, logistic_regression(3.0, seed)).fit(texts, unsafe)
    return lambda episodes: decisions(model, _texts, episodes)


def _texts(episodes: Sequence[Episode]) -> list[str]:
    return [spoken_text(episode, frozenset(AGENT_KINDS)) for episode in episodes]


def _repeats(words: set[str], seen: set[str]) -> bool:
    if not words.isdisjoint(seen):
        return True
    seen |= words
    return False
