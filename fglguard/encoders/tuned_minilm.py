"""MiniLM whose last layers train: token ids to vectors through which gradients flow."""

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fglguard.encoders.adapters import adapt
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
        rank: Of the adapters that train in the layers' place (`adapt`); embeddings have none and
            stay as they are. 0: the layers themselves train.
        seed: Of the adapters.

    Raises:
        SettingsError: Another number of layers.
        EncoderError: The packages of the `encoder` extra are missing, or those of `lora`.
    """

    def __init__(self, layers: int, rank: int = 0, seed: int = 0) -> None:
        super().__init__()
        if not 0 <= layers <= LAYERS:
            raise SettingsError(f"encoder_layers: expected 0 to {LAYERS}, got {layers}")
        self._first = LAYERS - layers if layers else 0
        packaged = _packaged()
        self.embeddings = None if layers or rank else _own(packaged.embeddings)
        self.layer = _own(packaged.encoder.layer[self._first :])
        if rank:
            adapt(self.layer, rank, seed)

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
            hidden = _first_layers(ids, attended, self._first)
        else:
            hidden = self.embeddings(input_ids=ids)
        for layer in self.layer:
            hidden = layer(hidden, attended)
        return nn.functional.normalize((hidden * seen.unsqueeze(2)).sum(1), dim=1)


@lru_cache(maxsize=1)
def _packaged() -> Any:
    """The whole model as it is packaged, once a process."""
    return load_model().requires_grad_(False)


def _own(part: Any) -> Any:
    """A copy that trains."""
    return copy.deepcopy(part).requires_grad_(True)


def _first_layers(ids: Tensor, attended: Tensor, layers: int) -> Tensor:
    packaged = _packaged()
    with torch.no_grad():
        hidden: Tensor = packaged.embeddings(input_ids=ids)
        for layer in packaged.encoder.layer[:layers]:
            hidden = layer(hidden, attended)
    return hidden


def _chunks(texts: list[Tensor]) -> Iterator[list[int]]:
    """Rows of similar length, within the token budget once padded; longest first."""
    rows: list[int] = []
    for row in sorted(range(len(texts)), key=lambda row: (-len(texts[row]), row)):
        if rows and (len(rows) + 1) * len(texts[rows[0]]) > BATCH_TOKENS:
            yield rows
            rows = []
        rows.append(row)
    yield rows
