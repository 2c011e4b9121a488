"""Local FedProx steps against hand derivations, NumPy and plain autograd."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fglguard.detector import Detector, Role, build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.errors import SettingsError, SiloError, UpdateError
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate, pack
from fglguard.parameters import flatten
from fglguard.training import TrainingSettings, score_graphs, train_locally

torch.set_num_threads(1)
SEED = (0, 1, 2)


class LinearDetector(Detector):
    """logit = w . x: its FedProx steps can be done by hand."""

    preset = "linear"

    def __init__(self, *weights: float) -> None:
        super().__init__()
        self.dimension = len(weights)
        self.w = nn.Parameter(torch.tensor(weights, dtype=torch.float32))
        self.seen: list[list[float]] = []

    def hidden(self, batch: GraphBatch) -> Tensor:
        if self.training:
            self.seen.append(batch.x[:, 0].tolist())
        return batch.x

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.w

    def roles(self) -> dict[str, Role]:
        return {"w": Role.HEAD}


def graphs(nodes: list[list[list[float]]], labels: list[bool | None]) -> PackedGraphs:
    """One graph for each list of node features, node i heard by node i + 1, the last one final."""
    built = []
    for features in nodes:
        n = len(features)
        built.append(
            EpisodeGraph(
                x=np.array(features, dtype=np.float32),
                kind=np.ones(n, dtype=np.uint8),
                agent_ids=tuple(f"a{i}" for i in range(n)),
                src=np.arange(n - 1, dtype=np.int32),
                dst=np.arange(1, n, dtype=np.int32),
                final=n - 1,
            )
        )
    return pack(built, labels)


def random_graphs(count: int, dimension: int, seed: int = 0) -> PackedGraphs:
    random = np.random.default_rng(seed)
    nodes = [
        random.standard_normal((random.integers(1, 5), dimension)).tolist() for _ in range(count)
    ]
    return graphs(nodes, (random.random(count) < 0.5).tolist())


def sgd(**settings) -> TrainingSettings:
    return TrainingSettings(optimizer="sgd", **{"weight_decay": 0.0, **settings})


def test_fedprox_sgd_steps_by_hand() -> None:
    """One graph of one node, x = 2, y = 1; theta_global = 0, lr = 0.5, mu = 1.

    The gradient of BCE is (sigmoid(2 theta) - 1) * 2.
    Step 1, theta = 0: g = (0.5 - 1) * 2 = -1, proximal gradient 0; theta = 0.5.
    Step 2, theta = 0.5: g = (sigmoid(1) - 1) * 2 = -0.5378828, proximal gradient 1 * 0.5;
    theta = 0.5 - 0.5 * (-0.5378828 + 0.5) = 0.5189414.
    Losses: log 2 = 0.6931472 and log(1 + e^-1) = 0.3132617, mean 0.5032044.
    Proximal term at the end: 0.5 * 0.5189414^2 = 0.1346501.
    """
    detector = LinearDetector(0.0)
    settings = sgd(learning_rate=0.5, epochs=2, proximal_mu=1.0)
    report = train_locally(detector, graphs([[[2.0]]], [True]), None, settings, SEED)
    assert detector.w.item() == pytest.approx(0.5189414, abs=1e-6)
    assert report.loss == pytest.approx(0.5032044, abs=1e-6)
    assert report.proximal == pytest.approx(0.1346501, abs=1e-6)
    assert report.update_norm == pytest.approx(0.5189414, abs=1e-6)
    assert (report.steps, report.graphs, report.nodes) == (2, 1, 1)


def test_fedprox_adam_step_by_hand() -> None:
    """Adam's first step is lr * g / (|g| + eps), here +lr = 0.1, whatever the gradient's size.

    With theta_global = 1, mu = 5: theta' = 1.1 and theta = (1.1 + 0.1 * 5 * 1) / (1 + 0.1 * 5)
    = 1.0666667. Inside the normaliser the proximal gradient, 0 at theta_global, had done nothing.
    """
    detector = LinearDetector(1.0)
    settings = TrainingSettings(
        epochs=1, learning_rate=0.1, optimizer="adam", weight_decay=0.0, proximal_mu=5.0
    )
    train_locally(detector, graphs([[[2.0]]], [True]), None, settings, SEED)
    assert detector.w.item() == pytest.approx(1.6 / 1.5, abs=1e-6)


def test_adam_with_a_huge_mu_stays_at_the_global_model() -> None:
    detector = build_detector("paper", 6, 0)
    settings = TrainingSettings(epochs=2, proximal_mu=1e9)
    report = train_locally(detector, random_graphs(10, 6), None, settings, SEED)
    assert report.update_norm < 1e-4


def test_two_sgd_steps_equal_logistic_regression_in_numpy() -> None:
    """Broadcast labels: nodes are the rows of a logistic regression with the graph's label each."""
    packed = random_graphs(12, 3)
    x = packed.x.astype(np.float64)
    y = np.repeat(packed.label, packed.nodes).astype(np.float64)
    start = np.array([0.3, -0.2, 0.1])
    lr, mu, decay = 0.7, 0.4, 0.05
    theta, losses = start, []
    for _ in range(2):
        p = 1 / (1 + np.exp(-x @ theta))
        losses.append(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())
        gradient = x.T @ (p - y) / len(y)
        theta = theta - lr * (gradient + decay * theta + mu * (theta - start))

    detector = LinearDetector(*start)
    settings = sgd(learning_rate=lr, epochs=2, batch_size=99, proximal_mu=mu, weight_decay=decay)
    report = train_locally(detector, packed, None, settings, SEED)
    np.testing.assert_allclose(detector.w.detach(), theta, atol=1e-6)
    assert report.loss == pytest.approx(np.mean(losses), abs=1e-6)
    assert report.update_norm == pytest.approx(np.linalg.norm(theta - start), abs=1e-6)
    assert report.nodes == len(x)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_sgd_equals_autograd_of_the_whole_objective(mu: float) -> None:
    """BCE + (mu / 2) ||theta - theta_global||^2 through torch.optim.SGD, on the real detector."""
    packed = random_graphs(9, 6)
    ours, plain = build_detector("paper", 6, 0), build_detector("paper", 6, 0)
    settings = sgd(learning_rate=0.5, epochs=4, batch_size=9, proximal_mu=mu)
    train_locally(ours, packed, None, settings, SEED)

    start = [p.detach().clone() for p in plain.parameters()]
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.5)
    batch = collate(packed)
    for _ in range(4):
        optimizer.zero_grad()
        distance = sum(((p - q) ** 2).sum() for p, q in zip(plain.parameters(), start, strict=True))
        bce = nn.functional.binary_cross_entropy_with_logits(plain(batch), batch.label[batch.graph])
        (bce + mu / 2 * distance).backward()
        optimizer.step()
    np.testing.assert_allclose(flatten(ours), flatten(plain), atol=2e-6)


