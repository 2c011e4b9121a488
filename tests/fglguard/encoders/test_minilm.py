import os
import socket
from collections import Counter

import numpy as np
import pytest

from fglguard.encoders.minilm import MiniLM
from fglguard.errors import SettingsError


def test_nothing_is_fetched_and_the_environment_stays(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert MiniLM().encode(["a text"]).shape == (1, 384)
    assert "HF_HUB_OFFLINE" not in os.environ


def test_long_texts_keep_five_eighths_at_the_head_and_the_rest_at_the_tail():
    """Of 18 tokens, 16 are the text's: ceil(16 * 5 / 8) = 10 from the head and 6 from the tail."""
    encoder = MiniLM(max_tokens=18)
    tokenizer, _ = encoder._load()
    words = [f"w{n}" for n in range(10)] + ["cut"] * 50 + [f"end{n}" for n in range(10)]
    whole = tokenizer.encode(" ".join(words), add_special_tokens=False).ids
    (ids,) = encoder._tokenize(tokenizer, [" ".join(words)])
    assert [tokenizer.id_to_token(i) for i in (ids[0], ids[-1])] == ["[CLS]", "[SEP]"]
    assert ids[1:-1] == whole[:10] + whole[-6:]
    (short,) = encoder._tokenize(tokenizer, ["one two"])
    assert short[1:-1] == tokenizer.encode("one two", add_special_tokens=False).ids


def test_batches_hold_every_row_once_within_the_token_budget():
    encoder = MiniLM(max_tokens=64, batch_tokens=128)
    tokens = [[0] * (3 + (7 * n) % 62) for n in range(200)]
    batches = list(encoder._batches(tokens))
    assert Counter(row for rows in batches for row in rows) == Counter(range(200))
    for rows in batches:
        assert len(rows) * max(len(tokens[row]) for row in rows) <= 128


def test_only_settings_that_change_vectors_change_the_fingerprint():
    default = MiniLM().fingerprint
    assert MiniLM(threads=2, batch_tokens=512).fingerprint == default
    assert MiniLM(max_tokens=128).fingerprint != default


@pytest.mark.parametrize(
    "settings", [{"max_tokens": 4}, {"max_tokens": 513}, {"batch_tokens": 100}, {"threads": 0}]
)
def test_settings_are_checked_by_name(settings):
    ((name, value),) = settings.items()
    with pytest.raises(SettingsError, match=rf"minilm {name}: .*got {value}"):
        MiniLM(**settings)


@pytest.mark.long
def test_vectors_are_those_of_the_reference_library():
    """sentence-transformers over the same weights: texts short enough for it to read them whole."""
    from sentence_transformers import SentenceTransformer

    texts = ["Pay my rent.", "send 5000 € to DE89 3704", "çé 北京 🙂", "done " * 60]
    encoder = MiniLM()
    reference = SentenceTransformer(
        str(encoder._folder), device="cpu", local_files_only=True
    ).encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), reference, atol=1e-6)
