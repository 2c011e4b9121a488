"""What one client exports of a batch of episodes, T times under a mask, and noise of that size."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fglguard.detector import Detector
from fglguard.losses import balanced_class_weights, detection_loss
from fglguard.packed_graphs import PackedGraphs, collate
from fglguard.parameters import layout
from fglguard.settings import PrivacySettings
from fglguard.training import TrainingSettings, train_locally
from privacy.attacks.episode_bank import idle_change, take_change
from privacy.attacks.observation import Export, Observation
from privacy.noise import SeededNoise
from privacy.plans import Operation, operation_of, plan_of
from privacy.roles import parts_of
from privacy.update_mask import FlatVector, UpdateMask

Mode = Literal["fedsgd", "fedprox"]


@dataclass(frozen=True)
class MaskedClient:
    """One client with one batch, ready to export it any number of times.

    Attributes:
        detector: Holds the global weights; what the mask freezes is frozen.
        plain: What it would send unmasked, by name: gradients, or sent - trained weights. An
            attacker never sees it.
        idle: The part of it that decay alone makes.
        expected: What the mask makes of `idle`, noise aside: attackers take it off.
        mask: Masks it, with noise that goes on from export to export.
    """

    detector: Detector
    plain: Export
    idle: Export
    expected: Export
    mask: UpdateMask

    @property
    def informative(self) -> dict[str, Tensor]:
        """What it would send unmasked, less what decay alone does."""
        return {name: _less(values, self.idle.get(name)) for name, values in self.plain.items()}

    def export(self) -> tuple[dict[str, Tensor], dict[str, float]]:
        """One export, and the size of the noise on each masked parameter.

        Raises:
            PrivacyError: The mask refuses to let it go.
        """
        vector = _flat(self.detector, self.plain)
        hidden = self.mask.change(vector)
        exported = {
            place.name: _less(
                torch.from_numpy(hidden[place.span].reshape(place.shape).copy()),
                self.expected.get(place.name),
            )
            for place in layout(self.detector)
            if place.name in self.plain
        }
        return exported, dict(self.mask.sigma)

    def observe(self, exports: Sequence[int]) -> Iterator[tuple[int, Observation]]:
        """After each number T of exports, ascending, the view of an attacker who averaged them."""
        sums: dict[str, Tensor] = {}
        for count in range(1, max(exports) + 1):
            exported, sigma = self.export()
            for name, values in exported.items():
                sums[name] = values.double() + sums[name] if name in sums else values.double()
            if count in exports:
                averaged = {name: (total / count).float() for name, total in sums.items()}
                size = {name: value / count**0.5 for name, value in sigma.items()}
                yield count, Observation(self.detector, (averaged,), size)


def masked_client(
    detector: Detector,
    batch: PackedGraphs,
    mode: Mode,
    training: TrainingSettings,
    privacy: PrivacySettings,
    seed: tuple[int, ...],
) -> MaskedClient:
    """A client that took one step (`fedsgd`) or trained locally (`fedprox`) on its batch.

    Args:
        detector: Holds the global weights; a copy of it trains.
        batch: The client's graphs, labelled.
        mode: What it exports.
        training: The run's.
        privacy: The mask; its mode counts as `delta`, and too few graphs don't stop it.
        seed: Of shuffles and noise.

    Raises:
        PrivacyError: The mask leaves nothing to train.
    """
    own = copy.deepcopy(detector)
    mask = UpdateMask(own, privacy, SeededNoise(seed))
    plain: Export
    idle: Export
    if mode == "fedsgd":
        plain, idle = _gradient(own, batch, training), {}
    else:
        start = {name: p.detach().clone() for name, p in own.named_parameters()}
        idle = idle_change(own, batch, steps_of(training, len(batch)))
        train_locally(own, batch, None, training, seed)
        plain = take_change(own, start, {})
    expected = _masked_idle(own, plain, idle, privacy)
    return MaskedClient(own, plain, idle, expected, mask)


def steps_of(training: TrainingSettings, graphs: int) -> TrainingSettings:
    """The same training with the steps that so many graphs take, whatever it is given."""
    return TrainingSettings(**{**vars(training), "steps": training.steps_over(graphs)})


def noise_alone(client: MaskedClient, seen: Observation, seed: int) -> Observation:
    """Pure noise of the sizes that an observation holds: no attack can know anything from it.

    A parameter that is exported unmasked has noise of the export's own root mean square.
    """
    generator = torch.Generator().manual_seed(seed)
    (export,) = seen.exports
    noise = {}
    for name, values in export.items():
        size = seen.sigma.get(name, float(values.square().mean().sqrt()))
        noise[name] = torch.randn(values.shape, generator=generator) * size
    return Observation(client.detector, (noise,), seen.sigma)


def _masked_idle(
    detector: Detector, plain: Export, idle: Export, privacy: PrivacySettings
) -> dict[str, Tensor]:
    """What a mask makes of decay alone, noise aside: rows that it uniformises come out clipped.

    Their bound, the median length of all rows that are not zero, is given to the attacker, who
    could estimate it: most of those rows are decay's.
    """
    plan = plan_of(privacy.name)
    expected = dict(idle)
    for part in parts_of(detector):
        if part.name in idle and operation_of(part, plan) is Operation.UNIFORMISE:
            lengths = torch.linalg.vector_norm(plain[part.name], dim=1)
            bound = lengths[lengths > 0].median()
            own = torch.linalg.vector_norm(idle[part.name], dim=1, keepdim=True)
            kept = privacy.kept * (bound / own.clamp(min=1e-30)).clamp(max=1.0)
            expected[part.name] = idle[part.name] * kept
    return expected


def _gradient(detector: Detector, batch: PackedGraphs, training: TrainingSettings) -> Export:
    trained = {name: p for name, p in detector.named_parameters() if p.requires_grad}
    graphs = collate(batch)
    weights = None
    if training.class_weight == "balanced":
        weights = balanced_class_weights(batch, np.arange(len(batch)), training.labels)
    hidden = detector.hidden(graphs)
    loss, _ = detection_loss(detector, hidden, graphs, training.labels, weights)
    return dict(zip(trained, torch.autograd.grad(loss, list(trained.values())), strict=True))


def _less(values: Tensor, idle: Tensor | None) -> Tensor:
    return values if idle is None else values - idle


def _flat(detector: Detector, values: Export) -> FlatVector:
    """A vector [P] in the detector's layout, 0 where nothing is given."""
    places = layout(detector)
    vector = np.zeros(sum(place.size for place in places), dtype=np.float32)
    for place in places:
        if place.name in values:
            vector[place.span] = values[place.name].detach().reshape(-1).numpy()
    return vector