def test_adam_without_proximal_term_equals_plain_adamw() -> None:
    packed = random_graphs(9, 6)
    ours, plain = build_detector("paper", 6, 0), build_detector("paper", 6, 0)
    settings = TrainingSettings(epochs=3, batch_size=9, learning_rate=1e-3, weight_decay=0.1)
    train_locally(ours, packed, None, settings, SEED)

    optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-3, weight_decay=0.1, foreach=False)
    batch = collate(packed)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(
            plain(batch), batch.label[batch.graph]
        ).backward()
        optimizer.step()
    # Adam moves every weight by about lr a step, so a wrong step would be off by 1e-3.
    np.testing.assert_allclose(flatten(ours), flatten(plain), atol=5e-5)


def test_loss_falls_on_a_separable_site() -> None:
    random = np.random.default_rng(0)
    labels = (random.random(64) < 0.5).tolist()
    nodes = [
        (random.standard_normal((3, 6)) + (2 if unsafe else -2) * np.eye(6)[0]).tolist()
        for unsafe in labels
    ]
    packed = graphs(nodes, labels)
    detector = build_detector("paper", 6, 0)
    first = train_locally(detector, packed, None, TrainingSettings(epochs=1), SEED)
    for turn in range(4):
        last = train_locally(detector, packed, None, TrainingSettings(), (turn,))
    assert last.loss < 0.3 * first.loss
    scores = score_graphs(detector, packed).raw
    assert scores[labels].min() > scores[~np.array(labels)].max()


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_same_seed_same_bits_and_global_random_state_left_alone(optimizer) -> None:
    packed = random_graphs(20, 6)
    settings = TrainingSettings(batch_size=8, optimizer=optimizer, proximal_mu=0.01)
    vectors, reports = [], []
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    for seed in ((1, 2), (1, 2), (1, 3)):
        detector = build_detector("paper", 6, 0)
        reports.append(train_locally(detector, packed, None, settings, seed))
        vectors.append(flatten(detector))
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert reports[0] == reports[1]
    assert vectors[0].tobytes() != vectors[2].tobytes()
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()


