"""Local work at a site: training of a detector under a local objective, and scoring with it."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fglguard.batching import EVALUATION_BATCH, batches
from fglguard.corroboration import corroborate
from fglguard.detector import Detector
from fglguard.errors import SettingsError, SiloError, UpdateError
from fglguard.losses import ClassWeight, Labels, balanced_class_weights, detection_loss
from fglguard.objectives.objective import Gradients, Objective, Pull
from fglguard.optimizers import Step, adam, sgd
from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate

Indices = NDArray[np.int64] | None
Mask = Callable[[Gradients], Gradients]


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
        steps: Exactly so many steps instead of `epochs`, over as many passes as they take; 0: off.
        labels: `broadcast`: every node trains with its graph's label; `final`: the readout alone.
        class_weight: `balanced`: both classes weigh alike in the loss over the site's training
            graphs (`balanced_class_weights`).
    """

    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-3
    optimizer: Literal["adam", "sgd"] = "adam"
    weight_decay: float = 1e-4
    proximal_mu: float = 0.0
    steps: int = 0
    labels: Labels = "broadcast"
    class_weight: ClassWeight = "none"

    def __post_init__(self) -> None:
        """Raise SettingsError for a value that can't be trained with."""
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if value < 1:
                raise SettingsError(f"{name}: expected at least 1, got {value!r}")
        if self.steps < 0:
            raise SettingsError(f"steps: expected at least 0, got {self.steps!r}")
        for name in ("weight_decay", "proximal_mu"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise SettingsError(f"{name}: expected at least 0, got {value!r}")
        if not 0 < self.learning_rate < math.inf:
            raise SettingsError(f"learning_rate: expected above 0, got {self.learning_rate!r}")
        if self.optimizer not in ("adam", "sgd"):
            raise SettingsError(f"optimizer: expected adam or sgd, got {self.optimizer!r}")
        for name, kind in (("labels", Labels), ("class_weight", ClassWeight)):
            value, choices = getattr(self, name), get_args(kind)
            if value not in choices:
                raise SettingsError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")

    def idle_share(self, steps: int) -> float:
        r"""What so many steps do to a parameter without a gradient: its change, as a share of it.

        Weight decay shrinks it by 1 - lr decay a step, and the proximal term, anchored where it
        started, draws it back as in `fglguard.optimizers`; with a_0 = 1 and m = lr mu

            sgd: a <- a (1 - lr decay) - m (a - 1),   adam: a <- (a (1 - lr decay) + m) / (1 + m).
        """
        left, pull = 1.0, self.learning_rate * self.proximal_mu
        for _ in range(steps):
            decayed = left * (1 - self.learning_rate * self.weight_decay)
            if self.optimizer == "sgd":
                left = decayed - pull * (left - 1)
            else:
                left = (decayed + pull) / (1 + pull)
        return left - 1

    def steps_over(self, graphs: int) -> int:
        """Optimizer steps that so many graphs take: `steps`, or epochs * ceil(graphs / batch)."""
        return self.steps or self.epochs * math.ceil(graphs / self.batch_size)


@dataclass(frozen=True)
class TrainingReport:
    """What local training did.

    Attributes:
        loss: BCE, averaged over all logits it counts in all steps (nodes, or episodes with labels
            `final`), each at the parameters of its step.
        term: The objective's own loss term, weighted and averaged likewise; 0 without one.
        proximal: (mu / 2) ||theta - anchor||^2 at the end.
        steps: Optimizer steps.
        graphs: Graphs trained on, each counted once.
        nodes: Their nodes, each counted once: the client's weight in the aggregate.
        update_norm: ||theta - theta_global|| at the end.
    """

    loss: float
    term: float
    proximal: float
    steps: int
    graphs: int
    nodes: int
    update_norm: float


@dataclass(frozen=True)
class Scores:
    """Scores in [0, 1] of each graph's final agent, or of another readout.

    Attributes:
        raw: s, [G]; an episode's AUROC uses it.
        corroborated: s^, the largest of s, the final agent's score and the scores of those that the
            final agent hears, [G]; decides.
    """

    raw: NDArray[np.float64]
    corroborated: NDArray[np.float64]


@dataclass(frozen=True)
class BatchScores:
    """Scores in [0, 1] of a batch, float64.

    Attributes:
        nodes: sigmoid(logit) of every agent, [N].
        raw: sigmoid of every episode's logit as the detector reads it out, [G].
        corroborated: As in `Scores`, [G].
    """

    nodes: Tensor
    raw: Tensor
    corroborated: Tensor


def train_locally(
    detector: Detector,
    packed: PackedGraphs,
    indices: Indices,
    settings: TrainingSettings,
    seed: Sequence[int],
    objective: Objective | None = None,
    mask: Mask | None = None,
) -> TrainingReport:
    r"""Minimise BCE + the objective's term + (mu / 2) ||theta - anchor||^2, in place.

    BCE is the mean over a batch's nodes, each with its graph's label, unless `settings.labels` and
    `settings.class_weight` say otherwise (`detection_loss`). Without an objective there is no term
    and the anchor is theta_global, the detector's state on entry: FedProx. One step takes the
    gradient of BCE and the term, lets the objective correct it to g, and does

    - sgd: theta <- theta - lr (g + decay theta + mu (theta - anchor));
    - adam: theta' = AdamW(theta, g), then theta <- (theta' + lr mu anchor) / (1 + lr mu).

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
        objective: What a strategy adds; it has seen all steps on return.
        mask: Is given each step's gradient of the losses before anything else sees it.

    Raises:
        SiloError: No graph to train on, an unlabelled one, or features of another width.
        SettingsError: Nothing trains, or the objective and `proximal_mu` both pull.
        UpdateError: The loss or the update is NaN or infinite.
    """
    objective = objective or Objective()
    chosen = _chosen(detector, packed, indices)
    _check_labels(packed, chosen)
    parameters: list[Tensor] = [p for p in detector.parameters() if p.requires_grad]
    if not parameters:
        raise SettingsError("detector: every parameter is frozen; there is nothing to train")
    start = [parameter.detach().clone() for parameter in parameters]
    objective.begin(detector, packed, chosen)
    pull = _pull(objective, settings, start)
    step = _optimizer(parameters, pull, settings)
    class_weights = None
    if settings.class_weight == "balanced":
        class_weights = balanced_class_weights(packed, chosen, settings.labels)
    root = np.random.SeedSequence(list(seed))
    shuffle, noise = np.random.default_rng(root), int(root.generate_state(1)[0])

    detector.train()
    sums, used = _Sums(), np.zeros(len(chosen), dtype=np.bool_)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(noise)  # for detectors with dropout
        for epoch, positions in _steps(len(chosen), settings, shuffle):
            used[positions] = True
            batch = collate(packed, chosen[positions])
            hidden = detector.hidden(batch)
            bce, count = detection_loss(detector, hidden, batch, settings.labels, class_weights)
            term = objective.term(hidden, batch, positions) if objective.has_term else None
            sums.add(bce.item(), 0.0 if term is None else term.item(), count)
            _check_losses(sums, epoch, settings)
            gradients = torch.autograd.grad(bce if term is None else bce + term, parameters)
            if mask is not None:
                gradients = mask(gradients)
            step(objective.correct(gradients))
    norm = _distance(parameters, start)
    distance = norm if pull.anchor is start else _distance(parameters, pull.anchor)
    return TrainingReport(
        loss=sums.loss / sums.count,
        term=sums.term / sums.count,
        proximal=0.5 * pull.strength * distance**2,
        steps=sums.steps,
        graphs=int(used.sum()),
        nodes=int(packed.nodes[chosen[used]].sum()),
        update_norm=norm,
    )


def score_graphs(
    detector: Detector,
    packed: PackedGraphs,
    indices: Indices = None,
    batch_size: int = EVALUATION_BATCH,
) -> Scores:
    """Score each graph.

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
    for batch in batches(packed, chosen, batch_size):
        scores = batch_scores(detector, batch)
        part = slice(start, start + batch.graphs)
        raw[part] = scores.raw.numpy()
        corroborated[part] = scores.corroborated.numpy()
        start += batch.graphs
    return Scores(raw, corroborated)


def batch_scores(detector: Detector, batch: GraphBatch) -> BatchScores:
    """Score a batch's agents and episodes; the detector is left in evaluation mode."""
    detector.eval()
    with torch.inference_mode():
        logits: Tensor = detector(batch)
        nodes = logits.double().sigmoid()
        read = detector.episode_logits(logits, batch)
        # A vectorised sigmoid may differ in the last bit with the place; the final agent's score
        # must be one number, whether it is looked up among the nodes or read out.
        final = batch.final
        raw = torch.where(read == logits[final], nodes[final], read.double().sigmoid())
        corroborated = corroborate(nodes, batch.src, batch.dst)[final].maximum(raw)
        return BatchScores(nodes, raw, corroborated)


@dataclass
class _Sums:
    """Totals over the steps so far, and the last step's losses."""

    loss: float = 0.0
    term: float = 0.0
    count: int = 0
    steps: int = 0
    last: tuple[float, float] = field(default=(0.0, 0.0))

    def add(self, loss: float, term: float, count: int) -> None:
        self.loss += loss * count
        self.term += term * count
        self.count += count
        self.steps += 1
        self.last = loss, term


def _steps(
    graphs: int, settings: TrainingSettings, shuffle: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Epoch and positions of each step's graphs; every epoch deals all graphs in a new order."""
    wanted = settings.steps_over(graphs)
    for step in range(wanted):
        epoch, place = divmod(step, math.ceil(graphs / settings.batch_size))
        if not place:
            order = shuffle.permutation(graphs)
        yield epoch, order[place * settings.batch_size : (place + 1) * settings.batch_size]


def _check_losses(sums: _Sums, epoch: int, settings: TrainingSettings) -> None:
    for name, value in zip(("loss", "objective's term"), sums.last, strict=True):
        if not math.isfinite(value):
            raise UpdateError(
                f"local training: the {name} is {value} at step {sums.steps} (epoch {epoch + 1}); "
                f"a lower learning_rate than {settings.learning_rate:g} may help"
            )


def _pull(objective: Objective, settings: TrainingSettings, start: list[Tensor]) -> Pull:
    if objective.pull is None:
        return Pull(settings.proximal_mu, start)
    if settings.proximal_mu:
        raise SettingsError(
            f"proximal_mu: expected 0 beside an objective with a pull of its own, got "
            f"{settings.proximal_mu:g}"
        )
    return objective.pull


def _optimizer(parameters: list[Tensor], pull: Pull, settings: TrainingSettings) -> Step:
    build = sgd if settings.optimizer == "sgd" else adam
    rate, decay = settings.learning_rate, settings.weight_decay
    return build(parameters, pull.anchor, rate, decay, pull.strength)


def _chosen(detector: Detector, packed: PackedGraphs, indices: Indices) -> NDArray[np.int64]:
    width = packed.x.shape[1]
    if width != detector.dimension:
        raise SiloError(
            f"expected node features of width {detector.dimension}, got {width}: were the graphs "
            f"made with another encoder?"
        )
    edge_width = packed.edge.shape[1]
    if detector.edge_dimension and edge_width != detector.edge_dimension:
        raise SiloError(
            f"expected edge features of width {detector.edge_dimension}, got {edge_width}: were "
            f"the graphs made for another edge_feature?"
        )
    flow_width = packed.flow.shape[1]
    if flow_width != detector.flow_dimension:
        raise SiloError(
            f"expected flow features of width {detector.flow_dimension}, got {flow_width}: were "
            f"the graphs made for another detector.preset than {detector.preset}?"
        )
    if detector.reads_tokens and packed.utterances is None:
        raise SiloError(
            "expected graphs with token ids for an encoder that trains, got none: were they made "
            "for detector.encoder=frozen?"
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
