"""Text floors: linear classifiers on counts and words, for comparison with a guard.

Trained on pooled text, which a federation does not have. Only messages and agents' kinds are read,
never ids, domains or attributes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from fglguard.episode import Episode

HEAD_CHARACTERS = 1500
EPISODE_CHARACTERS = 20_000
HASHED_WORDS = 2**12
ROLES = (("user",), ("agent",), ("tool", "environment"))

Floor = Callable[[Sequence[Episode], Sequence[Episode], NDArray[np.int64], int], NDArray[Any]]


def floors(
    train: Sequence[Episode], test: Sequence[Episode], seed: int
) -> dict[str, NDArray[np.float64] | None]:
    """Scores of each floor on `test`, [n], higher more suspect, after training on `train`.

    - `counts`: how many messages, calls, results, agents and rounds, and how long the texts are;
      logistic regression.
    - `tfidf`: TF-IDF (20 000 terms, sublinear, in two episodes at least), logistic regression.
    - `hashed_words`: words hashed to 2^12 a role (user, agent, tool), log(1 + count), unit length;
      logistic regression.

    A floor is None where the training episodes hold one class or no text.

    Args:
        train: Labelled episodes.
        test: Episodes to score; their labels are not looked at.
        seed: Of the solvers.
    """
    labels = np.array([episode.unsafe for episode in train], dtype=np.int64)
    kinds: dict[str, Floor] = {"counts": _counts, "tfidf": _tfidf, "hashed_words": _hashed_words}
    if len(set(labels.tolist())) < 2 or not test:
        return dict.fromkeys(kinds)
    return {name: floor(train, test, labels, seed) for name, floor in kinds.items()}


def _counts(
    train: Sequence[Episode], test: Sequence[Episode], labels: NDArray[np.int64], seed: int
) -> NDArray[Any]:
    scaler = StandardScaler().fit(_count_features(train))
    model = LogisticRegression(C=1.0, max_iter=1000, class_weight="balanced", random_state=seed)
    model.fit(scaler.transform(_count_features(train)), labels)
    return np.asarray(model.decision_function(scaler.transform(_count_features(test))))


def _count_features(episodes: Sequence[Episode]) -> NDArray[np.float64]:
    rows = []
    for episode in episodes:
        kinds = [message.kind for message in episode.messages]
        lengths = [len(message.text) for message in episode.messages]
        rows.append(
            [
                len(kinds),
                kinds.count("call"),
                kinds.count("result"),
                len(episode.agents),
                episode.messages[-1].round,
                *np.log1p([sum(lengths), max(lengths), lengths[0], lengths[-1]]),
            ]
        )
    return np.array(rows, dtype=np.float64)


def _tfidf(
    train: Sequence[Episode], test: Sequence[Episode], labels: NDArray[np.int64], seed: int
) -> NDArray[Any]:
    words = TfidfVectorizer(
        max_features=20_000, sublinear_tf=True, min_df=2 if len(train) > 2 else 1
    )
    features = words.fit_transform([_text(episode) for episode in train])
    model = LogisticRegression(C=3.0, max_iter=500, class_weight="balanced", random_state=seed)
    model.fit(features, labels)
    return np.asarray(model.decision_function(words.transform([_text(e) for e in test])))


def _text(episode: Episode) -> str:
    kinds = episode.kinds
    parts = (f"{kinds[m.sender]} {m.text[:HEAD_CHARACTERS]}" for m in episode.messages)
    return " ".join(parts)[:EPISODE_CHARACTERS]


def _hashed_words(
    train: Sequence[Episode], test: Sequence[Episode], labels: NDArray[np.int64], seed: int
) -> NDArray[Any]:
    model = LogisticRegression(C=3.0, max_iter=500, class_weight="balanced", random_state=seed)
    model.fit(_hashed(train), labels)
    return np.asarray(model.decision_function(_hashed(test)))


def _hashed(episodes: Sequence[Episode]) -> Any:
    hashing = HashingVectorizer(n_features=HASHED_WORDS, norm=None)
    blocks = []
    for role in ROLES:
        counts = hashing.transform([_spoken(episode, role) for episode in episodes])
        counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
        blocks.append(normalize(counts))
    return sparse.hstack(blocks).tocsr()


def _spoken(episode: Episode, role: tuple[str, ...]) -> str:
    kinds = episode.kinds
    return " ".join(m.text[:HEAD_CHARACTERS] for m in episode.messages if kinds[m.sender] in role)
