"""The floor that reads no word: numbers and lengths of messages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fglguard.baselines.logistic import decisions, logistic_regression
from fglguard.baselines.text_floor import TextScorer
from fglguard.episode import Episode
from fglguard.episode_rules import AGENT_KINDS, MESSAGE_KINDS


def fit_counts(train: Sequence[Episode], unsafe: NDArray[np.bool_], seed: int) -> TextScorer:
    """Logistic regression on numbers of messages, rounds, agents and characters, standardised."""
    model = make_pipeline(StandardScaler(), logistic_regression(1.0, seed))
    model.fit(_features(train), unsafe)
    return lambda episodes: decisions(model, _features, episodes)


def _features(episodes: Sequence[Episode]) -> NDArray[np.float64]:
    return np.array([_counts_of(episode) for episode in episodes], dtype=np.float64)


def _counts_of(episode: Episode) -> list[float]:
    kinds = episode.kinds
    messages = episode.messages
    lengths = np.array([len(message.text) for message in messages], dtype=np.float64)
    senders = [kinds[message.sender] for message in messages]
    sizes = [lengths.sum(), lengths.mean(), lengths.max(), lengths[-1]]
    return [
        float(len(messages)),
        float(len(episode.agents)),
        float(len({message.round for message in messages})),
        *np.log1p(sizes).tolist(),
        *(float(senders.count(kind)) for kind in AGENT_KINDS),
        *(float(sum(m.kind == kind for m in messages)) for kind in MESSAGE_KINDS),
    ]
