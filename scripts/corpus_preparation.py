"""Make the silos a simulation asks for, once: import or replay, embed, pack."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from fglguard.corpora import corpus
from fglguard.corpora.replay import generate
from fglguard.encoder import Encoder, load_encoder
from fglguard.episode import Episode, Problem
from fglguard.errors import SettingsError, SiloError
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo, open_silos
from fglguard.silo.manifest import MANIFEST

REAL_LOGS = {
    "agentdojo": "agentdojo",
    "agent_safetybench": "agent_safetybench",
    "openagentsafety": "openagentsafety",
    "rjudge": "rjudge",
}
"""Folder under `corpus.root`, and its format."""

LOCK_SECONDS = 3600.0
"""How long to wait while another process prepares the same corpus."""

console = Console(stderr=True)


def prepare_corpus(settings: RunSettings, root: Path | None) -> None:
    """Leave silos at `corpus.path` that are embedded and packed for this run.

    A path that holds no silo yet is filled: `replay` runs AgentDojo offline, `real_logs` imports
    what stands under `root`. What is there already is used as it is, and where nothing is to be
    made, nothing is written: neither a folder nor a lock.

    Raises:
        SettingsError: There is no silo and the corpus is not one that can be made.
        SiloError: Another process has been preparing it for too long, or a silo is damaged.
    """
    path = Path(settings.corpus.path)
    if not _holds_silos(path):
        _require_makeable(settings.corpus.name, path, root)
    encoder = load_encoder(settings.corpus.encoder, threads=os.cpu_count() or 1)
    graph_settings = GraphSettings.of(settings.detector)
    if _is_prepared(path, encoder, graph_settings):
        return
    with _alone_at(path):
        if not _holds_silos(path):
            _make(settings.corpus.name, path, root)
        for silo in open_silos(path):
            silo.prepare(encoder, graph_settings, progress=True)


def _holds_silos(path: Path) -> bool:
    """Whether any silo is there; what a killed import leaves behind is none."""
    return any((folder / MANIFEST).exists() for folder in (path, *path.glob("*")))


def _is_prepared(path: Path, encoder: Encoder, graph_settings: GraphSettings) -> bool:
    try:
        for silo in open_silos(path):
            silo.graphs(encoder.fingerprint, graph_settings)
    except SiloError:
        # Not there, not prepared, or damaged, which preparing it tells.
        return False
    return True


@contextmanager
def _alone_at(path: Path) -> Iterator[None]:
    if path.exists() and not os.access(path.parent, os.W_OK):
        # Nothing can be made there; a silo that is prepared can still be used.
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise SiloError(
            f"corpus.path: another process has been preparing {path} for {LOCK_SECONDS:g} s"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _require_makeable(name: str, path: Path, root: Path | None) -> None:
    """Raise unless a corpus of that name can be made at `path`, before anything is written."""
    if name == "replay":
        return
    if name != "real_logs":
        raise SettingsError(
            f"corpus.path: there is no silo at {path}; make one with fglguard corpus import"
        )
    missing = [folder for folder in REAL_LOGS if root is None or not (root / folder).is_dir()]
    if missing:
        found = "none was given" if root is None else f"in {root} there is no {', '.join(missing)}"
        raise SettingsError(
            f"corpus.root: expected a folder that holds the folders {', '.join(REAL_LOGS)}, each "
            f"in its publisher's format; {found}"
        )


def _make(name: str, path: Path, root: Path | None) -> None:
    if name == "replay":
        console.print("replaying AgentDojo offline (once; kept for later runs)")
        Silo.create(path, generate(progress=True), name="agentdojo-replay")
    elif root is not None:
        _import_all(path, root)


def _import_all(path: Path, root: Path) -> None:
    # Beside the path first: a path that exists holds every silo.
    unfinished = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for folder, format_name in REAL_LOGS.items():
        problems: list[Problem] = []
        episodes: list[Episode] = list(corpus(format_name).read(root / folder, problems=problems))
        Silo.create(unfinished / folder, episodes, name=folder)
        console.print(f"{folder}: {len(episodes)} episodes, {len(problems)} records skipped")
    unfinished.rename(path)
