"""Candidate episodes that an attacker holds, and what each alone would have made a client send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fglguard.detector import Detector
from fglguard.losses import Labels, detection_loss
from fglguard.packed_graphs import PackedGraphs, collate
from fglguard.training import TrainingSettings, train_locally
from privacy.attacks.defence import Defence
from privacy.attacks.masked_rows import MaskedRows, mask_rows
from privacy.attacks.observation import Observation

Scores = dict[str, NDArray[np.float64]]
"""Of each variant of an attack, a score for each candidate; the largest is the likeliest."""

LABELS = (0, 1)


@dataclass(frozen=True)
class CandidateUpdates:
    """What a client with one candidate alone would have sent, under either label.

    Attributes:
        kind: `gradient`, or `replay` of local training.
        by_name: Of each parameter [2 C, size], rows 2 c and 2 c + 1 being candidate c's as safe and
            as unsafe.
    """

    kind: str
    by_name: Mapping[str, Tensor]
    _masked: dict[Defence | None, dict[str, MaskedRows]] = field(
        default_factory=dict, init=False, repr=False
    )

    def masked(self, seen: Observation) -> dict[str, MaskedRows]:
        """What the mask of an observation makes of them; remembered."""
        if seen.defence not in self._masked:
            self._masked[seen.defence] = mask_rows(seen.model, self.by_name, seen.defence)
        return self._masked[seen.defence]

    @cached_property
    def grams(self) -> dict[str, Tensor]:
        """Inner products of all rows of a parameter, [2 C, 2 C] float64."""
        return {name: (rows @ rows.t()).double() for name, rows in self.by_name.items()}

    @cached_property
    def signs(self) -> dict[str, Tensor]:
        """Signs of all numbers."""
        return {name: rows.sign() for name, rows in self.by_name.items()}

    @cached_property
    def sign_lengths(self) -> dict[str, Tensor]:
        """Length of each row of signs, [2 C] float64."""
        return {name: rows.count_nonzero(1).double().sqrt() for name, rows in self.by_name.items()}


@dataclass(frozen=True)
class EpisodeBank:
    """An attacker's candidates.

    Attributes:
        graphs: Theirs, C; no attack looks at their labels.
        updates: What each alone would have caused, in one way or several.
    """

    graphs: PackedGraphs
    updates: tuple[CandidateUpdates, ...]


class EpisodeAttack(Protocol):
    """Ranks candidate episodes in several ways at once, for what they cost lies in common."""

    def __call__(self, seen: Observation, bank: EpisodeBank) -> Scores:
        """Scores of each variant; none where the export has nothing that it looks at."""
        ...


def candidate_gradients(
    detector: Detector, graphs: PackedGraphs, labels: Labels
) -> CandidateUpdates:
    """Each candidate's gradient of the detection loss at the detector's weights.

    Args:
        detector: Holds the global weights; what is frozen has no gradient and is left out.
        graphs: The candidates.
        labels: Whom the run's loss counts.
    """
    trained = {name: p for name, p in detector.named_parameters() if p.requires_grad}

    def gradient(candidate: int, label: int) -> dict[str, Tensor]:
        batch = collate(graphs, [candidate])
        batch.label = torch.full_like(batch.label, label)
        loss, _ = detection_loss(detector, detector.hidden(batch), batch, labels)
        found = torch.autograd.grad(loss, list(trained.values()))
        return dict(zip(trained, found, strict=True))

    return _updates("gradient", len(graphs), gradient)


def candidate_replays(
    detector: Detector, graphs: PackedGraphs, training: TrainingSettings
) -> CandidateUpdates:
    """Each candidate's sent weights - trained weights after the run's local training.

    An attacker knows the run's settings, and with one graph the training has no other secret than
    the episode and its label. What decay alone does is taken off, as it is from the export.

    Args:
        detector: Holds the global weights, and does again on return.
        graphs: The candidates.
        training: The run's, with `steps` as the client took.
    """
    start = {name: p.detach().clone() for name, p in detector.named_parameters()}
    idle = idle_change(detector, graphs, training)

    def replay(candidate: int, label: int) -> dict[str, Tensor]:
        labelled = replace(graphs, label=np.full(len(graphs), label, dtype=np.int8))
        train_locally(detector, labelled, np.array([candidate]), training, seed=(0,))
        return take_change(detector, start, idle)

    return _updates("replay", len(graphs), replay)


def idle_change(
    detector: Detector, graphs: PackedGraphs, training: TrainingSettings
) -> dict[str, Tensor]:
    """Sent weights - trained weights where every gradient is zero: what decay alone does.

    It depends on no data, so that an attacker computes it and takes it off bit for bit; without
    that, decay would hide which rows of hashed text a site has touched.

    Args:
        detector: Holds the global weights, and does again on return.
        graphs: Any; one of them is looked at and forgotten.
        training: The run's, with `steps` as the client took.
    """
    start = {name: p.detach().clone() for name, p in detector.named_parameters()}
    one = replace(graphs.select([0]), label=np.zeros(1, dtype=np.int8))
    train_locally(
        detector,
        one,
        None,
        training,
        seed=(0,),
        mask=lambda gradients: tuple(torch.zeros_like(g) for g in gradients),
    )
    return take_change(detector, start, {})


def take_change(
    detector: Detector, start: Mapping[str, Tensor], idle: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Sent - trained weights of what trains, less what decay does; the detector goes back."""
    changes = {}
    with torch.no_grad():
        for name, parameter in detector.named_parameters():
            if parameter.requires_grad:
                change = start[name] - parameter
                changes[name] = change - idle[name] if name in idle else change
            parameter.copy_(start[name])
    return changes


def _updates(
    kind: str, candidates: int, update: Callable[[int, int], Mapping[str, Tensor]]
) -> CandidateUpdates:
    rows: dict[str, Tensor] = {}
    for candidate in range(candidates):
        for label in LABELS:
            for name, values in update(candidate, label).items():
                if name not in rows:
                    rows[name] = torch.zeros(len(LABELS) * candidates, values.numel())
                rows[name][len(LABELS) * candidate + label] = values.detach().reshape(-1)
    return CandidateUpdates(kind, rows)
