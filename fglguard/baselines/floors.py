"""Text floors: what word counts and a linear classifier reach without any graph.

They need all training text in one place, which a federation does not have. A guard that does not
beat them is not worth its trouble. Features come from messages alone: never from ids, domain,
attributes or task.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from fglguard.episode import Episode
from fglguard.episode_rules import AGENT_KINDS, MESSAGE_KINDS, AgentKind

log = logging.getLogger(__name__)

MESSAGE_CHARACTERS = 1_200
"""Of each message, the first so many count."""
EPISODE_CHARACTERS = 20_000
BUCKETS = 2**12
SPEAKERS: tuple[frozenset[AgentKind], ...] = (
    frozenset({"user"}),
    frozenset({"agent"}),
    frozenset({"tool", "environment"}),
)

Floor = Callable[[Sequence[Episode], NDArray[np.bool_], Sequence[Episode], int], Any]


def floors(
    train: Sequence[Episode], test: Sequence[Episode], seed: int
) -> dict[str, NDArray[np.float64] | None]:
    """Fit each floor on `train` and score `test`; higher is more suspect.

    All are logistic regressions with balanced class weights:

    - `counts`: numbers of messages, rounds, agents and characters, standardised;
    - `tfidf`: TF-IDF of the words (sublinear tf, at least 2 episodes, 20 000 words), C = 3;
    - `hashed_words`: words hashed into 2^12 signed buckets for each of user, agent, and tool or
      environment; sign(c) log(1 + |c|), each to unit length, C = 3.

    Args:
        train: Unlabelled episodes are left out.
        test: Labels are not looked at.
        seed: Of the solver.

    Returns:
        By name, decision values [len(test)], or None where the floor can't be fitted; the log says
        why (`why_unfit`).
    """
    labelled = [episode for episode in train if episode.unsafe is not None]
    unsafe = np.array([episode.unsafe for episode in labelled], dtype=np.bool_)
    unfit = why_unfit(train)
    if unfit:
        log.warning("text floors: %s", unfit)
        return dict.fromkeys(_FLOORS)
    if not test:
        return {name: np.zeros(0) for name in _FLOORS}
    return {name: floor(labelled, unsafe, test, seed) for name, floor in _FLOORS.items()}


def why_unfit(train: Sequence[Episode]) -> str | None:
    """Why no floor can be fitted on these episodes; None if one can."""
    labels = {episode.unsafe for episode in train if episode.unsafe is not None}
    if len(labels) == 2:
        return None
    found = "no labelled" if not labels else "only unsafe" if labels.pop() else "only safe"
    return f"expected safe and unsafe training episodes, got {found} ones"


def _counts(
    train: Sequence[Episode], unsafe: NDArray[np.bool_], test: Sequence[Episode], seed: int
) -> NDArray[np.float64]:
    model = make_pipeline(StandardScaler(), _regression(1.0, seed))
    return _scores(model, _count_features(train), unsafe, _count_features(test))


def _tfidf(
    train: Sequence[Episode], unsafe: NDArray[np.bool_], test: Sequence[Episode], seed: int
) -> NDArray[np.float64] | None:
    vectorizer = TfidfVectorizer(max_features=20_000, sublinear_tf=True, min_df=2)
    texts = [_text(episode, frozenset(AGENT_KINDS)) for episode in train]
    analyze = vectorizer.build_analyzer()
    seen: set[str] = set()
    if not any(_repeats(set(analyze(text)), seen) for text in texts):
        log.warning("text floors: tfidf: no word occurs in two training episodes")
        return None
    model = make_pipeline(vectorizer, _regression(3.0, seed))
    return _scores(model, texts, unsafe, [_text(e, frozenset(AGENT_KINDS)) for e in test])


def _hashed_words(
    train: Sequence[Episode], unsafe: NDArray[np.bool_], test: Sequence[Episode], seed: int
) -> NDArray[np.float64]:
    model = _regression(3.0, seed)
    return _scores(model, _hashed_features(train), unsafe, _hashed_features(test))


_FLOORS: dict[str, Floor] = {
    "counts": _counts,
    "tfidf": _tfidf,
    "hashed_words": _hashed_words,
}


def _regression(strength: float, seed: int) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=1000, class_weight="balanced", random_state=seed)


def _scores(
    model: LogisticRegression | Pipeline, train: Any, unsafe: NDArray[np.bool_], test: Any
) -> NDArray[np.float64]:
    return np.asarray(model.fit(train, unsafe).decision_function(test), dtype=np.float64)


def _count_features(episodes: Sequence[Episode]) -> NDArray[np.float64]:
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


def _hashed_features(episodes: Sequence[Episode]) -> csr_matrix:
    vectorizer = HashingVectorizer(n_features=BUCKETS, norm=None, alternate_sign=True)
    blocks = []
    for speakers in SPEAKERS:
        counts = vectorizer.transform([_text(episode, speakers) for episode in episodes])
        counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
        blocks.append(normalize(counts))
    return hstack(blocks, format="csr")


def _text(episode: Episode, speakers: frozenset[AgentKind]) -> str:
    kinds = episode.kinds
    parts = [
        message.text[:MESSAGE_CHARACTERS]
        for message in episode.messages
        if kinds[message.sender] in speakers
    ]
    return " ".join(parts)[:EPISODE_CHARACTERS]


def _repeats(words: set[str], seen: set[str]) -> bool:
    if not words.isdisjoint(seen):
        return True
    seen |= words
    return False
