"""Local work at a site: FedProx training of a detector, and scoring with it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fglguard.corroboration import corroborate
from fglguard.detector import Detector
from fglguard.errors import SettingsError, SiloError, UpdateError
from fglguard.graph import GraphBatch, PackedGraphs, collate
from fglguard.optimizers import adam, sgd

Indices = NDArray[np.int64] | None


@dataclass(frozen=True)
class TrainingSettings:
    """How a site trains between two messages.

    Attributes:
        epochs: Passes over the site's graphs.
        batch_size: Graphs a step; the last step of an epoch takes what is left.
        learning_rate: lr.
        optimizer: `adam` (AdamW with fresh moments each call) or plain `sgd`.
        weight_decay: Pulls towards zero: decoupled with adam, a gradient term with sgd.
        proximal_mu: mu, the strength of the pull towards the global model.
    """

    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-3
    optimizer: Literal["adam", "sgd"] = "adam"
    weight_decay: float = 1e-4
    proximal_mu: float = 0.0

    def __post_init__(self) -> None:
        """Raise SettingsError for a value that can't be trained with."""
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if value < 1:
                raise SettingsError(f"{name}: expected at least 1, got {value!r}")
        for name in ("weight_decay", "proximal_mu"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise SettingsError(f"{name}: expected at least 0, got {value!r}")
        if not 0 < self.learning_rate < math.inf:
            raise SettingsError(f"learning_rate: expected above 0, got {self.learning_rate!r}")
        if self.optimizer not in ("adam", "sgd"):
            raise SettingsError(f"optimizer: expected adam or sgd, got {self.optimizer!r}")


@dataclass(frozen=True)
class TrainingReport:
    """What local training did.

    Attributes:
        loss: BCE, averaged over all nodes of all steps, each at the parameters of its step.
        proximal: (mu / 2) ||theta - theta_global||^2 at the end.
        steps: Optimizer steps.
        graphs: Graphs trained on, each counted once.
        nodes: Their nodes, each counted once: the client's weight in the aggregate.
        update_norm: ||theta - theta_global|| at the end.
    """

    loss: float
    proximal: float
    steps: int
    graphs: int
    nodes: int
    update_norm: float


@dataclass(frozen=True)
class Scores:
    """Scores in [0, 1] of each graph's final agent.

    Attributes:
        raw: s, [G]; an episode's AUROC uses it.
        corroborated: s^ = max of s and of the scores of those it hears, [G]; decides.
    """

    raw: NDArray[np.float64]
    corroborated: NDArray[np.float64]


def train_locally(
    detector: Detector,
    packed: PackedGraphs,
    indices: Indices,
    settings: TrainingSettings,
    seed: Sequence[int],
) -> TrainingReport:
    r"""Minimise BCE + (mu / 2) ||theta - theta_global||^2 from theta_global, in place (FedProx).

    BCE is the mean over a batch's nodes, each with its graph's label; theta_global is the
    detector's state on entry. With g the gradient of BCE, one step is

    - sgd: theta <- theta - lr (g + decay theta + mu (theta - theta_global));
    - adam: theta' = AdamW(theta, g), then theta <- (theta' + lr mu theta_global) / (1 + lr mu).

    The proximal term stays out of Adam's normaliser, which would eat it: see
    `fglguard.optimizers.adam` for the derivation.

    Frozen parameters (`requires_grad` false) stay as they are. On one machine with one number of
    threads, the same arguments give the same bits; global random state is left alone.

    Args:
        detector: Holds theta_global on entry and theta on return.
        packed: The site's graphs.
        indices: Which of them to train on; None for all.
        settings: How.
        seed: Entropy of the shuffles, e.g. (run, round, partition).

    Raises:
        SiloError: No graph to train on, an unlabelled one, or features of another width.
        UpdateError: The loss or the update is NaN or infinite.
    """
    chosen = _chosen(detector, packed, indices)
    _check_labels(packed, chosen)
    parameters: list[Tensor] = [p for p in detector.parameters() if p.requires_grad]
    if not parameters:
        raise SettingsError("detector: every parameter is frozen; there is nothing to train")
    start = [parameter.detach().clone() for parameter in parameters]
    build = sgd if settings.optimizer == "sgd" else adam
    step = build(
        parameters,
        start,
        settings.learning_rate,
        settings.weight_decay,
        settings.proximal_mu,
    )
    root = np.random.SeedSequence(list(seed))
    shuffle, noise = np.random.default_rng(root), int(root.generate_state(1)[0])

    detector.train()
    total, seen, steps = 0.0, 0, 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(noise)  # for detectors with dropout
        for epoch in range(settings.epochs):
            order = shuffle.permutation(chosen)
            for batch in _batches(packed, order, settings.batch_size):
                loss = _node_loss(detector, batch)
                value = loss.item()
                if not math.isfinite(value):
                    raise UpdateError(
                        f"local training: the loss is {value} at step {steps + 1} (epoch "
                        f"{epoch + 1}); a lower learning_rate than {settings.learning_rate:g} "
                        f"may help"
                    )
                step(torch.autograd.grad(loss, parameters))
                total += value * len(batch.x)
                seen += len(batch.x)
                steps += 1
    norm = _distance(parameters, start)
    return TrainingReport(
        loss=total / seen,
        proximal=0.5 * settings.proximal_mu * norm**2,
        steps=steps,
        graphs=len(chosen),
        nodes=seen // settings.epochs,
        update_norm=norm,
    )


def score_graphs(
    detector: Detector, packed: PackedGraphs, indices: Indices = None, batch_size: int = 256
) -> Scores:
    """Score the final agent of each graph.

    Args:
        detector: Left unchanged, in evaluation mode.
        packed: The site's graphs; labels are not looked at.
        indices: Which of them, in the order of the result; None for all.
        batch_size: Graphs at once.

    Raises:
        SiloError: The features have another width than the detector's.
    """
    chosen = _chosen(detector, packed, indices)
    raw = np.empty(len(chosen))
    corroborated = np.empty(len(chosen))
    start = 0
    for batch in _batches(packed, chosen, batch_size):
        scores = node_scores(detector, batch)
        part = slice(start, start + batch.graphs)
        raw[part] = scores[batch.final].numpy()
        corroborated[part] = corroborate(scores, batch.src, batch.dst)[batch.final].numpy()
        start += batch.graphs
    return Scores(raw, corroborated)


def node_scores(detector: Detector, batch: GraphBatch) -> Tensor:
    """Scores s = sigmoid(logit) of every agent in the batch, [N] float64."""
    detector.eval()
    with torch.inference_mode():
        logits: Tensor = detector(batch)
        return logits.double().sigmoid()


def _node_loss(detector: Detector, batch: GraphBatch) -> Tensor:
    """Unweighted BCE over nodes, the episode's label broadcast to all of its agents."""
    return functional.binary_cross_entropy_with_logits(detector(batch), batch.label[batch.graph])


def _batches(packed: PackedGraphs, order: NDArray[np.int64], size: int) -> Iterator[GraphBatch]:
    for start in range(0, len(order), size):
        yield collate(packed, order[start : start + size])


def _chosen(detector: Detector, packed: PackedGraphs, indices: Indices) -> NDArray[np.int64]:
    width = packed.x.shape[1]
    if width != detector.dimension:
        raise SiloError(
            f"expected node features of width {detector.dimension}, got {width}: were the graphs "
            f"made with another encoder?"
        )
    if indices is None:
        return np.arange(len(packed.final), dtype=np.int64)
    return np.asarray(indices, dtype=np.int64)


def _check_labels(packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
    if not len(chosen):
        raise SiloError("there is no graph to train on")
    unlabelled = np.count_nonzero(np.asarray(packed.label)[chosen] < 0)
    if unlabelled:
        raise SiloError(
            f"{unlabelled} of {len(chosen)} graphs chosen for training have no label; leave them "
            f"out"
        )


def _distance(parameters: list[Tensor], start: list[Tensor]) -> float:
    with torch.no_grad():
        changes = torch._foreach_sub(parameters, start)
        norm = math.sqrt(sum(change.double().square().sum().item() for change in changes))
    if not math.isfinite(norm):
        raise UpdateError("local training: the update is NaN or infinite after the last step")
    return norm
