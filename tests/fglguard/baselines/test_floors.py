"""Floors find what is planted, and see nothing but messages."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from fglguard.baselines.floors import floors
from fglguard.baselines.requirements import why_unfit
from fglguard.episode import Agent, Episode, Message
from fglguard.evaluation.metrics import auroc

AGENTS = (Agent("u", "user"), Agent("a", "agent"), Agent("t", "tool"))
WORDS = [f"word{i}" for i in range(40)]
NAMES = {"counts", "tfidf", "hashed_words"}


def episode(seed: int, unsafe: bool | None, *, word: str = "", speaker: str = "t", rounds=3):
    random = np.random.default_rng(seed)
    messages = []
    for turn in range(rounds):
        for agent in AGENTS:
            words = list(random.choice(WORDS, 6))
            if agent.id == speaker and word:
                words.append(word)
            messages.append(Message(turn, agent.id, ("a",), " ".join(words)))
    return Episode(
        id=f"e{seed}",
        domain="demo",
        task=(f"task:{seed}",),
        agents=AGENTS,
        messages=tuple(messages),
        final_agent="a",
        unsafe=unsafe,
        label_source=None if unsafe is None else "planted",
    )


def by_word(start: int, count: int) -> list[Episode]:
    return [
        episode(s, s % 2 == 0, word="obey" if s % 2 == 0 else "")
        for s in range(start, start + count)
    ]


def scored(train, test) -> dict[str, np.ndarray | None]:
    return {name: found.decision for name, found in floors(train, test, 0).items()}


def labels(episodes) -> list[int]:
    return [int(e.unsafe) for e in episodes]


def test_word_floors_find_a_planted_word_and_counts_do_not() -> None:
    train, test = by_word(0, 80), by_word(1000, 60)
    scores = scored(train, test)
    assert set(scores) == NAMES
    assert auroc(scores["tfidf"], labels(test)) > 0.95
    assert auroc(scores["hashed_words"], labels(test)) > 0.95
    # A word more a round does lengthen the tool's text a little; hide it behind equal lengths.
    even = [episode(s, s % 2 == 0, word="obey" if s % 2 == 0 else "abcd") for s in range(80)]
    held_out = [
        episode(s, s % 2 == 0, word="obey" if s % 2 == 0 else "abcd") for s in range(1000, 1200)
    ]
    plain = scored(even, held_out)
    assert 0.35 < auroc(plain["counts"], labels(held_out)) < 0.65
    assert auroc(plain["tfidf"], labels(held_out)) > 0.95


def test_counts_find_longer_episodes() -> None:
    def longer(start, count):
        return [
            episode(s, s % 2 == 0, rounds=5 if s % 2 == 0 else 3)
            for s in range(start, start + count)
        ]

    test = longer(1000, 20)
    assert auroc(scored(longer(0, 40), test)["counts"], labels(test)) == 1.0


def test_hashed_words_know_who_said_it() -> None:
    """The same word from the user is safe, from the tool unsafe: pooled TF-IDF can't tell."""

    def who(start, count):
        return [
            episode(s, s % 2 == 0, word="obey", speaker="t" if s % 2 == 0 else "u")
            for s in range(start, start + count)
        ]

    train, test = who(0, 120), who(1000, 100)
    scores = scored(train, test)
    assert auroc(scores["hashed_words"], labels(test)) > 0.95
    assert 0.3 < auroc(scores["tfidf"], labels(test)) < 0.7


def test_tfidf_equals_scikit_learn_on_the_joined_texts() -> None:
    train, test = by_word(0, 30), by_word(1000, 10)
    vectorizer = TfidfVectorizer(max_features=20_000, sublinear_tf=True, min_df=2)
    x = vectorizer.fit_transform([" ".join(e.texts) for e in train])
    model = LogisticRegression(C=3, class_weight="balanced", max_iter=1000).fit(x, labels(train))
    expected = model.decision_function(vectorizer.transform([" ".join(e.texts) for e in test]))
    np.testing.assert_allclose(scored(train, test)["tfidf"], expected, atol=1e-9)


def test_only_messages_count() -> None:
    """Ids, domain, task, attributes and the test side's labels change nothing."""
    train, test = by_word(0, 30), by_word(1000, 10)
    told = [
        replace(
            e,
            id="unsafe" + e.id if e.unsafe else e.id,
            domain=str(e.unsafe),
            task=(f"task:{e.unsafe}",),
            attributes={"attack": "direct" if e.unsafe else "none"},
        )
        for e in train
    ]
    blind = [replace(e, unsafe=None, label_source=None) for e in test]
    before, after = scored(train, test), scored(told, blind)
    for name in NAMES:
        np.testing.assert_array_equal(before[name], after[name])


def test_unlabelled_training_episodes_are_left_out() -> None:
    train, test = by_word(0, 30), by_word(1000, 10)
    more = [*train, *(episode(s, None) for s in range(500, 510))]
    before, after = scored(train, test), scored(more, test)
    for name in NAMES:
        np.testing.assert_array_equal(before[name], after[name])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([True, True], "only unsafe"),
        ([False, None], "only safe"),
        ([None], "no labelled"),
        ([], "no labelled"),
        ([True, False, True, False, True], "at least 10 labelled training episodes, got 5"),
    ],
)
def test_too_little_to_learn_from_gives_none_and_says_why(values, found) -> None:
    train = [episode(s, unsafe) for s, unsafe in enumerate(values)]
    given = floors(train, by_word(1000, 4), 0)
    assert set(given) == NAMES
    assert all(one.decision is None and found in one.reason for one in given.values())
    assert found in why_unfit(train)
    assert why_unfit(by_word(0, 10)) is None


def test_tfidf_without_a_repeated_word_is_none_and_the_others_are_not() -> None:
    def say(i, unsafe):
        e = episode(i, unsafe)
        return replace(e, messages=(Message(0, "u", ("a",), f"only{i}"),))

    given = floors([say(i, i % 2 == 0) for i in range(10)], by_word(1000, 4), 0)
    assert given["tfidf"].decision is None
    assert "no word occurs in two training episodes" in given["tfidf"].reason
    for name in ("counts", "hashed_words"):
        assert len(given[name].decision) == 4
        assert given[name].reason is None


def test_no_test_episodes_give_no_scores() -> None:
    assert {name: len(s) for name, s in scored(by_word(0, 10), []).items()} == dict.fromkeys(
        NAMES, 0
    )
