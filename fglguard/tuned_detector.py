"""A detector that trains together with the last layers of the utterance encoder."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from torch import Tensor

from fglguard.detector import Detector
from fglguard.encoders.tuned_minilm import TunedMiniLM

if TYPE_CHECKING:
    from fglguard.packed_graphs import GraphBatch


class TunedDetector(Detector):
    r"""A detector on node features that an encoder with trained layers computes from tokens.

        s = base(x),   x_i = mean over rounds of phi_theta(u_i^t)

    with phi_theta the encoder. Both are parameters of one model: one update, one checkpoint, one
    bundle, and masks that treat every layer by its role.

    Args:
        base: What scores nodes by their features; it becomes part of this.
        layers: The encoder's last layers that train; 0: all, its embeddings included.
        rank: Of the adapters that train in the layers' place; 0: the layers themselves train.
        seed: Of the adapters.

    Raises:
        SettingsError: The encoder has fewer layers.
        EncoderError: The packages of the `encoder` extra are missing, or those of `lora`.
    """

    reads_tokens = True

    def __init__(self, base: Detector, layers: int, rank: int = 0, seed: int = 0) -> None:
        super().__init__()
        self.encoder = TunedMiniLM(layers, rank, seed)
        self.base = base
        self.preset = base.preset
        self.dimension = base.dimension
        self.options = replace(base.options, encoder_layers=layers, encoder_rank=rank)

    def hidden(self, batch: "GraphBatch") -> Tensor:
        """The base detector's representations, of features computed anew from what was said.

        Raises:
            ValueError: The batch's graphs carry no token ids.
        """
        if batch.utterances is None:
            raise ValueError("batch: expected graphs with token ids, got none")
        return self.base.hidden(replace(batch, x=self.encoder(batch.utterances)))

    def head(self, hidden: Tensor) -> Tensor:
        """The base detector's logits."""
        return self.base.head(hidden)

    def training_logits(self, hidden: Tensor) -> Tensor:
        """The base detector's logits for training."""
        return self.base.training_logits(hidden)

    def roles(self) -> dict[str, StrEnum]:
        """Roles of the encoder's parameters (`fglguard.transformer_roles`) and of the base's."""
        roles: dict[str, StrEnum] = {}
        for prefix, part in (("encoder", self.encoder), ("base", self.base)):
            roles |= {f"{prefix}.{name}": role for name, role in part.roles().items()}
        return roles
