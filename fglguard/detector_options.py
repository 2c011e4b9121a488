"""What a detector of a preset may do otherwise; the defaults are the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fglguard.errors import SettingsError, shown
from fglguard.graph import NODE_FEATURES, NodeFeature
from fglguard.settings import HIGHEST_RANK, DetectorSettings

EdgeFeature = Literal["receiver", "sender", "both", "message", "none"]
EDGE_FEATURES: tuple[EdgeFeature, ...] = get_args(EdgeFeature)

Readout = Literal["final", "mean", "max"]
READOUTS: tuple[Readout, ...] = get_args(Readout)

_CHOICES: dict[str, tuple[str, ...]] = {
    "edge_feature": EDGE_FEATURES,
    "node_feature": NODE_FEATURES,
    "readout": READOUTS,
}


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """Departures from a preset, saved with a guard's weights.

    Attributes:
        edge_feature: Whose rounds psi(e_ij) averages, or `message`: the messages i -> j.
        node_feature: What the node features hold; `mean_last` makes them twice the encoder's width.
        self_loops: Whether an agent attends to itself.
        residual: Whether a layer adds its input to its output.
        readout: What an episode's logit is: its final agent's, or the mean or largest of its
            agents'.
        encoder_layers: The encoder's last layers that train with the detector; 0: all, its
            embeddings included; None: it is frozen, and none of them is the detector's.
        encoder_rank: Rank of the adapters that train in these layers' place; 0: no adapters.

    Raises:
        SettingsError: A value is not one of those above.
    """

    edge_feature: EdgeFeature = "receiver"
    node_feature: NodeFeature = "mean"
    self_loops: bool = True
    residual: bool = False
    readout: Readout = "final"
    encoder_layers: int | None = None
    encoder_rank: int = 0

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise SettingsError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        for name in ("self_loops", "residual"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise SettingsError(f"{name}: expected true or false, got {value!r}")
        self._check_encoder()

    def _check_encoder(self) -> None:
        layers, rank = self.encoder_layers, self.encoder_rank
        if type(rank) is not int or not 0 <= rank <= HIGHEST_RANK:
            raise SettingsError(f"encoder_rank: expected 0 to {HIGHEST_RANK}, got {shown(rank)}")
        if layers is None:
            if rank:
                raise SettingsError(
                    f"encoder_rank: expected 0 with an encoder that does not train, got {rank}"
                )
            return
        if type(layers) is not int or layers < 0:
            raise SettingsError(
                f"encoder_layers: expected a whole number of at least 0, got {layers!r}"
            )
        if self.node_feature != "mean" or self.edge_feature == "message":
            raise SettingsError(
                f"encoder_layers: expected node_feature mean and an edge_feature of nodes with an "
                f"encoder that trains, got {self.node_feature} and {self.edge_feature}"
            )

    @classmethod
    def of(cls, settings: DetectorSettings) -> DetectorOptions:
        """The options among a run's settings."""
        return cls(
            settings.edge_feature,
            settings.node_feature,
            settings.self_loops,
            settings.residual,
            settings.readout,
            settings.encoder_layers if settings.encoder == "finetune" else None,
            settings.encoder_rank if settings.encoder == "finetune" else 0,
        )

    def edge_width(self, dimension: int) -> int:
        """Width of the edge features that go with node features of width `dimension`; 0: none.

        Raises:
            SettingsError: Node features of that width can't be two utterance vectors.
        """
        if self.node_feature == "mean_last" and dimension % 2:
            raise SettingsError(
                f"dimension: expected an even number with node_feature mean_last, got {dimension}"
            )
        if self.edge_feature != "message":
            return 0
        return dimension // 2 if self.node_feature == "mean_last" else dimension


PAPER = DetectorOptions()
"""The paper's detector: nothing departs from it."""
