"""MiniLM whose last layers train: token ids to vectors through which gradients flow."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fglguard.encoders.minilm import load_model
from fglguard.errors import SettingsError
from fglguard.transformer_roles import BERT, Role, role_in
from fglguard.utterances import UtteranceBatch

LAYERS = 6
BATCH_TOKENS = 2048
"""Tokens that go through the model at once, padding included."""
STORED_TOKENS = 24_000
"""Tokens times trained layers whose activations a step keeps, about 30 KB each; of larger batches
they are computed anew on the way back, which takes a third longer."""


class TunedMiniLM(nn.Module):
    """Sentence embeddings of all-MiniLM-L6-v2, of which the last layers are parameters.

    As published, the embeddings equal those of `fglguard.encoders.minilm.MiniLM` up to 1e-6, where
    no text is longer than the cap. Layers that do not train are no parameters: they are the
    packaged ones on every machine, held once a process, and no gradient is computed in them. There
    is no dropout, so that the same texts always give the same vectors.

    Args:
        layers: How many of the 6 train; 0: all, and the token and position embeddings too.

    Raises:
        SettingsError: Another number of layers.
        EncoderError: The packages of the `encoder` extra are missing.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        if not 0 <= layers <= LAYERS:
            raise SettingsError(f"encoder_layers: expected 0 to {LAYERS}, got {layers}")
        own = load_model()
        first = LAYERS - layers if layers else 0
        self.embeddings = None if layers else own.embeddings
        self.layer = nn.ModuleList(own.encoder.layer[first:])
        self._frozen = _Frozen(0 if not layers else first, embeds=layers > 0)

    def forward(self, utterances: UtteranceBatch) -> Tensor:
        """Features of the batch's nodes, [N, 384]: zeros for those that said nothing."""
        vectors = self.encode(utterances.texts)
        parts = vectors[utterances.text] * utterances.weight.unsqueeze(1)
        x = parts.new_zeros(utterances.nodes, vectors.shape[1])
        return x.index_add(0, utterances.node, parts)

    def encode(self, texts: list[Tensor]) -> Tensor:
        """Vectors of texts [n, 384], of unit length, from their token ids."""
        chunks = list(_chunks(texts))
        padded = sum(len(rows) * len(texts[rows[0]]) for rows in chunks)
        again = torch.is_grad_enabled() and padded * len(self.layer) > STORED_TOKENS
        vectors = []
        for rows in chunks:
            ids = nn.utils.rnn.pad_sequence([texts[row] for row in rows], batch_first=True)
            lengths = torch.tensor([len(texts[row]) for row in rows])
            seen = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
            if again:
                vectors.append(
                    checkpoint(
                        self._embed, ids, seen, use_reentrant=False, preserve_rng_state=False
                    )
                )
            else:
                vectors.append(self._embed(ids, seen))
        places = torch.tensor([row for rows in chunks for row in rows]).argsort()
        return torch.cat(vectors)[places]

    def roles(self) -> dict[str, Role]:
        """Role of each parameter, in the order of `named_parameters()`; see `BERT`."""
        found = {name: role_in(BERT, name) for name, _ in self.named_parameters()}
        return {name: role for name, role in found.items() if role is not None}

    def _embed(self, ids: Tensor, seen: Tensor) -> Tensor:
        attended = seen[:, None, None, :]
        if self.embeddings is None:
            with torch.no_grad():
                hidden = self._frozen(ids, attended)
        else:
            hidden = self.embeddings(input_ids=ids)
        for layer in self.layer:
            hidden = layer(hidden, attended)
        return nn.functional.normalize((hidden * seen.unsqueeze(2)).sum(1), dim=1)


class _Frozen:
    """The model's first layers, shared by all encoders of a process and by their copies."""

    def __init__(self, layers: int, *, embeds: bool) -> None:
        self._layers = layers
        if embeds:
            _shared_model()

    def __call__(self, ids: Tensor, attended: Tensor) -> Tensor:
        model = _shared_model()
        hidden: Tensor = model.embeddings(input_ids=ids)
        for layer in model.encoder.layer[: self._layers]:
            hidden = layer(hidden, attended)
        return hidden


@lru_cache(maxsize=1)
def _shared_model() -> Any:
    return load_model().requires_grad_(False)


def _chunks(texts: list[Tensor]) -> Iterator[list[int]]:
    """Rows of similar length, within the token budget once padded; longest first."""
    rows: list[int] = []
    for row in sorted(range(len(texts)), key=lambda row: (-len(texts[row]), row)):
        if rows and (len(rows) + 1) * len(texts[rows[0]]) > BATCH_TOKENS:
            yield rows
            rows = []
        rows.append(row)
    yield rows
