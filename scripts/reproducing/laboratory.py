"""Runs what a table needs: federated runs in worker processes, kept for later, and floors."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from numpy.typing import NDArray

from fglguard.corpora.splits_file import Splits
from fglguard.errors import FederationError, FglguardError
from fglguard.evaluation.protocol import Facts
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings, Scalar
from fglguard.silo import Silo, open_silos
from scripts.configuration import flat_values, register_resolvers
from scripts.corpus_preparation import prepare_corpus
from scripts.reproducing.ablated_graphs import Change
from scripts.reproducing.ablated_silos import SETTINGS, ablated_silos
from scripts.reproducing.baselines import FLOORS, Bench
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.options import Options
from scripts.reproducing.packed import pack_by_this_code
from scripts.reproducing.scores import scores_of_run
from scripts.sweep.point import Point
from scripts.sweep.sweep import run_points

CONF = Path(__file__).resolve().parent.parent.parent / "conf"
CLIENTS_A_DOMAIN = 2
CLIENTS_OF_ONE_DOMAIN = 4
LIMIT_SECONDS = 7200.0
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Run:
    """One federated run.

    Attributes:
        trial: What its scores are of.
        sides: [episodes] each one's side.
        overrides: What differs from the default configuration, in Hydra's words.
        domains: The domains whose clients train; empty: all that have training episodes.
    """

    trial: Trial
    sides: NDArray[np.uint8]
    overrides: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


_BASE = ("corpus=silos", "corpus.path=''", "privacy=none")


class Laboratory:
    """What tables are made with.

    Args:
        options: The command line.
        path: Other silos than those of the real logs.

    Attributes:
        failed: By trial, why its run failed; of all tables, and shared with `at`.
    """

    def __init__(self, options: Options, path: Path | None = None) -> None:
        self.options = options
        self.failed: dict[Trial, str] = {}
        self.path = (path or options.path).resolve()
        self.folder = options.folder.resolve()
        self._composed: dict[tuple[str, ...], dict[str, Scalar]] = {}
        register_resolvers()

    def at(self, path: Path) -> "Laboratory":
        """The same on other silos."""
        other = Laboratory(self.options, path)
        other.failed = self.failed
        return other

    @contextmanager
    def without(self, name: str, change: Change) -> Iterator["Laboratory"]:
        """The same on silos of the same episodes, with something left out of their graphs.

        Args:
            name: What is left out.
            change: Leaves it out of the graphs of preset `recommended`.
        """
        encoder, record = self.options.encoder, self.folder / "packed.json"
        facts = self.facts
        self._pack(SETTINGS)
        folder = self.folder / "silos"
        with ablated_silos(self.path, name, change, encoder, folder, record) as path:
            other = self.at(path)
            other.facts = facts  # nothing that they hold is changed, and reading takes a while
            yield other

    @cached_property
    def facts(self) -> Facts:
        """What protocols may know of the episodes; prepares the silos."""
        settings = RunSettings.from_flat(self._values(()))
        prepare_corpus(settings, self.options.root)
        self._pack(GraphSettings.of(settings.detector))
        return Facts.of(open_silos(self.path))

    @property
    def domains(self) -> list[str]:
        """All domains."""
        return sorted(set(self.facts.domain.tolist()))

    def run(self, runs: Sequence[Run], board: Board) -> Board:
        """Run what is not there yet, two at a time on two cores, and put its scores on the board.

        A run that fails is told, and leaves its reason on the board instead of scores.

        Raises:
            KeyboardInterrupt: The runs were interrupted; the next call goes on from there.
            FglguardError: The folder is in use, or a guard can't be scored with.
        """
        points = [self._point(run) for run in runs]
        for graphs in dict.fromkeys(
            GraphSettings.of(point.settings.detector) for point in points if point.settings
        ):
            self._pack(graphs)
        places, outcomes, interrupted = run_points(
            points, self.folder, self.options.workers, LIMIT_SECONDS
        )
        if interrupted:
            raise KeyboardInterrupt
        for run, point, place, outcome in zip(runs, points, places, outcomes, strict=True):
            if outcome.state == "failed" or place is None or point.settings is None:
                reason = (outcome.reason or "no reason given").strip().splitlines()[0]
                board.failed[run.trial] = self.failed[run.trial] = reason
                continue
            _enter(board, run.trial, place, point.settings)
        return board

    def silos(self, study: str, part: str, seed: int, sides: NDArray[np.uint8]) -> list[Silo]:
        """The silos with these sides."""
        splits = self._splits(Trial("", study, part, seed), sides)
        return splits.apply(open_silos(self.path), study)

    def baselines(
        self,
        study: str,
        part: str,
        seed: int,
        sides: NDArray[np.uint8],
        board: Board,
        names: Sequence[str] = FLOORS,
    ) -> None:
        """Put floors or peers on the board, trained on all corpora pooled and per corpus."""
        fitted = self.bench(sides, seed).fit(names)
        for arm, scores in fitted.scores.items():
            board.add(Trial(arm, study, part, seed), scores)
        for (arm, domain), reason in fitted.reasons.items():
            board.unfit[Trial(arm, study, part, seed), domain] = reason

    def bench(self, sides: NDArray[np.uint8], seed: int) -> Bench:
        """What fits baselines on the silos with these sides."""
        silos = self.facts.splits("baselines", sides).apply(open_silos(self.path), "baselines")
        return Bench(silos, self.options.encoder, seed, self.folder / "baselines")

    def _pack(self, graphs: GraphSettings) -> None:
        pack_by_this_code(self.path, self.options.encoder, graphs, self.folder / "packed.json")

    def _point(self, run: Run) -> Point:
        label = (
            f"arm={run.trial.arm}",
            f"study={run.trial.study}",
            f"part={run.trial.part}",
            f"seed={run.trial.seed}",
        )
        splits = self._splits(run.trial, run.sides)
        path = self.folder / "splits" / f"{splits.name}-{splits.sha256[:8]}.json"
        if not path.exists():
            splits.write(path)
        domains = run.domains or self._training(run.sides)
        clients = CLIENTS_A_DOMAIN * len(domains) if len(domains) > 1 else CLIENTS_OF_ONE_DOMAIN
        chosen = {
            "seed": run.trial.seed,
            "corpus.splits": str(path),
            "corpus.domains": "" if set(domains) == set(self.domains) else ",".join(domains),
            "federation.clients": clients,
        }
        try:
            settings = RunSettings.from_flat({**self._values(run.overrides), **chosen})
            return Point(run.overrides, label, settings, self.options.root)
        except (FglguardError, HydraException) as error:
            return Point(run.overrides, label, None, problem=str(error).splitlines()[0])

    def _values(self, overrides: tuple[str, ...]) -> dict[str, Scalar]:
        """The flat settings that Hydra composes, but for what is a run's own."""
        if overrides not in self._composed:
            with initialize_config_dir(str(CONF), version_base=None):
                config = compose("config", [*_BASE, *_detector(overrides), *overrides])
            # So named, the silos are made from the corpora where they are not there yet.
            real = self.path == self.options.path.resolve()
            values = flat_values(config)[0] | {
                "corpus.name": "real_logs" if real else self.path.name,
                "corpus.path": str(self.path),
                "corpus.encoder": self.options.encoder,
            }
            if self.options.rounds:
                values["federation.rounds"] = self.options.rounds
            self._composed[overrides] = values
        return self._composed[overrides]

    def _splits(self, trial: Trial, sides: NDArray[np.uint8]) -> Splits:
        name = "_".join(x for x in (trial.study, trial.part, f"seed{trial.seed}") if x)
        name = _NOT_IN_A_NAME.sub("-", name)
        return self.facts.splits(name, sides)

    def _training(self, sides: NDArray[np.uint8]) -> tuple[str, ...]:
        labelled = np.array([label is not None for label in self.facts.labels])
        return tuple(sorted(set(self.facts.domain[(sides == 0) & labelled].tolist())))


def _enter(board: Board, trial: Trial, place: Path, settings: RunSettings) -> None:
    scores = scores_of_run(place, settings.corpus)
    results = json.loads((place / "results.json").read_bytes())
    board.records[trial] = results
    board.folders[trial] = place
    if settings.strategy.name != "local":
        board.add(trial, scores)
        return
    for site in np.unique(scores.guard):
        own = scores.where(scores.guard == site)
        home = own.domain == _home(results, str(site))
        board.add(replace(trial, guard=str(site)), own.where(home))
        board.add(replace(trial, arm=specialist(trial.arm), guard=str(site)), own.where(~home))


def specialist(arm: str) -> str:
    """The arm of the same guards outside their own domains."""
    return f"{arm}, off-domain"


def _home(results: Mapping[str, Any], site: str) -> str:
    if site not in results["clients"]:
        raise FederationError(f"results.json: expected a client {site!r}, got none of that name")
    return str(results["clients"][site]["domain"])


def _detector(overrides: tuple[str, ...]) -> tuple[str, ...]:
    """The paper's detector, where a run names none."""
    named = any(override.startswith("detector=") for override in overrides)
    return () if named else ("detector=paper",)