def test_each_epoch_sees_each_chosen_graph_once_in_a_new_order() -> None:
    packed = graphs([[[float(i)]] for i in range(10)], [False] * 10)
    detector = LinearDetector(0.0)
    chosen = np.array([1, 2, 3, 5, 7, 8, 9])
    settings = sgd(learning_rate=1e-9, batch_size=3, epochs=2)
    report = train_locally(detector, packed, chosen, settings, SEED)
    assert [len(batch) for batch in detector.seen] == [3, 3, 1, 3, 3, 1]
    first = [graph for batch in detector.seen[:3] for graph in batch]
    second = [graph for batch in detector.seen[3:] for graph in batch]
    assert sorted(first) == sorted(second) == chosen.tolist()
    assert first != second
    assert (report.steps, report.graphs, report.nodes) == (6, 7, 7)


def test_a_number_of_steps_replaces_epochs() -> None:
    """Ten graphs in batches of 3 are 4 steps an epoch; 6 steps end within the second epoch."""
    packed = graphs([[[float(i)]] for i in range(10)], [False] * 10)
    detector = LinearDetector(0.0)
    settings = sgd(learning_rate=1e-9, batch_size=3, epochs=1, steps=6)
    report = train_locally(detector, packed, None, settings, SEED)
    assert [len(batch) for batch in detector.seen] == [3, 3, 3, 1, 3, 3]
    assert (report.steps, report.graphs, report.nodes) == (6, 10, 10)
    assert sgd(batch_size=3, epochs=5).steps_over(10) == 20


def test_a_site_with_only_safe_episodes_trains() -> None:
    """All labels 0: the gradient pushes every score down."""
    packed = graphs([[[1.0], [1.0]], [[1.0]]], [False, False])
    detector = LinearDetector(0.5)
    report = train_locally(detector, packed, None, sgd(learning_rate=0.1, epochs=1), SEED)
    assert detector.w.item() < 0.5
    assert math.isfinite(report.loss)


def test_frozen_parameters_stay_and_the_rest_train() -> None:
    detector = build_detector("paper", 6, 0)
    before = {name: p.detach().clone() for name, p in detector.named_parameters()}
    frozen = {n for n, role in detector.roles().items() if role is Role.NODE_PROJECTION}
    for name in frozen:
        detector.get_parameter(name).requires_grad_(False)
    train_locally(detector, random_graphs(8, 6), None, TrainingSettings(proximal_mu=0.1), SEED)
    for name, parameter in detector.named_parameters():
        assert torch.equal(parameter, before[name]) == (name in frozen), name
    detector.requires_grad_(False)
    with pytest.raises(SettingsError, match="every parameter is frozen"):
        train_locally(detector, random_graphs(8, 6), None, TrainingSettings(), SEED)


