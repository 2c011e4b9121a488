"""Floors and peers on a protocol's sides, trained on all corpora pooled, and on each corpus alone.

Each fit's scores are kept in a file of their own, by what they follow from, and used again.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.baseline import Baseline, Outcome, run_baseline
from fglguard.baselines.baseline import Scores as BaselineScores
from fglguard.baselines.floors import TEXT_FLOORS
from fglguard.baselines.registry import BASELINES
from fglguard.baselines.samples import Samples, join, read_samples
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError
from fglguard.files import write_atomically
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.reproducing.scores import Scores, episode_rows, unscored
from scripts.sweep.code import code_digest
from scripts.sweep.digest import silo_content

FLOOR, PEER = "floor: ", "peer: "
FLOORS = (*TEXT_FLOORS, "last_message")
"""Linear classifiers that see no graph."""
PEERS = tuple(name for name in BASELINES if name not in FLOORS)
POOLED, PER_CORPUS = "pooled", "per corpus"
CODE = ("fglguard.baselines.registry",)
DIGITS = 16


def is_floor(arm: str) -> bool:
    """Whether an arm is a floor."""
    return arm.startswith(FLOOR)


def arm_of(name: str, scope: str) -> str:
    """E.g. `floor: tfidf, pooled`."""
    return f"{FLOOR if name in FLOORS else PEER}{name}, {scope}"


def baseline_of(arm: str) -> Baseline | None:
    """Whose arm it is; None for one that is no baseline's."""
    name = arm.partition(": ")[2].partition(",")[0]
    return BASELINES.get(name) if arm.startswith((FLOOR, PEER)) else None


@dataclass
class Fitted:
    """What baselines gave on one protocol's sides.

    Attributes:
        scores: By arm, scores of the test episodes; an arm that was fitted nowhere is absent. A
            classifier's are probabilities. `raw` and `corroborated` are the same.
        nodes: By arm that scores nodes, [test nodes] those; NaN where it was not fitted.
        reasons: By arm and domain, why there are none; the domain is empty where all are pooled.
    """

    scores: dict[str, Scores] = field(default_factory=dict)
    nodes: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)


class Bench:
    """Trains baselines on the train side and scores the test side.

    Args:
        silos: With the sides that count.
        encoder: Name of the encoder.
        seed: Of every fit.
        keep: Folder of the files that are kept.
    """

    def __init__(self, silos: Sequence[Silo], encoder: str, seed: int, keep: Path) -> None:
        self._silos = silos
        self._encoder = encoder
        self._fingerprint = load_encoder(encoder).fingerprint
        self._seed = seed
        self._keep = keep

    def fit(self, names: Sequence[str]) -> Fitted:
        """Fit some baselines, each pooled and a corpus at a time.

        A baseline per corpus is fitted to a domain's own training episodes and scores that domain
        alone; where it can't be fitted, it leaves that domain out.
        """
        found = Fitted()
        for name in names:
            self._fit(BASELINES[name], POOLED, found)
            self._fit(BASELINES[name], PER_CORPUS, found)
        return found

    @cached_property
    def test(self) -> Samples:
        """The test side, in the order of the scores."""
        return self._samples("test")

    def _fit(self, baseline: Baseline, scope: str, found: Fitted) -> None:
        arm = arm_of(baseline.name, scope)
        episode = np.full(len(self._blank), np.nan)
        node = np.full(int(self._nodes.sum()), np.nan)
        for domain in [""] if scope == POOLED else np.unique(self._blank.domain).tolist():
            inside = self._blank.domain == domain if domain else np.ones(len(episode), np.bool_)
            outcome = self._outcome(baseline, domain, inside)
            if outcome.scores is None:
                reason = outcome.reason or "no reason given"
                found.reasons[arm, domain] = reason.removeprefix(f"{baseline.name}: ")
                continue
            episode[inside] = _as_probability(baseline, outcome.scores.episode)
            if outcome.scores.node is not None:
                node[np.repeat(inside, self._nodes)] = outcome.scores.node
        scored = ~np.isnan(episode)
        if scored.any():
            whole = replace(self._blank, raw=episode, corroborated=episode)
            found.scores[arm] = whole.where(scored)
        if not np.isnan(node).all():
            found.nodes[arm] = node

    def _outcome(self, baseline: Baseline, domain: str, inside: NDArray[np.bool_]) -> Outcome:
        file = self._keep / f"{baseline.name}-{domain or POOLED}-{self._identity}.npz"
        if file.exists():
            return Outcome(_read(file), None)
        train = self._train
        if domain:
            train = train.select([i for i, e in enumerate(train.episodes) if e.domain == domain])
        outcome = run_baseline(
            baseline, train, self.test.select(np.flatnonzero(inside)), self._seed
        )
        if outcome.scores is not None:
            _write(file, outcome.scores)
        return outcome

    @cached_property
    def _identity(self) -> str:
        """Digits of a hash of all that scores follow from besides the baseline and the domain."""
        content = {
            "sides": [hashlib.sha256(silo.split.tobytes()).hexdigest() for silo in self._silos],
            "silos": [silo_content(silo.path, self._encoder) for silo in self._silos],
            "encoder": self._fingerprint,
            "code": code_digest(CODE),
            "seed": self._seed,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]

    @cached_property
    def _train(self) -> Samples:
        return self._samples("train")

    @cached_property
    def _blank(self) -> Scores:
        return unscored(self._silos, self._rows("test"))

    @cached_property
    def _nodes(self) -> NDArray[np.int64]:
        """[test episodes] number of nodes of each one's graph."""
        counts = [silo.nodes(self._fingerprint, GraphSettings()) for silo in self._silos]
        rows = self._rows("test")
        return np.concatenate([n[own] for n, own in zip(counts, rows, strict=True)])

    def _samples(self, side: str) -> Samples:
        return join(
            [
                read_samples(silo, rows, self._fingerprint, GraphSettings())
                for silo, rows in zip(self._silos, self._rows(side), strict=True)
            ]
        )

    def _rows(self, side: str) -> list[NDArray[np.int64]]:
        return episode_rows(self._silos, (side,))


def probabilities(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the decision values of a logistic regression stand for."""
    return 1 / (1 + np.exp(-decision))


def _as_probability(baseline: Baseline, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return probabilities(scores) if baseline.name in FLOORS else scores


def _write(file: Path, scores: BaselineScores) -> None:
    buffer = io.BytesIO()
    node = {} if scores.node is None else {"node": scores.node}
    np.savez(buffer, episode=scores.episode, **node)
    with write_atomically(file, mode=0o600) as opened:
        opened.write(buffer.getvalue())


def _read(file: Path) -> BaselineScores:
    try:
        with np.load(file, allow_pickle=False) as kept:
            return BaselineScores(kept["episode"], kept.get("node"))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise FederationError(
            f"{file}: expected scores of a baseline, got damage ({error}); remove it"
        ) from error
