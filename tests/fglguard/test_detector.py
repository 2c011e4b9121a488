"""The packed detector against plain references: PyTorch Geometric's message passing and GATConv."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.nn import GATConv, MessagePassing
from torch_geometric.utils import softmax

from fglguard.detector import (
    Detector,
    GraphAttentionDetector,
    Role,
    build_detector,
)
from fglguard.detector_options import EDGE_FEATURES, DetectorOptions, EdgeFeature
from fglguard.edge_attention import EdgeAttention
from fglguard.errors import SettingsError
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate, pack

torch.set_num_threads(1)
D = 12
BY_NODE = tuple(feature for feature in EDGE_FEATURES if feature != "message")
"""Edge features that are functions of an edge's two nodes."""


def random_graphs(count: int, seed: int, dimension: int = D, largest: int = 7) -> PackedGraphs:
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(1, largest + 1))
        heard = random.random((n, n)) < 0.4
        np.fill_diagonal(heard, False)
        dst, src = np.nonzero(heard)
        graphs.append(
            EpisodeGraph(
                x=random.standard_normal((n, dimension)).astype(np.float32),
                kind=random.integers(0, 4, n).astype(np.uint8),
                agent_ids=tuple(f"a{i}" for i in range(n)),
                src=src.astype(np.int32),
                dst=dst.astype(np.int32),
                final=int(random.integers(n)),
            )
        )
    return pack(graphs, (random.random(count) < 0.5).tolist())


class ReferenceLayer(MessagePassing):
    """The paper's layer as written, edge by edge: psi(e) is [E, D] and U is applied to it."""

    def __init__(self, layer: EdgeAttention) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.layer = layer

    def forward(self, h: Tensor, edge_index: Tensor, psi: Tensor) -> Tensor:
        return self.propagate(edge_index, h=h, psi=psi).flatten(1) + self.layer.bias

    def message(self, h_i: Tensor, h_j: Tensor, psi: Tensor, index: Tensor, size_i: int) -> Tensor:
        heads = (-1, self.layer.heads, self.layer.channels)
        w = self.layer.node_projection
        sender, receiver = (h_j @ w.t()).view(heads), (h_i @ w.t()).view(heads)
        parts = [sender, receiver]
        if psi.shape[1]:
            parts.append((psi @ self.layer.edge_projection.t()).view(heads))
        a = torch.cat(list(self.layer.attention), dim=-1)
        logits = nn.functional.leaky_relu((torch.cat(parts, dim=-1) * a).sum(-1), 0.2)
        return softmax(logits, index, num_nodes=size_i).unsqueeze(-1) * sender


def reference(detector: GraphAttentionDetector, batch: GraphBatch) -> Tensor:
    sender, receiver = batch.x[batch.src], batch.x[batch.dst]
    psi = {
        "receiver": receiver,
        "sender": sender,
        "both": torch.cat([sender, receiver], dim=1),
        "none": batch.x.new_zeros(len(sender), 0),
    }[detector.options.edge_feature]
    h = batch.x
    for layer in detector.layers:
        h = nn.functional.elu(ReferenceLayer(layer)(h, torch.stack([batch.src, batch.dst]), psi))
    return h @ detector.head_weight + detector.head_bias


@pytest.mark.parametrize("edge_feature", BY_NODE)
def test_forward_and_gradients_equal_plain_message_passing(edge_feature: EdgeFeature) -> None:
    detector = build_detector("paper", D, seed=3, options=DetectorOptions(edge_feature))
    batch = collate(random_graphs(6, seed=1))
    batch.x.requires_grad_()
    weights = torch.randn(len(batch.x), generator=torch.Generator().manual_seed(0))
    wanted = [batch.x, *detector.parameters()]

    fast, slow = detector(batch), reference(detector, batch)
    torch.testing.assert_close(fast, slow, rtol=1e-5, atol=1e-5)
    fast_gradients = torch.autograd.grad((fast * weights).sum(), wanted)
    slow_gradients = torch.autograd.grad((slow * weights).sum(), wanted)
    names = ["x", *detector.roles()]
    for name, ours, theirs in zip(names, fast_gradients, slow_gradients, strict=True):
        assert theirs.abs().max() > 0, name
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, msg=f"gradient of {name}")


def test_one_layer_equals_gatconv() -> None:
    """GATConv's logit LeakyReLU(a_s W h_i + a_t W h_j + a_e U e) is the same formula."""
    layer = EdgeAttention(D, 4, 8, D, torch.Generator().manual_seed(5))
    batch = collate(random_graphs(5, seed=2))
    theirs = GATConv(D, 8, heads=4, edge_dim=D, add_self_loops=False, negative_slope=0.2)
    with torch.no_grad():
        theirs.lin.weight.copy_(layer.node_projection)
        theirs.lin_edge.weight.copy_(layer.edge_projection)
        for name, part in zip(("att_src", "att_dst", "att_edge"), layer.attention, strict=True):
            getattr(theirs, name).copy_(part.unsqueeze(0))
        layer.bias.uniform_(-1, 1, generator=torch.Generator().manual_seed(0))
        theirs.bias.copy_(layer.bias)
    edge = batch.x @ layer.edge_weight().t()
    ours = layer(batch.x, batch.src, batch.dst, torch.stack([torch.zeros_like(edge), edge], dim=1))
    edges = torch.stack([batch.src, batch.dst])
    torch.testing.assert_close(
        ours, theirs(batch.x, edges, batch.x[batch.dst]), rtol=1e-5, atol=1e-5
    )


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_permuting_agents_permutes_scores(seed: int) -> None:
    packed = random_graphs(1, seed)
    n = len(packed.x)
    order = np.random.default_rng(seed).permutation(n)
    place = np.argsort(order).astype(np.int32)
    permuted = replace(
        packed,
        x=packed.x[order],
        kind=packed.kind[order],
        src=place[packed.src],
        dst=place[packed.dst],
        final=place[packed.final],
    )
    detector = build_detector("paper", D, seed=0, options=DetectorOptions("both"))
    before, after = detector(collate(packed)), detector(collate(permuted))
    torch.testing.assert_close(after, before[order], rtol=1e-5, atol=1e-5)


