"""Scores of episodes by a bundle's detector, whole ones at once or graphs as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fglguard.bundle import Bundle
from fglguard.corroboration import corroborate
from fglguard.encoder import Encoder, tokenizer_of
from fglguard.episode import Episode
from fglguard.errors import BundleError
from fglguard.graph import EpisodeGraph, beside_messages
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import collate, pack
from fglguard.readout import read_out_array
from fglguard.training import batch_scores
from fglguard.utterances import Tokenize


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A graph and its scores.

    Attributes:
        graph: The graph.
        nodes: [n] each agent's raw score.
        score: The episode's own.
        corroborated: The score that decides.
    """

    graph: EpisodeGraph
    nodes: NDArray[np.float64]
    score: float
    corroborated: float


class Scorer:
    """A detector and the encoder that it was trained with.

    Args:
        bundle: Its detector scores.
        encoder: The encoder that the bundle names.

    Raises:
        BundleError: The encoder is not the one that the detector was trained with.
    """

    def __init__(self, bundle: Bundle, encoder: Encoder) -> None:
        if encoder.fingerprint != bundle.encoder_fingerprint:
            raise BundleError(
                f"encoder {encoder.name}: the guard was trained with "
                f"{bundle.encoder_fingerprint}, got {encoder.fingerprint}"
            )
        width = bundle.graph.node_width(encoder.dimension)
        if width != bundle.detector.dimension:
            raise BundleError(
                f"encoder {encoder.name}: the guard expects node features of width "
                f"{bundle.detector.dimension}, got {width} from vectors of width "
                f"{encoder.dimension}"
            )
        self.bundle = bundle
        self.encoder = encoder

    @property
    def tokenize(self) -> Tokenize | None:
        """Cuts texts into tokens, for an encoder that trained; None for others."""
        tokens = self.bundle.graph.tokens
        return tokenizer_of(self.encoder, tokens) if tokens else None

    def graphs(self, episodes: Sequence[Episode]) -> list[EpisodeGraph]:
        """Each distinct text is encoded once; only cut into tokens for an encoder that trained."""
        settings = self.bundle.graph
        if tokenize := self.tokenize:
            width = self.encoder.dimension
            return [
                episode_graph(
                    episode,
                    np.zeros((len(episode.messages), width), np.float32),
                    settings,
                    tokenize=tokenize,
                )
                for episode in episodes
            ]
        rows: dict[str, int] = {}
        for episode in episodes:
            for text in (*episode.texts, *beside_messages(episode, settings)):
                rows.setdefault(text, len(rows))
        vectors = self.encoder.encode(list(rows))

        def lookup(texts: Sequence[str]) -> NDArray[np.float32]:
            found: NDArray[np.float32] = vectors[[rows[text] for text in texts]]
            return found

        return [
            episode_graph(episode, lookup(episode.texts), settings, lookup) for episode in episodes
        ]

    def scored(self, graphs: Sequence[EpisodeGraph]) -> list[Scored]:
        """The graphs' scores, in order.

        Raises:
            FloatingPointError: A score is NaN.
        """
        packed = pack(graphs)
        scores = batch_scores(self.bundle.detector, collate(packed))
        if not scores.nodes.isfinite().all():
            raise FloatingPointError("a score is NaN")
        nodes = np.split(scores.nodes.numpy(), packed.node_offsets[1:-1])
        return [
            Scored(*one)
            for one in zip(
                graphs, nodes, scores.raw.tolist(), scores.corroborated.tolist(), strict=True
            )
        ]

    def scored_one(self, graph: EpisodeGraph) -> Scored:
        """The scores of one graph: those of `scored` to 1e-5, sooner where the detector can.

        Raises:
            FloatingPointError: A score is NaN.
        """
        detector = self.bundle.detector
        logits = detector.array_logits(graph)
        if logits is None:
            return self.scored([graph])[0]
        nodes = expit(logits)
        if not np.isfinite(nodes).all():
            raise FloatingPointError("a score is NaN")
        read = float(expit(read_out_array(logits, graph, detector.options.readout)))
        raised = float(corroborate(nodes, graph.src, graph.dst)[graph.final])
        return Scored(graph, nodes, read, max(raised, read))
