"""Silos whose packed graphs have a part left out, for as long as runs need them."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.silo import Silo, open_silos
from fglguard.silo.manifest import StoredGraphs, describe, read_manifest, write_manifest
from fglguard.silo.packing import GRAPHS, save_graphs
from scripts.reproducing.ablated_graphs import FEATURES, Change
from scripts.reproducing.packed import note_packed

SETTINGS = GraphSettings(0, **FEATURES)
DIGITS = 8
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


@contextmanager
def ablated_silos(
    path: Path, name: str, change: Change, encoder: str, folder: Path, record: Path
) -> Iterator[Path]:
    """A folder of silos like those at `path`, but for their graphs; it is removed afterwards.

    Its name ends with a digest of the changed graphs: a run's folder is found again by the name of
    its corpus, and a run on other graphs must not be taken for it.

    Args:
        path: The silos, which hold the preset's graphs.
        name: What is left out.
        change: Leaves it out.
        encoder: Name of the encoder that packed them.
        folder: Where the new folder goes.
        record: File of what packed which graphs (`packed.note_packed`).

    Raises:
        SiloError: A silo can't be read, or lacks the preset's graphs.
    """
    slug = _NOT_IN_A_NAME.sub("-", name.lower())
    unfinished = folder / f".{slug}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    fingerprint = load_encoder(encoder).fingerprint
    digest = hashlib.sha256()
    for silo in open_silos(path):
        digest.update(_copy(silo, unfinished / silo.path.name, change, fingerprint).encode())
    made = folder / f"{slug}-{digest.hexdigest()[:DIGITS]}"
    shutil.rmtree(made, ignore_errors=True)
    unfinished.rename(made)
    try:
        note_packed(made, encoder, SETTINGS, record)
        yield made
    finally:
        shutil.rmtree(made)


def _copy(silo: Silo, target: Path, change: Change, encoder_fingerprint: str) -> str:
    """Copy a silo with changed graphs; returns the hashes of what they consist of."""
    packed = change(silo, encoder_fingerprint, silo.graphs(encoder_fingerprint, SETTINGS))
    # Files of a silo are replaced, never written into, so two silos can have one in common.
    shutil.copytree(silo.path, target, copy_function=_link, ignore=_locks)
    manifest = read_manifest(target)
    fingerprint = SETTINGS.fingerprint(encoder_fingerprint)
    old = manifest.graphs[fingerprint]
    place = target / manifest.data / GRAPHS / f"{fingerprint}-changed"
    files = describe(target, save_graphs(place, packed, SETTINGS))
    new = StoredGraphs(encoder_fingerprint, old.rounds, place.relative_to(target).as_posix())
    kept = {k: v for k, v in manifest.files.items() if not k.startswith(f"{old.folder}/")}
    graphs = {**manifest.graphs, fingerprint: new}
    write_manifest(target, replace(manifest, files={**kept, **files}, graphs=graphs))
    shutil.rmtree(target / old.folder)
    return "\n".join([silo.name, *(one.sha256 for _, one in sorted(files.items()))])


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def _locks(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name.endswith(".lock")}
