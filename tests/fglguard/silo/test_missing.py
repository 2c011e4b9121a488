from pathlib import Path

import numpy as np

from fglguard.graph import GraphSettings
from fglguard.silo.index import text_id
from fglguard.silo.missing import missing_rows, missing_texts, unprepared


def test_what_is_missing_comes_once_and_in_order(make_episode) -> None:
    episodes = [make_episode(n, "a", True) for n in range(4)]
    said = [text for episode in episodes for text in episode.texts]
    distinct = list(dict.fromkeys(said))
    text_ids = np.frombuffer(b"".join(map(text_id, distinct)), np.uint8).reshape(len(distinct), -1)
    rows = np.array([distinct.index(text) for text in said])
    known = {text_id(distinct[0]), text_id(distinct[2])}
    expected = [text for text in distinct if text_id(text) not in known]
    missing = missing_texts(episodes, rows, text_ids, known)
    assert list(missing.values()) == expected
    assert all(text_id(text) == key for key, text in missing.items())
    assert missing_rows(text_ids, known) == [distinct.index(text) for text in expected]


def test_no_episode_is_read_where_nothing_is_missing() -> None:
    text_ids = np.frombuffer(text_id("x"), np.uint8).reshape(1, -1)

    def unread():
        raise AssertionError("read")
        yield

    assert missing_texts(unread(), np.zeros(1, np.int64), text_ids, {text_id("x")}) == {}


def test_the_command_is_told_that_prepares_graphs() -> None:
    told = unprepared(
        Path("s"),
        "minilm-12",
        GraphSettings(rounds=0, node_feature="last", flow=True, word_bits=10),
        ["hashed-words-1"],
    )
    assert "encoders prepared: hashed-words-1" in told
    assert (
        "`fglguard corpus embed s --encoder minilm --rounds 0 --node-feature last --preset small`"
        in told
    )


def test_the_command_is_told_that_keeps_tokens() -> None:
    told = unprepared(Path("s"), "minilm-12", GraphSettings(tokens=64), [])
    assert "`fglguard corpus embed s --encoder minilm --rounds 3 --tokens 64`" in told
