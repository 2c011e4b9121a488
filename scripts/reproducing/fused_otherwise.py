"""A trained guard of preset `recommended`, fused otherwise than its run did."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch

from fglguard.bundle import load_bundle
from fglguard.corpora.splits import SPLITS
from fglguard.detector import Detector
from fglguard.flow_detector import FlowDetector
from fglguard.fusion import branch_sums, fuse_branches
from fglguard.packed_graphs import PackedGraphs
from fglguard.silo import Silo
from fglguard.training import score_graphs
from scripts.reproducing.scores import Scores, episode_rows, unscored

VALIDATION = SPLITS.index("val")
Fusion = Callable[[Detector, Sequence[Silo], Sequence[PackedGraphs]], None]
"""Sets a detector's branch moments; it may ask sites for sums over validation, as a run does."""


def without_provenance(detector: Detector, _: Sequence[Silo], __: Sequence[PackedGraphs]) -> None:
    """The trained branch alone: the other one counts divided by infinity."""
    assert isinstance(detector, FlowDetector)
    mean, deviation = detector.moments.detach().clone()
    deviation[1] = math.inf
    detector.fuse(mean, deviation)


def without_normalisation(
    detector: Detector, _: Sequence[Silo], __: Sequence[PackedGraphs]
) -> None:
    """Branches summed as they are: m = 0 and s = 1."""
    detector.fuse(torch.zeros(detector.branches), torch.ones(detector.branches))


def fused_anew(detector: Detector, silos: Sequence[Silo], packed: Sequence[PackedGraphs]) -> None:
    """The moments that a run finds, on these graphs."""
    sides = [np.flatnonzero(silo.split == VALIDATION).astype(np.int64) for silo in silos]
    fuse_branches(
        detector,
        [branch_sums(detector, own, rows) for own, rows in zip(packed, sides, strict=True)],
    )


FUSIONS: Mapping[str, Fusion] = MappingProxyType(
    {
        "no provenance term": without_provenance,
        "no normalisation of the fusion": without_normalisation,
    }
)
"""By name, what is left out of the fusion, which comes after training."""


def scores_fused_by(folder: Path, silos: Sequence[Silo], fusion: Fusion) -> Scores:
    """Scores of the validation and test episodes by a run's guard, fused otherwise.

    Args:
        folder: The run's.
        silos: With the run's sides.
        fusion: How.

    Raises:
        FglguardError: The guard or a silo can't be read.
    """
    bundle = load_bundle(folder / "guard")
    packed = [silo.graphs(bundle.encoder_fingerprint, bundle.graph) for silo in silos]
    fusion(bundle.detector, silos, packed)
    rows = episode_rows(silos)
    found = [
        score_graphs(bundle.detector, own, chosen) for own, chosen in zip(packed, rows, strict=True)
    ]
    return replace(
        unscored(silos, rows),
        raw=np.concatenate([one.raw for one in found]),
        corroborated=np.concatenate([one.corroborated for one in found]),
    )
