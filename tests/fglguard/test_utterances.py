import numpy as np
import pytest

from fglguard.encoder import load_encoder, tokenizer_of
from fglguard.episode import Message
from fglguard.errors import EncoderError, SettingsError
from fglguard.graph import GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import collate, concatenate, pack
from fglguard.silo import Silo
from fglguard.utterances import collate_utterances, concatenate_utterances, node_utterances
from tests.conftest import build_episode


def letters(texts):
    """A token a letter."""
    return [np.array([ord(letter) for letter in text], np.uint16) for text in texts]


WINDOW = (
    Message(0, "a", ("b",), "x"),
    Message(1, "a", ("b",), "yy"),
    Message(1, "a", ("b",), "x"),
    Message(2, "c", ("a",), "zzz"),
)
INDEX = {"a": 0, "b": 1, "c": 2}


def test_weights_are_of_rounds_and_then_of_a_rounds_messages() -> None:
    """a speaks in two rounds, twice in the second: 1/2, 1/4, 1/4; b is silent; c says all once."""
    said = node_utterances(WINDOW, INDEX, letters)
    assert said.offsets.tolist() == [0, 3, 3, 4]
    assert said.weights.tolist() == [0.5, 0.25, 0.25, 1.0]
    assert said.token_offsets.tolist() == [0, 1, 3, 4, 7]
    assert "".join(map(chr, said.tokens)) == "xyyxzzz"


def test_the_last_messages_of_a_node_are_kept() -> None:
    """Of a's three, the last two are of one round: 1/2 each."""
    said = node_utterances(WINDOW, INDEX, letters, most=2)
    assert said.offsets.tolist() == [0, 2, 2, 3]
    assert said.weights.tolist() == [0.5, 0.5, 1.0]


def test_a_batch_holds_each_distinct_text_once() -> None:
    said = node_utterances(WINDOW, INDEX, letters)
    batch = collate_utterances(concatenate_utterances([said, said.select(np.array([2, 0]))]))
    assert batch.nodes == 5
    assert batch.node.tolist() == [0, 0, 0, 2, 3, 4, 4, 4]
    assert batch.text.tolist() == [0, 1, 0, 2, 2, 0, 1, 0]
    assert [len(text) for text in batch.texts] == [1, 2, 3]


def test_the_weighted_texts_are_the_node_features() -> None:
    """x of the graph, from vectors a text, against the sum of weights times the same vectors."""
    episodes = [build_episode(number, "a", number % 2 == 0) for number in range(6)]
    rng, vectors = np.random.default_rng(0), {}

    def encode(texts):
        for text in texts:
            if text not in vectors:
                vectors[text] = rng.normal(size=3).astype(np.float32)
        return np.stack([vectors[text] for text in texts])

    settings = GraphSettings(rounds=2, tokens=64)
    graphs = [episode_graph(e, encode(e.texts), settings, tokenize=letters) for e in episodes]
    packed = concatenate([pack(graphs[:2]), pack(graphs[2:])])
    batch = collate(packed, [4, 0, 3])
    by_text = ["".join(map(chr, ids.tolist())) for ids in batch.utterances.texts]
    x = np.zeros(batch.x.shape)
    for node, text, weight in zip(
        batch.utterances.node, batch.utterances.text, batch.utterances.weight, strict=True
    ):
        x[node] += float(weight) * vectors[by_text[text]]
    assert x == pytest.approx(batch.x.numpy(), abs=1e-6)


def test_graphs_with_and_without_tokens_are_not_packed_together() -> None:
    episode = build_episode(0, "a", True)
    vectors = np.zeros((4, 3), np.float32)
    plain = episode_graph(episode, vectors, GraphSettings())
    told = episode_graph(episode, vectors, GraphSettings(tokens=8), tokenize=letters)
    with pytest.raises(ValueError, match="token ids in all or in none, got them in 1 of 2"):
        pack([plain, told])
    with pytest.raises(ValueError, match="need a tokenizer"):
        episode_graph(episode, vectors, GraphSettings(tokens=8))


def test_tokens_change_the_fingerprint_and_are_bounded() -> None:
    prints = {GraphSettings(tokens=tokens).fingerprint("a-1") for tokens in (0, 8, 64)}
    assert len(prints) == 3
    for tokens in (7, 257, True):
        with pytest.raises(SettingsError, match="graph tokens: expected 0 or a whole number from"):
            GraphSettings(tokens=tokens)


class LetterEncoder:
    """Zeros for vectors, letters for tokens."""

    name, dimension, fingerprint = "letters", 3, "letters-1"

    def encode(self, texts, *, progress=False):
        return np.zeros((len(texts), 3), np.float32)

    def token_ids(self, texts, most):
        return letters([text[:most] for text in texts])


def test_a_silo_keeps_tokens_for_its_owner_alone(tmp_path) -> None:
    """What is mapped again equals what was packed; files that spell texts out have mode 0600."""
    episodes = [build_episode(number, "a", True) for number in range(5)]
    silo, settings = Silo.create(tmp_path / "s", episodes), GraphSettings(tokens=16)
    packed = silo.prepare(LetterEncoder(), settings)
    live = pack(
        [
            episode_graph(
                e,
                np.zeros((4, 3), np.float32),
                settings,
                tokenize=tokenizer_of(LetterEncoder(), 16),
            )
            for e in episodes
        ]
    )
    for name in ("offsets", "weights", "token_offsets", "tokens"):
        stored, fresh = getattr(packed.utterances, name), getattr(live.utterances, name)
        assert np.array_equal(stored, fresh), name
    modes = {
        path.stat().st_mode & 0o777 for path in (tmp_path / "s").glob("data-*/graphs/*/said_*")
    }
    assert modes == {0o600}
    silo.verify()
    assert silo.prepare(LetterEncoder(), GraphSettings()).utterances is None


def test_an_encoder_without_tokens_is_named() -> None:
    with pytest.raises(EncoderError, match="hashed-words: reads no tokens"):
        tokenizer_of(load_encoder("hashed-words"), 64)
