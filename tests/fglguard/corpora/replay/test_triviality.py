"""The label must not show in what needs no understanding: words of the agent, and counts."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fglguard.episode import Episode

LIMIT = 0.68
"""What a corpus may leave to a shallow classifier whose test side has other tasks."""


def agents_words(episode: Episode) -> str:
    kinds = episode.kinds
    return " ".join(m.text for m in episode.messages if kinds[m.sender] == "agent")


def counts(episode: Episode) -> list[float]:
    calls = [len(m.text) for m in episode.messages if m.kind == "call"]
    results = [len(m.text) for m in episode.messages if m.kind == "result"]
    return [
        len(episode.messages),
        len(calls),
        len(episode.agents),
        episode.messages[-1].round,
        sum(calls),
        sum(results),
        max(calls),
        max(results),
        len(episode.messages[0].text),
        len(episode.messages[-1].text),
        sum(map(len, episode.texts)),
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neither_words_nor_counts_give_the_label_away(
    whole_corpus: Callable[[int], list[Episode]], seed: int
) -> None:
    episodes = whole_corpus(seed)
    train, test = (
        [e for e in episodes if e.attributes["split"] == side] for side in ("train", "test")
    )
    known, wanted = ([bool(e.unsafe) for e in side] for side in (train, test))

    words = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=3000))
    words.fit([agents_words(e) for e in train], known)
    said = roc_auc_score(wanted, words.decision_function([agents_words(e) for e in test]))

    sizes = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
    sizes.fit(np.array([counts(e) for e in train]), known)
    counted = roc_auc_score(wanted, sizes.decision_function(np.array([counts(e) for e in test])))

    assert said < LIMIT
    assert counted < LIMIT
