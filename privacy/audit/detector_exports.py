"""What one client exports of a batch of episodes, T times under a mask, and noise of that size."""

import copy
import dataclasses
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
from privacy.attacks.defence import Defence
from privacy.attacks.episode_bank import idle_change, take_change
from privacy.attacks.observation import Export, Observation
from privacy.noise import SeededNoise
from privacy.update_mask import FlatVector, UpdateMask, without_idle

Mode = Literal["fedsgd", "fedprox"]


@dataclass(frozen=True)
class MaskedClient:
    """One client with one batch, ready to export it any number of times.

    Attributes:
        detector: Holds the global weights; what the mask freezes is frozen.
        plain: What it would send unmasked, by name: gradients, or sent - trained weights less what
            decay alone does, which is public. An attacker never sees it.
        given: To the mask: `plain` but for rounding, as a client takes decay off by its formula and
            an attacker by doing it again, bit for bit. Without a mask, `plain`.
        mask: Masks it, with noise that goes on from export to export.
        defence: What is known of the mask.
    """

    detector: Detector
    plain: Export
    given: Export
    mask: UpdateMask
    defence: Defence

    def export(self) -> tuple[dict[str, Tensor], dict[str, float]]:
        """One export less what decay does, and the size of the noise on each masked parameter.

        Raises:
            PrivacyError: The mask refuses to let it go.
        """
        hidden = self.mask.change(_flat(self.detector, self.given))
        exported = {
            place.name: torch.from_numpy(hidden[place.span].reshape(place.shape).copy())
            for place in layout(self.detector)
            if place.name in self.plain
        }
        return exported, dict(self.mask.sigma)

    def observe(self, exports: Sequence[int]) -> Iterator[tuple[int, Observation]]:
        """After each number T of exports, ascending, the view of an attacker who averaged them.

        For one signal under independent Gaussian noise the mean is a sufficient statistic: no
        attack on the T exports themselves can know more.
        """
        sums: dict[str, Tensor] = {}
        for count in range(1, max(exports) + 1):
            exported, sigma = self.export()
            for name, values in exported.items():
                sums[name] = values.double() + sums[name] if name in sums else values.double()
            if count in exports:
                averaged = {name: (total / count).float() for name, total in sums.items()}
                size = {name: value / count**0.5 for name, value in sigma.items()}
                yield count, Observation(self.detector, (averaged,), size, self.defence, count)


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
    privacy = dataclasses.replace(privacy, mode="delta")
    mask = UpdateMask(own, privacy, SeededNoise(seed))
    if mode == "fedsgd":
        plain = given = _gradient(own, batch, training)
    else:
        start = {name: p.detach().clone() for name, p in own.named_parameters()}
        idle = idle_change(own, batch, steps_of(training, len(batch)))
        steps = train_locally(own, batch, None, training, seed).steps
        change, share = take_change(own, start, {}), training.idle_share(steps)
        plain = {name: values - idle[name] for name, values in change.items()}
        given = {
            name: -torch.from_numpy(
                without_idle(start[name].numpy(), -values.numpy(), share, steps)
            )
            for name, values in change.items()
        }
        if privacy.name == "none":
            given = plain
    return MaskedClient(own, plain, given, mask, Defence.of(privacy))


def steps_of(training: TrainingSettings, graphs: int) -> TrainingSettings:
    """The same training with the steps that so many graphs take, whatever it is given."""
    return TrainingSettings(**{**vars(training), "steps": training.steps_over(graphs)})


def noise_alone(stranger: MaskedClient, seed: int) -> Observation:
    """Pure noise of the sizes that another client's export would have: nobody can know from it.

    A parameter that is exported unmasked has noise of that export's own root mean square. Of the
    batch under attack nothing enters, not even the size of its noise.

    Args:
        stranger: A client with other episodes than those attacked, as many.
        seed: Of the noise.

    Raises:
        PrivacyError: The mask refuses to let the stranger's export go.
    """
    generator = torch.Generator().manual_seed(seed)
    export, sigma = stranger.export()
    noise = {}
    for name, values in export.items():
        size = sigma.get(name, float(values.square().mean().sqrt()))
        noise[name] = torch.randn(values.shape, generator=generator) * size
    return Observation(stranger.detector, (noise,), sigma, stranger.defence)


def _gradient(
    detector: Detector, batch: PackedGraphs, training: TrainingSettings
) -> dict[str, Tensor]:
    trained = {name: p for name, p in detector.named_parameters() if p.requires_grad}
    graphs = collate(batch)
    weights = None
    if training.class_weight == "balanced":
        weights = balanced_class_weights(batch, np.arange(len(batch)), training.labels)
    hidden = detector.hidden(graphs)
    loss, _ = detection_loss(detector, hidden, graphs, training.labels, weights)
    return dict(zip(trained, torch.autograd.grad(loss, list(trained.values())), strict=True))


def _flat(detector: Detector, values: Export) -> FlatVector:
    """A vector [P] in the detector's layout, 0 where nothing is given."""
    places = layout(detector)
    vector = np.zeros(sum(place.size for place in places), dtype=np.float32)
    for place in places:
        if place.name in values:
            vector[place.span] = values[place.name].detach().reshape(-1).numpy()
    return vector
