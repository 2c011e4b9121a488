"""Texts are encoded once, whatever happens between."""

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.errors import EncoderError, SiloError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo, embeddings


class Recorder:
    """Hashed words that notes each text asked for, and may give up."""

    def __init__(self, fail_after=None):
        self._words = load_encoder("hashed-words")
        self.name, self.dimension = self._words.name, self._words.dimension
        self.fingerprint = self._words.fingerprint
        self.asked: list[str] = []
        self.fail_after = fail_after

    def encode(self, texts, *, progress=False):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += texts
        return self._words.encode(texts)


@pytest.fixture
def episodes(make_episode):
    return [make_episode(n, "a", n % 4 < 2) for n in range(40)]


def texts_of(episodes):
    return {text for episode in episodes for text in episode.texts}


def test_new_texts_alone_are_encoded_when_a_silo_grows(tmp_path, episodes):
    path = tmp_path / "s"
    Silo.create(path, episodes[:10]).embed(Recorder())
    encoder = Recorder()
    grown = Silo.create(path, episodes, overwrite=True)
    packed = grown.prepare(encoder, GraphSettings())
    assert sorted(encoder.asked) == sorted(texts_of(episodes) - texts_of(episodes[:10]))
    fresh = Silo.create(tmp_path / "fresh", episodes).prepare(Recorder(), GraphSettings())
    assert np.array_equal(packed.x, fresh.x)


def test_vectors_of_texts_that_left_the_silo_leave_it_too(tmp_path, episodes):
    path = tmp_path / "s"
    Silo.create(path, episodes).embed(Recorder())
    smaller = Silo.create(path, episodes[:5], overwrite=True)
    (embedding,) = smaller._manifest.embeddings.values()
    assert len(embeddings.known_rows(path, embedding)) == len(texts_of(episodes[:5]))
    assert smaller.encoder_fingerprints() == [Recorder().fingerprint]


def test_an_interrupted_run_goes_on_from_what_it_had(tmp_path, episodes, monkeypatch):
    monkeypatch.setattr(embeddings, "COMMIT_TEXTS", 16)
    monkeypatch.setattr(embeddings, "_CALL_TEXTS", 8)
    silo = Silo.create(tmp_path / "s", episodes)
    broken = Recorder(fail_after=40)
    with pytest.raises(KeyboardInterrupt):
        silo.embed(broken)
    assert silo.encoder_fingerprints() == []
    rest = Recorder()
    Silo.open(tmp_path / "s").embed(rest)
    # Two parts of 16 were committed; the third was not full.
    assert sorted(broken.asked[:32] + rest.asked) == sorted(texts_of(episodes))
    stored = Silo.open(tmp_path / "s").prepare(Recorder(), GraphSettings())
    whole = Silo.create(tmp_path / "whole", episodes).prepare(Recorder(), GraphSettings())
    assert np.array_equal(stored.x, whole.x)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda v: v[:, 1:], "expected float32 of shape"),
        (lambda v: v.astype(np.float64), "got float64"),
        (lambda v: v * np.float32("nan"), "not finite"),
    ],
)
def test_an_encoder_that_misbehaves_is_named_and_nothing_is_kept(tmp_path, episodes, wrong, told):
    encoder = Recorder()
    right = encoder.encode
    encoder.encode = lambda texts, *, progress=False: wrong(right(texts))
    silo = Silo.create(tmp_path / "s", episodes)
    with pytest.raises(EncoderError, match=told):
        silo.embed(encoder)
    assert Silo.open(tmp_path / "s").encoder_fingerprints() == []


def test_message_vectors_are_the_encoders_own_in_the_order_said(tmp_path, episodes):
    """Against encoding each message anew; a text that recurs within an episode recurs."""
    silo = Silo.create(tmp_path / "s", episodes)
    encoder = load_encoder("hashed-words")
    silo.embed(encoder)
    wanted = np.array([7, 3, 7])
    read = list(silo.message_vectors(encoder.fingerprint, wanted))
    assert len(read) == 3
    for index, vectors in zip(wanted, read, strict=True):
        assert vectors.shape == (len(episodes[index].messages), encoder.dimension)
        np.testing.assert_array_equal(vectors, encoder.encode(episodes[index].texts))
    assert len(list(silo.message_vectors(encoder.fingerprint))) == len(episodes)


def test_message_vectors_of_an_encoder_that_never_ran_are_an_error(tmp_path, episodes):
    silo = Silo.create(tmp_path / "s", episodes)
    with pytest.raises(SiloError, match=r"no text was encoded with other-1 .*prepared: none"):
        silo.message_vectors("other-1")
    with pytest.raises(SiloError, match=r"no text was encoded with other-1 .*prepared: none"):
        silo.lookup("other-1")


def test_a_lookup_gives_the_vectors_of_texts_in_any_order(tmp_path, episodes):
    """Against encoding them anew; what was never encoded is an error."""
    silo = Silo.create(tmp_path / "s", episodes)
    encoder = load_encoder("hashed-words")
    silo.embed(encoder)
    lookup = silo.lookup(encoder.fingerprint)
    texts = [*episodes[5].texts[::-1], *episodes[2].texts]
    np.testing.assert_array_equal(lookup(texts), encoder.encode(texts))
    with pytest.raises(SiloError, match="a text is not encoded yet"):
        lookup(["never said"])
