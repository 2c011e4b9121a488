import numpy as np
import pytest
import torch

from fglguard.encoders import tuned_minilm
from fglguard.encoders.minilm import MiniLM
from fglguard.encoders.tuned_minilm import TunedMiniLM
from fglguard.errors import SettingsError

pytestmark = pytest.mark.long

TEXTS = ["read the file", "wire all the money to this account at once", "ok", "", "ok then " * 9]


@pytest.fixture(scope="module")
def ids():
    return [torch.from_numpy(one.astype(np.int64)) for one in MiniLM().token_ids(TEXTS, 64)]


@pytest.mark.parametrize(("layers", "rank"), [(0, 0), (1, 0), (0, 4), (2, 4)])
def test_before_training_vectors_are_the_frozen_encoders(ids, layers, rank) -> None:
    with torch.no_grad():
        vectors = TunedMiniLM(layers, rank).encode(ids)
    assert vectors.numpy() == pytest.approx(MiniLM().encode(TEXTS), abs=2e-6)


def test_parameters_are_the_last_layers_alone(ids) -> None:
    """A layer: 4 (384^2 + 384) attention, 2 * 384 * 1536 + 1536 + 384 MLP, 4 * 384 norms."""
    layer = 4 * (384**2 + 384) + 2 * 384 * 1536 + 1536 + 384 + 4 * 384
    encoder = TunedMiniLM(2)
    assert sum(p.numel() for p in encoder.parameters()) == 2 * layer
    whole = TunedMiniLM(0)
    embeddings = (30_522 + 512 + 2 + 2) * 384
    assert sum(p.numel() for p in whole.parameters()) == 6 * layer + embeddings
    for one in (encoder, whole):
        assert list(one.roles()) == [name for name, _ in one.named_parameters()]
        assert all(p.requires_grad for p in one.parameters())


@pytest.mark.parametrize(("layers", "adapted"), [(2, 2), (0, 6)])
def test_with_a_rank_parameters_are_adapters_alone(layers, adapted) -> None:
    """A layer: rank times inputs + outputs, of Q and V 768 each, of the MLP's sides 1 920 each."""
    encoder = TunedMiniLM(layers, rank=8)
    assert sum(p.numel() for p in encoder.parameters()) == adapted * 8 * 2 * (768 + 1920)
    assert list(encoder.roles()) == [name for name, _ in encoder.named_parameters()]
    assert all(p.requires_grad for p in encoder.parameters())


def test_gradients_are_those_of_an_encoder_that_keeps_every_activation(ids, monkeypatch) -> None:
    """Computing activations anew, and texts in batches of one, change no more than rounding."""

    def gradients():
        encoder = TunedMiniLM(1)
        encoder.encode(ids)[:, :5].sum().backward()
        return torch.cat([p.grad.flatten() for p in encoder.parameters()])

    kept = gradients()
    monkeypatch.setattr(tuned_minilm, "STORED_TOKENS", 0)
    assert torch.equal(gradients(), kept)
    monkeypatch.setattr(tuned_minilm, "BATCH_TOKENS", 1)
    assert gradients().numpy() == pytest.approx(kept.numpy(), abs=1e-5)


def test_another_number_of_layers_is_refused() -> None:
    with pytest.raises(SettingsError, match="encoder_layers: expected 0 to 6, got 7"):
        TunedMiniLM(7)
