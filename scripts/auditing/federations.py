"""What masks cost a detector: whole federations under each mask, on the same silos and seeds."""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from client.app import app as client_app
from fglguard.errors import FglguardError
from fglguard.settings import RunSettings, values_of
from scripts.generate_flower_config import composed
from server.inprocess import InProcessGrid
from server.local_grid import partitions
from server.run import run


@dataclasses.dataclass(frozen=True)
class Federations:
    """Runs that differ in mask and seed alone.

    Attributes:
        preset: Of the detector.
        path: Silos, prepared for the preset.
        encoder: Whose vectors their graphs hold.
        privacies: Masks.
        seeds: One run each.
        overrides: What else differs from `conf/`, in Hydra's words.
    """

    preset: str
    path: Path
    encoder: str
    privacies: Sequence[str]
    seeds: Sequence[int]
    overrides: Sequence[str] = ()


def federated_auroc(
    federations: Federations, progress: Callable[[str], None] = lambda text: None
) -> dict[str, list[float]]:
    """Mean over domains of the held-out AUROC of each run: by mask, one a seed.

    Raises:
        FglguardError: A run failed; the text names its mask and seed.
    """
    found: dict[str, list[float]] = {privacy: [] for privacy in federations.privacies}
    for seed in federations.seeds:
        for privacy in federations.privacies:
            auroc = _auroc(federations, privacy, seed)
            found[privacy].append(auroc)
            progress(f"{federations.preset}, privacy={privacy}, seed {seed}: AUROC {auroc:.3f}")
    return found


def mean_auroc(found: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Each mask's mean over its runs."""
    return {privacy: sum(values) / len(values) for privacy, values in found.items()}


def _auroc(federations: Federations, privacy: str, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        values = composed(
            "corpus=silos",
            f"corpus.path={federations.path.resolve()}",
            f"corpus.encoder={federations.encoder}",
            f"detector={federations.preset}",
            f"privacy={privacy}",
            f"seed={seed}",
            f"output={folder}/run",
            *federations.overrides,
        )
        settings = RunSettings.from_flat(values)
        grid = InProcessGrid(client_app, partitions(values), values_of(settings))
        try:
            return float(run(grid, settings)["test"]["mean_auroc_raw"])
        except FglguardError as error:
            raise type(error)(f"privacy={privacy}, seed {seed}: {error}") from error
