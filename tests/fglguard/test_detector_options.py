"""The detector's options against the formulas written as loops over nodes and edges, in float64."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fglguard.detector import GraphAttentionDetector, Role, build_detector
from fglguard.detector_options import EDGE_FEATURES, PAPER, DetectorOptions
from fglguard.errors import SettingsError
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import PackedGraphs, collate, pack
from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed

torch.set_num_threads(1)
D = 6


def random_graphs(count: int, seed: int, node_width: int = D, largest: int = 6) -> PackedGraphs:
    graphs = single_graphs(count, seed, node_width, largest)
    labels = np.random.default_rng(seed + 1).random(count) < 0.5
    return pack(graphs, labels.tolist())


def single_graphs(
    count: int, seed: int, node_width: int = D, largest: int = 6
) -> list[EpisodeGraph]:
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(1, largest + 1))
        dst, src = np.nonzero((random.random((n, n)) < 0.4) & ~np.eye(n, dtype=bool))
        graphs.append(
            EpisodeGraph(
                x=random.standard_normal((n, node_width)).astype(np.float32),
                kind=random.integers(0, 4, n).astype(np.uint8),
                agent_ids=tuple(f"a{i}" for i in range(n)),
                src=src.astype(np.int32),
                dst=dst.astype(np.int32),
                final=int(random.integers(n)),
                edge=random.standard_normal((len(src), D)).astype(np.float32),
            )
        )
    return graphs


def detector_with(options: DetectorOptions, dimension: int = D) -> GraphAttentionDetector:
    """Biases are drawn too: zeros would hide that a node without in-edges gets them."""
    detector = GraphAttentionDetector(dimension, 3, options, heads=2, channels=5)
    source = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for name, parameter in detector.named_parameters():
            if name.endswith("bias"):
                parameter.uniform_(-1, 1, generator=source)
    return detector


def reference(detector: GraphAttentionDetector, packed: PackedGraphs) -> Tensor:
    """Every node of every graph, head by head, from the definitions."""
    options, logits = detector.options, []
    for graph in range(len(packed)):
        nodes = slice(*packed.node_offsets[graph : graph + 2])
        edges = slice(*packed.edge_offsets[graph : graph + 2])
        x = torch.from_numpy(np.array(packed.x[nodes])).double()
        ends = list(zip(packed.src[edges].tolist(), packed.dst[edges].tolist(), strict=True))
        sent = dict(zip(ends, torch.from_numpy(packed.edge[edges]).double(), strict=True))
        if options.self_loops:
            ends += [(node, node) for node in range(len(x))]
        h = x
        for layer in detector.layers:
            h = torch.stack(
                [_heard(layer, options, h, x, sent, ends, node) for node in range(len(x))]
            )
        logits.append(h @ detector.head_weight.double() + detector.head_bias.double())
    return torch.cat(logits)


def _heard(layer, options, h, x, sent, ends, node):
    w, a = layer.node_projection.double(), layer.attention.double()
    silence = x.new_zeros(D)
    psi = {
        "receiver": lambda i: x[node],
        "sender": lambda i: x[i],
        "both": lambda i: torch.cat([x[i], x[node]]),
        "message": lambda i: sent.get((i, node), silence),
        "none": lambda i: silence,
    }[options.edge_feature]
    parts = []
    for head in range(layer.heads):
        rows = slice(head * layer.channels, (head + 1) * layer.channels)
        logits, values = [], []
        for sender, receiver in ends:
            if receiver != node:
                continue
            logit = a[0, head] @ (w[rows] @ h[sender]) + a[1, head] @ (w[rows] @ h[node])
            value = w[rows] @ h[sender]
            if options.edge_feature != "none":
                logit = logit + a[2, head] @ (layer.edge_projection.double()[rows] @ psi(sender))
            if options.edge_feature == "message":
                value = value + layer.message_projection.double()[rows] @ psi(sender)
            logits.append(logit if logit > 0 else 0.2 * logit)
            values.append(value)
        part = layer.bias.double()[rows]
        if values:
            weights = torch.stack(logits).softmax(0)
            part = part + sum(w * v for w, v in zip(weights, values, strict=True))
        parts.append(part)
    out = torch.cat(parts)
    if options.residual:
        r = layer.residual_projection
        out = out + (h[node] if r is None else r.double() @ h[node])
    return torch.where(out > 0, out, out.exp() - 1)


@pytest.mark.parametrize(
    ("edge_feature", "self_loops", "residual"),
    itertools.product(EDGE_FEATURES, (True, False), (True, False)),
)
def test_logits_and_gradients_equal_the_formulas(edge_feature, self_loops, residual) -> None:
    detector = detector_with(
        DetectorOptions(edge_feature, self_loops=self_loops, residual=residual)
    )
    packed = random_graphs(5, seed=1)
    fast, slow = detector(collate(packed)), reference(detector, packed)
    torch.testing.assert_close(fast.double(), slow, rtol=1e-4, atol=1e-5)
    weights = torch.randn(len(fast), generator=torch.Generator().manual_seed(0))
    wanted = list(detector.parameters())
    ours = torch.autograd.grad((fast * weights).sum(), wanted)
    theirs = torch.autograd.grad((slow * weights).sum(), wanted)
    for name, one, other in zip(detector.roles(), ours, theirs, strict=True):
        assert other.abs().max() > 0, name
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=f"gradient of {name}")


@pytest.mark.parametrize("residual", [False, True])
def test_without_self_loops_an_isolated_node_gets_the_bias_alone(residual) -> None:
    """h = ELU(b), or ELU(b + R h), in both layers; nothing is divided by an empty sum."""
    detector = detector_with(DetectorOptions("message", self_loops=False, residual=residual))
    batch = collate(random_graphs(1, seed=0, largest=1))
    first, second = detector.layers
    h = first.bias
    if residual:
        h = h + first.residual_projection @ batch.x[0]
    carried = torch.nn.functional.elu(h)
    h = second.bias + carried if residual else second.bias
    h = torch.nn.functional.elu(h)
    logits = detector(batch)
    torch.testing.assert_close(logits[0], h @ detector.head_weight + detector.head_bias)
    gradients = torch.autograd.grad(logits.sum(), list(detector.parameters()), allow_unused=True)
    assert all(g is None or g.isfinite().all() for g in gradients)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_permuting_agents_permutes_logits_and_leaves_readouts(seed: int) -> None:
    packed = random_graphs(1, seed)
    order = np.random.default_rng(seed).permutation(len(packed.x))
    place = np.argsort(order).astype(np.int32)
    src, dst = place[packed.src], place[packed.dst]
    edges = np.lexsort((src, dst))
    permuted = replace(
        packed,
        x=packed.x[order],
        kind=packed.kind[order],
        src=src[edges],
        dst=dst[edges],
        edge=packed.edge[edges],
        final=place[packed.final],
    )
    for readout in ("final", "mean", "max"):
        options = DetectorOptions("message", self_loops=False, residual=True, readout=readout)
        detector = detector_with(options)
        one, other = collate(packed), collate(permuted)
        before, after = detector(one), detector(other)
        torch.testing.assert_close(after, before[order], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(
            detector.episode_logits(after, other),
            detector.episode_logits(before, one),
            rtol=1e-5,
            atol=1e-5,
        )


def test_what_was_said_counts_only_where_it_is_asked_for() -> None:
    packed = random_graphs(4, seed=3)
    silent = collate(packed)
    silent.edge = torch.zeros_like(silent.edge)
    for edge_feature in EDGE_FEATURES:
        detector = detector_with(DetectorOptions(edge_feature))
        same = torch.equal(detector(collate(packed)), detector(silent))
        assert same == (edge_feature != "message"), edge_feature


def test_two_utterance_vectors_a_node_are_twice_as_wide_as_an_edge() -> None:
    options = DetectorOptions("message", "mean_last")
    detector = build_detector("paper", 2 * D, 0, options)
    assert (detector.dimension, detector.edge_dimension) == (2 * D, D)
    assert detector(collate(random_graphs(3, 0, node_width=2 * D))).isfinite().all()
    assert build_detector("paper", D, 0).edge_dimension == 0
    with pytest.raises(SettingsError, match="an even number with node_feature mean_last, got 5"):
        build_detector("paper", 5, 0, options)


def test_parameters_that_options_add_and_their_roles() -> None:
    """V 256 x 384 twice; R 256 x 384 in the first layer, where widths differ, and none after."""
    paper = build_detector("paper", 384, 0)
    plain = sum(p.numel() for p in paper.parameters())
    for options, more in (
        (DetectorOptions("message"), 2 * 256 * 384),
        (DetectorOptions(residual=True), 256 * 384),
        (DetectorOptions(self_loops=False, readout="max"), 0),
    ):
        detector = build_detector("paper", 384, 0, options)
        assert sum(p.numel() for p in detector.parameters()) == plain + more
    roles = build_detector("paper", D, 0, DetectorOptions("message", residual=True)).roles()
    assert roles["layers.1.message_projection"] is Role.EDGE_PROJECTION
    assert roles["layers.0.residual_projection"] is Role.NODE_PROJECTION


def test_the_paper_detector_is_frozen() -> None:
    """Logits and the norms of the gradients of their sum of squares, as before there was an option.

    The graphs' x, kinds, edges and final agents are drawn in a fixed order from generator 1.
    """
    random = np.random.default_rng(1)
    graphs = []
    for _ in range(2):
        n = int(random.integers(1, 8))
        heard = random.random((n, n)) < 0.4
        np.fill_diagonal(heard, False)
        dst, src = np.nonzero(heard)
        x = random.standard_normal((n, 12)).astype(np.float32)
        kind = random.integers(0, 4, n).astype(np.uint8)
        ids = tuple(f"a{i}" for i in range(n))
        final = int(random.integers(n))
        graphs.append(EpisodeGraph(x, kind, ids, src.astype(np.int32), dst.astype(np.int32), final))
    detector = build_detector("paper", 12, 11)
    logits = detector(collate(pack(graphs)))
    logits.square().sum().backward()
    norms = {name: p.grad.double().norm().item() for name, p in detector.named_parameters()}
    first = [0.324136, 0.504021, 0.182025, 0.379777, 0.476843]
    second = [0.476868, 0.296199, 0.145666, 0.125256, -0.693736]
    assert logits.tolist() == pytest.approx([*first, *second], abs=2e-6)
    assert norms == pytest.approx(
        {
            "head_weight": 16.095077,
            "head_bias": 4.434107,
            "layers.0.node_projection": 16.635617,
            "layers.0.edge_projection": 0.170768,
            "layers.0.attention": 0.487837,
            "layers.0.bias": 5.42526,
            "layers.1.node_projection": 21.666615,
            "layers.1.edge_projection": 0.039815,
            "layers.1.attention": 0.172022,
            "layers.1.bias": 5.73162,
        },
        rel=1e-5,
    )


def test_the_default_settings_are_the_paper() -> None:
    run = RunSettings.from_flat(composed("detector=paper", "privacy=none")).detector
    assert DetectorOptions.of(run) == PAPER == DetectorOptions()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"edge_feature": "text"}, "edge_feature: expected one of receiver, sender, both, message"),
        ({"node_feature": None}, "node_feature: expected one of mean, last, mean_last, got None"),
        ({"readout": "sum"}, "readout: expected one of final, mean, max, got 'sum'"),
        ({"self_loops": 1}, "self_loops: expected true or false, got 1"),
        ({"residual": "no"}, "residual: expected true or false, got 'no'"),
    ],
)
def test_unknown_options_are_refused_by_name(values, told) -> None:
    with pytest.raises(SettingsError, match=told):
        DetectorOptions(**values)


@pytest.mark.parametrize("edge_feature", [one for one in EDGE_FEATURES if one != "message"])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("residual", [True, False])
def test_one_graph_in_numpy_has_the_logits_of_the_batch(edge_feature, self_loops, residual) -> None:
    """To 1e-5, nodes without in-edges and graphs of one node included."""
    options = DetectorOptions(edge_feature, self_loops=self_loops, residual=residual)
    detector, graphs = detector_with(options), single_graphs(12, seed=5)
    with torch.no_grad():
        expected = detector(collate(pack(graphs))).numpy()
    found = [detector.array_logits(graph) for graph in graphs]
    assert np.concatenate(found) == pytest.approx(expected, abs=1e-5)


def test_graphs_with_many_nodes_or_features_of_messages_go_through_the_batch() -> None:
    large = single_graphs(1, seed=2, largest=1)[0]
    large = replace(large, x=np.zeros((65, D), np.float32))
    assert detector_with(PAPER).array_logits(large) is None
    (small,) = single_graphs(1, seed=2)
    assert detector_with(DetectorOptions("message")).array_logits(small) is None