def test_divergence_is_an_update_error() -> None:
    """x = 1e30 in float32: after one step of lr 1e30 the logit overflows."""
    packed = graphs([[[1e30]]], [True])
    settings = sgd(learning_rate=1e30, epochs=3)
    with pytest.raises(UpdateError, match=r"local training: "):
        train_locally(LinearDetector(0.0), packed, None, settings, SEED)
    bad = graphs([[[math.nan]]], [True])
    with pytest.raises(UpdateError, match=r"the loss is nan at step 1 \(epoch 1\)"):
        train_locally(LinearDetector(0.0), bad, None, settings, SEED)


def test_unusable_graphs_are_refused() -> None:
    packed = graphs([[[1.0]], [[2.0]], [[3.0]]], [True, None, None])
    with pytest.raises(SiloError, match="2 of 3 graphs chosen for training have no label"):
        train_locally(LinearDetector(0.0), packed, None, TrainingSettings(), SEED)
    train_locally(LinearDetector(0.0), packed, np.array([0]), TrainingSettings(), SEED)
    with pytest.raises(SiloError, match="no graph to train on"):
        train_locally(LinearDetector(0.0), packed, np.zeros(0, np.int64), TrainingSettings(), SEED)
    with pytest.raises(SiloError, match="expected node features of width 2, got 1"):
        train_locally(LinearDetector(0.0, 0.0), packed, None, TrainingSettings(), SEED)
    with pytest.raises(SiloError, match="expected node features of width 2, got 1"):
        score_graphs(LinearDetector(0.0, 0.0), packed)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"batch_size": 0}, "batch_size: expected at least 1"),
        ({"learning_rate": 0.0}, "learning_rate: expected above 0"),
        ({"learning_rate": math.nan}, "learning_rate: expected above 0"),
        ({"weight_decay": -1.0}, "weight_decay: expected at least 0"),
        ({"proximal_mu": math.inf}, "proximal_mu: expected at least 0"),
        ({"steps": -1}, "steps: expected at least 0, got -1"),
        ({"optimizer": "lion"}, "optimizer: expected adam or sgd, got 'lion'"),
    ],
)
def test_settings_are_checked(settings, message) -> None:
    with pytest.raises(SettingsError, match=message):
        TrainingSettings(**settings)


def test_scores_are_those_of_final_agents_in_the_order_asked_for() -> None:
    """Graph 0: 3 -> 1 -> -1 (final): raw sigmoid(-1), corroborated by its speaker sigmoid(1).

    Graph 1: one node of 2, nobody to hear: both sigmoid(2). Unlabelled graphs are scored too.
    """
    packed = graphs([[[3.0], [1.0], [-1.0]], [[2.0]]], [None, True])
    scores = score_graphs(LinearDetector(1.0), packed, np.array([1, 0, 1]), batch_size=2)
    sigmoid = [1 / (1 + math.exp(-z)) for z in (2, -1, 1)]
    np.testing.assert_allclose(scores.raw, [sigmoid[0], sigmoid[1], sigmoid[0]], rtol=1e-12)
    np.testing.assert_allclose(
        scores.corroborated, [sigmoid[0], sigmoid[2], sigmoid[0]], rtol=1e-12
    )
    assert scores.raw.dtype == scores.corroborated.dtype == np.float64
    nothing = score_graphs(LinearDetector(1.0), packed, np.zeros(0, np.int64))
    assert len(nothing.raw) == len(nothing.corroborated) == 0


def test_batching_does_not_change_scores() -> None:
    packed, detector = random_graphs(30, 6), build_detector("paper", 6, 0)
    one, many = score_graphs(detector, packed, batch_size=1), score_graphs(detector, packed)
    np.testing.assert_allclose(one.raw, many.raw, atol=1e-6)
    np.testing.assert_allclose(one.corroborated, many.corroborated, atol=1e-6)
    assert (many.corroborated >= many.raw).all()


