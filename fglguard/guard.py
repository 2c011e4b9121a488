"""The guard: episodes in, verdicts out, offline and live alike."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fglguard.bundle import Bundle, load_bundle
from fglguard.encoder import Encoder, load_encoder, tokenizer_of
from fglguard.episode import Episode
from fglguard.errors import BundleError, SettingsError
from fglguard.flow.taint import most_suspicious
from fglguard.graph import EpisodeGraph, beside_messages
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import collate, pack
from fglguard.reasons import reason
from fglguard.training import batch_scores
from fglguard.verdict import Verdict

OnError = Literal["block", "allow"]
log = logging.getLogger(__name__)


class Guard:
    """Scores whole episodes with a trained detector and decides by a calibrated threshold.

    Args:
        bundle: Detector, threshold and settings.
        encoder: The encoder that the bundle names.
        on_error: Decision on an episode that can't be scored. `allow` lets answers out unguarded.
        batch_size: Episodes scored at once.
        domain: Whose threshold decides. None, or a domain without one of its own: the pooled one.
        taints: Whether a verdict tells of tainted values. They quote the episode; a verdict without
            them holds nothing that was said in it.

    Raises:
        BundleError: The encoder is not the one that the detector was trained with.
        SettingsError: `on_error` or `batch_size` is not valid.
    """

    def __init__(
        self,
        bundle: Bundle,
        encoder: Encoder,
        *,
        on_error: OnError = "block",
        batch_size: int = 256,
        domain: str | None = None,
        taints: bool = True,
    ) -> None:
        if on_error not in get_args(OnError):
            raise SettingsError(f"on_error: expected block or allow, got {on_error!r}")
        if batch_size < 1:
            raise SettingsError(f"batch_size: expected at least 1, got {batch_size!r}")
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
        self.on_error = on_error
        self.batch_size = batch_size
        self.domain = domain
        self.taints = taints
        self.calibration, self.calibration_id = bundle.for_domain(domain)
        self._warn()

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        on_error: OnError = "block",
        batch_size: int = 256,
        domain: str | None = None,
        taints: bool = True,
    ) -> Guard:
        """Load a bundle and the encoder that it names, its model too, which may take seconds.

        Raises:
            BundleError: The bundle is incomplete or changed, or the encoder differs.
            EncoderError: The encoder's packages are not installed.
        """
        bundle = load_bundle(Path(path))
        encoder = load_encoder(bundle.encoder_name)
        # An encoder loads its model with its first text: now, not in the first episode's latency.
        encoder.encode(["load"])
        return cls(
            bundle,
            encoder,
            on_error=on_error,
            batch_size=batch_size,
            domain=domain,
            taints=taints,
        )

    @property
    def threshold(self) -> float:
        """tau: an episode whose corroborated score is at or above it is blocked."""
        return self.calibration.threshold

    def _warn(self) -> None:
        """Say what an operator would not expect of the threshold."""
        known = self.bundle.domains
        if self.domain is not None and self.domain not in known:
            log.warning(
                "the guard has no threshold of its own for domain %r (it has: %s): the pooled one "
                "decides",
                self.domain,
                ", ".join(sorted(known)) or "none",
            )
        if self.calibration.blocks_nothing:
            log.warning(
                "THIS GUARD BLOCKS NOTHING: %s",
                self.calibration.reason or "no threshold was within its budget",
            )

    def score(self, episodes: Iterable[Episode]) -> list[Verdict]:
        """One verdict for each episode, in order.

        An episode that can't be scored gets status `error` and the decision of `on_error`; it does
        not spoil the others. Errors are logged by type and episode, without texts.

        Raises:
            TypeError: Something among `episodes` is not an Episode.
        """
        verdicts: list[Verdict] = []
        remaining = iter(episodes)
        while chunk := list(islice(remaining, self.batch_size)):
            for episode in chunk:
                if not isinstance(episode, Episode):
                    raise TypeError(f"expected an Episode, got {type(episode).__name__}")
            verdicts += self._score_chunk(chunk)
        return verdicts

    def _score_chunk(self, episodes: Sequence[Episode]) -> list[Verdict]:
        start = time.perf_counter()
        try:
            return self._decide(episodes, start)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            if len(episodes) == 1:
                return [self._failure(episodes[0], error, start)]
        # One of them is at fault; alone, each gets its own verdict.
        return [verdict for episode in episodes for verdict in self._score_chunk([episode])]

    def _decide(self, episodes: Sequence[Episode], start: float) -> list[Verdict]:
        graphs = self._graphs(episodes)
        packed = pack(graphs)
        batch = collate(packed)
        scores = batch_scores(self.bundle.detector, batch)
        if not scores.nodes.isfinite().all():
            raise FloatingPointError("a score is NaN")
        nodes = scores.nodes.numpy()
        latency = (time.perf_counter() - start) * 1000
        return [
            self._verdict(
                episode,
                graph,
                nodes[first : first + len(graph.x)],
                score,
                corroborated,
                latency,
            )
            for episode, graph, first, score, corroborated in zip(
                episodes,
                graphs,
                packed.node_offsets[:-1],
                scores.raw.tolist(),
                scores.corroborated.tolist(),
                strict=True,
            )
        ]

    def _graphs(self, episodes: Sequence[Episode]) -> list[EpisodeGraph]:
        """Each distinct text is encoded once; only cut into tokens for an encoder that trained."""
        settings = self.bundle.graph
        if settings.tokens:
            tokenize = tokenizer_of(self.encoder, settings.tokens)
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

    def _verdict(
        self,
        episode: Episode,
        graph: EpisodeGraph,
        scores: NDArray[np.float64],
        score: float,
        corroborated: float,
        latency: float,
    ) -> Verdict:
        blocked = corroborated >= self.threshold
        return Verdict(
            episode_id=episode.id,
            decision="block" if blocked else "allow",
            status="success",
            score=score,
            corroborated_score=corroborated,
            threshold=self.threshold,
            reason=reason(
                graph,
                scores,
                self.bundle.detector.options.readout,
                score,
                corroborated,
                self.threshold,
            ),
            model_id=self.bundle.model_id,
            calibration_id=self.calibration_id,
            latency_ms=latency,
            agents=dict(zip(graph.agent_ids, scores.tolist(), strict=True)),
            taints=most_suspicious(graph.taints) if self.taints else (),
        )

    def _failure(self, episode: Episode, error: Exception, start: float) -> Verdict:
        kind = type(error).__name__
        log.error("episode %s can't be scored: %s; %s", episode.id, kind, self.on_error)
        return Verdict(
            episode_id=episode.id,
            decision=self.on_error,
            status="error",
            score=None,
            corroborated_score=None,
            threshold=self.threshold,
            reason=f"could not be scored ({kind}); on_error is {self.on_error}",
            model_id=self.bundle.model_id,
            calibration_id=self.calibration_id,
            latency_ms=(time.perf_counter() - start) * 1000,
        )