def test_graphs_of_a_batch_do_not_influence_each_other() -> None:
    packed = random_graphs(8, seed=4)
    detector = build_detector("paper", D, seed=0)
    together = detector(collate(packed))
    apart = torch.cat([detector(collate(packed, np.array([g]))) for g in range(8)])
    torch.testing.assert_close(together, apart, rtol=1e-5, atol=1e-5)
    # Not by little: not at all, even where another graph is broken.
    packed.x[: packed.node_offsets[1]] = np.nan
    poisoned = detector(collate(packed))
    first = packed.node_offsets[1]
    assert poisoned[:first].isnan().all()
    torch.testing.assert_close(poisoned[first:], apart[first:], rtol=1e-5, atol=1e-5)


def test_one_node_graph_attends_to_itself_alone() -> None:
    """Softmax over one self-loop is 1: h' = W h + bias, so U and the attention vectors drop out."""
    detector = build_detector("paper", D, seed=7)
    batch = collate(random_graphs(1, seed=0, largest=1))
    h = batch.x
    for layer in detector.layers:
        h = nn.functional.elu(h @ layer.node_projection.t() + layer.bias)
    torch.testing.assert_close(detector(batch), h @ detector.head_weight + detector.head_bias)


def test_softmax_survives_huge_logits() -> None:
    detector = build_detector("paper", D, seed=0)
    batch = collate(random_graphs(3, seed=0))
    batch.x = batch.x * 1e6
    assert detector(batch).isfinite().all()


def test_the_receivers_edge_term_is_one_for_all_in_edges() -> None:
    """Where no logit changes sign, a receiver's term cancels in the softmax, a sender's not."""
    batch = collate(random_graphs(4, seed=9))
    heard = {}
    for edge_feature in ("none", "receiver", "sender"):
        layer = EdgeAttention(D, 4, 8, D, torch.Generator().manual_seed(5))
        with torch.no_grad():
            layer.attention[:2] *= 1e-3
        # Terms of 5 to 6 keep every logit on the positive side.
        term = 5 + torch.rand(len(batch.x), 4, generator=torch.Generator().manual_seed(1))
        zero = torch.full_like(term, 5.0)
        terms = {"none": (zero, zero), "receiver": (zero, term), "sender": (term, zero)}
        heard[edge_feature] = layer(
            batch.x, batch.src, batch.dst, torch.stack(terms[edge_feature], dim=1)
        )
    torch.testing.assert_close(heard["none"], heard["receiver"], rtol=1e-4, atol=1e-5)
    assert (heard["none"] - heard["sender"]).abs().max() > 1e-2


@pytest.mark.parametrize("residual", [False, True])
def test_every_parameter_has_a_role(residual: bool) -> None:
    for edge_feature in EDGE_FEATURES:
        options = DetectorOptions(edge_feature, residual=residual)
        detector = build_detector("paper", D, 0, options)
        names = [name for name, _ in detector.named_parameters()]
        assert list(detector.roles()) == names
    roles = build_detector("paper", D, seed=0).roles()
    assert roles["layers.1.edge_projection"] is Role.EDGE_PROJECTION
    assert roles["layers.0.node_projection"] is Role.NODE_PROJECTION
    assert roles["head_bias"] is Role.BIAS
    assert set(roles.values()) == set(Role) - {Role.STATISTIC, Role.TEXT_ROWS}


def test_parameter_count_of_the_paper_preset() -> None:
    """W 256 x 384 + 256 x 256, U 256 x 384 twice, a 3 x 256 twice, bias 256 twice, head 257."""
    expected = 256 * 384 + 256 * 256 + 2 * 256 * 384 + 2 * 3 * 256 + 2 * 256 + 257
    detector = build_detector("paper", 384, seed=0)
    assert sum(p.numel() for p in detector.parameters()) == expected == 362_753


def test_initial_weights_are_seeded_glorot_and_leave_the_global_generator_alone() -> None:
    state = torch.get_rng_state()
    first, again, other = (build_detector("paper", 384, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    for name, parameter in first.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name))
    assert not torch.equal(first.head_weight, other.head_weight)
    # U[-b, b] with b = sqrt(6 / (384 + 256)) has the deviation b / sqrt(3).
    w = first.get_parameter("layers.0.node_projection")
    bound = (6 / 640) ** 0.5
    assert bound * 0.999 < w.abs().max() <= bound
    assert w.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)


def test_unknown_choices_are_refused_by_name() -> None:
    with pytest.raises(
        SettingsError,
        match=r"detector\.preset: expected one of paper, recommended, small, got 'gcn'",
    ):
        build_detector("gcn", D, 0)
    with pytest.raises(SettingsError, match="dimension: expected at least 1, got 0"):
        build_detector("paper", 0, 0)
    assert issubclass(GraphAttentionDetector, Detector)