@pytest.mark.parametrize("labels", ["broadcast", "final"])
@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_a_step_follows_labels_and_class_weight(labels, class_weight) -> None:
    """One SGD step on logit = w x, by hand: dBCE / dw is the mean of weight (sigmoid(w x) - y) x.

    Teams (x = 1, then 2, final) unsafe, and (3, final) safe. Nodes: 2 unsafe, 1 safe, so balanced
    weights are 3 / 4 and 3 / 2; episodes: 1 and 1, so 1 each.
    """
    packed = graphs([[[1.0], [2.0]], [[3.0]]], [True, False])
    detector = LinearDetector(0.1)
    terms = {"broadcast": [(1.0, 1), (2.0, 1), (3.0, 0)], "final": [(2.0, 1), (3.0, 0)]}[labels]
    weight = {1: 0.75, 0: 1.5}
    if class_weight == "none" or labels == "final":
        weight = {1: 1.0, 0: 1.0}
    slopes = [weight[y] * (1 / (1 + math.exp(-0.1 * x)) - y) * x for x, y in terms]
    losses = [weight[y] * math.log1p(math.exp((-0.1 if y else 0.1) * x)) for x, y in terms]
    chosen = sgd(learning_rate=0.5, epochs=1, labels=labels, class_weight=class_weight)
    report = train_locally(detector, packed, None, chosen, SEED)
    assert detector.w.item() == pytest.approx(0.1 - 0.5 * np.mean(slopes), rel=1e-6)
    assert report.loss == pytest.approx(np.mean(losses), rel=1e-6)
    assert report.nodes == 3


def test_one_class_alone_trains_without_weights() -> None:
    packed = graphs([[[1.0], [2.0]], [[3.0]]], [True, True])
    plain, balanced = LinearDetector(0.1), LinearDetector(0.1)
    train_locally(plain, packed, None, sgd(), SEED)
    train_locally(balanced, packed, None, sgd(class_weight="balanced"), SEED)
    assert torch.equal(plain.w, balanced.w)


def test_unknown_labels_and_class_weights_are_refused() -> None:
    with pytest.raises(SettingsError, match="labels: expected one of broadcast, final, got 'all'"):
        TrainingSettings(labels="all")
    with pytest.raises(SettingsError, match="class_weight: expected one of none, balanced"):
        TrainingSettings(class_weight="inverse")


@pytest.mark.parametrize("readout", ["final", "mean", "max"])
def test_a_readouts_score_is_raw_and_corroboration_never_lowers_it(readout) -> None:
    """Kinds are 1, tools: no agent among them, so mean and max run over all nodes."""
    packed = random_graphs(20, 6)
    detector = build_detector("paper", 6, 0, DetectorOptions(readout=readout))
    scores = score_graphs(detector, packed, batch_size=7)
    logits = detector(collate(packed)).detach().double().numpy()
    for graph in range(len(packed)):
        own = logits[packed.node_offsets[graph] : packed.node_offsets[graph + 1]]
        read = {"final": own[-1], "mean": own.mean(), "max": own.max()}[readout]
        assert scores.raw[graph] == pytest.approx(1 / (1 + math.exp(-read)), abs=1e-6)
        heard = max(own[-2:])  # the final agent and the one it hears
        expected = max(scores.raw[graph], 1 / (1 + math.exp(-heard)))
        assert scores.corroborated[graph] == pytest.approx(expected, abs=1e-6)
    assert (scores.corroborated >= scores.raw).all()


def test_graphs_without_the_edge_features_a_detector_needs_are_refused() -> None:
    detector = build_detector("paper", 6, 0, DetectorOptions("message"))
    with pytest.raises(SiloError, match="edge features of width 6, got 0"):
        score_graphs(detector, random_graphs(3, 6))
