"""Scores of a run's validation and test episodes, kept in its folder so that tables need no rerun.

They are computed from the saved guard, not taken from the run's replies: so a domain that no
client held can be scored too, and every row has its episode's id.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fglguard.bundle import load_bundle
from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.episode import Episode
from fglguard.errors import FederationError
from fglguard.files import write_atomically
from fglguard.settings import CorpusSettings
from fglguard.silo import Silo
from fglguard.training import score_graphs

FILE = "scores.npz"
SCORED = ("val", "test")


@dataclass(frozen=True)
class Scores:
    """One row an episode.

    Attributes:
        id: The episode's id.
        side: val or test.
        domain: Its domain.
        label: 1 unsafe, 0 safe, -1 unknown.
        group: Task group, distinct over all silos.
        clean: 1 attack known to be absent, 0 known to be present, -1 unknown.
        raw: The final agent's score.
        corroborated: Its corroborated score.
        guard: Site whose own guard scored it; empty for the one guard of all.
    """

    id: NDArray[np.str_]
    side: NDArray[np.str_]
    domain: NDArray[np.str_]
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    clean: NDArray[np.int64]
    raw: NDArray[np.float64]
    corroborated: NDArray[np.float64]
    guard: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.id)

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        return replace(self, **{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    def write(self, path: Path) -> None:
        """Write the columns as a NumPy archive that only its owner can read."""
        buffer = io.BytesIO()
        np.savez(buffer, **{f.name: getattr(self, f.name) for f in fields(self)})
        with write_atomically(path, mode=0o600) as file:
            file.write(buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote.

        Raises:
            FederationError: The file is damaged or lacks a column.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                return cls(**{f.name: archive[f.name] for f in fields(cls)})
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise FederationError(
                f"{path}: expected scores of episodes, got damage ({error}); remove it"
            ) from error


def episode_rows(silos: Sequence[Silo], sides: Sequence[str] = SCORED) -> list[NDArray[np.int64]]:
    """Of each silo, the labelled or unlabelled episodes on these sides, ascending."""
    codes = [SPLITS.index(side) for side in sides]
    return [np.flatnonzero(np.isin(silo.split, codes)).astype(np.int64) for silo in silos]


def unscored(silos: Sequence[Silo], rows: Sequence[NDArray[np.int64]]) -> Scores:
    """The rows' columns, with scores of NaN."""
    parts: dict[str, list[NDArray[Any]]] = {f.name: [] for f in fields(Scores)}
    offset = 0
    for silo, own in zip(silos, rows, strict=True):
        parts["id"].append(np.array(silo.ids, dtype=np.str_)[own])
        parts["side"].append(np.array([*SPLITS], dtype=np.str_)[silo.split[own]])
        parts["domain"].append(np.array(silo.domains, dtype=np.str_)[silo.domain[own]])
        parts["label"].append(np.asarray(silo.label[own], dtype=np.int64))
        parts["group"].append(np.asarray(silo.group[own], dtype=np.int64) + offset)
        parts["clean"].append(np.asarray(silo.clean[own], dtype=np.int64))
        parts["raw"].append(np.full(len(own), np.nan))
        parts["corroborated"].append(np.full(len(own), np.nan))
        parts["guard"].append(np.full(len(own), "", dtype=np.str_))
        offset += int(np.max(silo.group, initial=-1)) + 1
    return Scores(**{name: np.concatenate(columns) for name, columns in parts.items()})


def scores_of_run(folder: Path, corpus: CorpusSettings) -> Scores:
    """The scores that a completed run's guards give, from its folder or computed and kept there.

    Every domain's validation and test episodes are scored, whichever the run trained on; each
    guard of the local arm scores all of them.

    Raises:
        FederationError: The folder holds no guard.
        FglguardError: A guard or a silo can't be read.
    """
    path = folder / FILE
    if path.exists():
        return Scores.read(path)
    silos = open_corpus(replace(corpus, domains=""))
    rows = episode_rows(silos)
    guards = {"": folder / "guard"} if (folder / "guard").is_dir() else _guards(folder)
    if not guards:
        raise FederationError(f"{folder}: expected a guard or guards of its sites, found none")
    blank = unscored(silos, rows)
    parts = [_scored(blank, silos, rows, site, bundle) for site, bundle in guards.items()]
    scores = Scores(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Scores)}
    )
    scores.write(path)
    return scores


def _guards(folder: Path) -> dict[str, Path]:
    found = sorted((folder / "guards").glob("*")) if (folder / "guards").is_dir() else []
    return {path.name: path for path in found}


def _scored(
    blank: Scores,
    silos: Sequence[Silo],
    rows: Sequence[NDArray[np.int64]],
    site: str,
    path: Path,
) -> Scores:
    bundle = load_bundle(path)
    found = [
        score_graphs(bundle.detector, silo.graphs(bundle.encoder_fingerprint, bundle.graph), own)
        for silo, own in zip(silos, rows, strict=True)
    ]
    return replace(
        blank,
        raw=np.concatenate([one.raw for one in found]),
        corroborated=np.concatenate([one.corroborated for one in found]),
        guard=np.full(len(blank), site),
    )


def episodes_of(silos: Sequence[Silo], side: str) -> list[Episode]:
    """The episodes of a side, in the order of the rows of `episode_rows`."""
    code = SPLITS.index(side)
    return [
        episode for silo in silos for episode in silo.episodes(np.flatnonzero(silo.split == code))
    ]
