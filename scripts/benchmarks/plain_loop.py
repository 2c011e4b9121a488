"""The reference: federated training as a plain, sequential PyTorch Geometric loop.

What one writes first: a list of `Data`, a `DataLoader` that collates each batch, two `GATConv`
layers with edge features, autograd for the proximal term, `torch.optim.SGD`, state dicts averaged
by name. Same model, same graphs, same shuffles and same steps as the federation's, from which it
takes nothing but its initial weights.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv

from fglguard.detector import Detector
from fglguard.packed_graphs import PackedGraphs
from fglguard.settings import StrategySettings

Weights = dict[str, Tensor]


class PlainModel(nn.Module):
    """The detector `paper` in PyTorch Geometric's words."""

    def __init__(self, dimension: int, hidden: int = 256, heads: int = 4) -> None:
        super().__init__()
        width = hidden // heads
        # Self-loops are in the data: GATConv's own would average what a node hears.
        options = {"heads": heads, "edge_dim": dimension, "add_self_loops": False}
        self.first = GATConv(dimension, width, **options)
        self.second = GATConv(hidden, width, **options)
        self.head = nn.Linear(hidden, 1)

    def forward(self, data: Data) -> Tensor:
        """Logits [N]."""
        h = nn.functional.elu(self.first(data.x, data.edge_index, data.edge_attr))
        h = nn.functional.elu(self.second(h, data.edge_index, data.edge_attr))
        return self.head(h).squeeze(-1)


def plain_graphs(packed: PackedGraphs, rows: Sequence[int]) -> list[Data]:
    """Graphs as a list of `Data`, with self-loops and the edge features written out."""
    graphs = []
    for row in rows:
        nodes = slice(int(packed.node_offsets[row]), int(packed.node_offsets[row + 1]))
        edges = slice(int(packed.edge_offsets[row]), int(packed.edge_offsets[row + 1]))
        x = torch.from_numpy(np.array(packed.x[nodes]))
        loops = np.arange(len(x))
        src = np.concatenate([packed.src[edges], loops]).astype(np.int64)
        dst = np.concatenate([packed.dst[edges], loops]).astype(np.int64)
        label = torch.full((len(x),), float(packed.label[row]))
        index = torch.from_numpy(np.stack([src, dst]))
        graphs.append(Data(x=x, edge_index=index, edge_attr=x[index[1]], y=label))
    return graphs


def initial_weights(detector: Detector) -> Weights:
    """The detector's weights under the names of `PlainModel`."""
    weights: Weights = {}
    for name, layer in zip(("first", "second"), detector.layers, strict=True):
        weights[f"{name}.lin.weight"] = layer.node_projection
        weights[f"{name}.lin_edge.weight"] = layer.edge_projection
        for end, attention in zip(("src", "dst", "edge"), layer.attention, strict=True):
            weights[f"{name}.att_{end}"] = attention.unsqueeze(0)
        weights[f"{name}.bias"] = layer.bias
    weights["head.weight"] = detector.head_weight.unsqueeze(0)
    weights["head.bias"] = detector.head_bias.unsqueeze(0)
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def plain_round(
    model: PlainModel,
    weights: Weights,
    clients: Sequence[tuple[list[Data], Sequence[int]]],
    settings: StrategySettings,
) -> Weights:
    """One round over (graphs, seed) pairs, one client after another; the next global weights."""
    total, average = 0, {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
    trained = []
    for graphs, seed in clients:
        model.load_state_dict(weights)
        _train(model, graphs, seed, settings)
        nodes = sum(graph.num_nodes for graph in graphs)
        trained.append((nodes, {k: v.clone() for k, v in model.state_dict().items()}))
        total += nodes
    for nodes, state in trained:
        for name in average:
            average[name] += nodes / total * state[name]
    return average


def _train(
    model: PlainModel, graphs: list[Data], seed: Sequence[int], settings: StrategySettings
) -> None:
    model.train()
    start = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    shuffle = np.random.default_rng(np.random.SeedSequence(list(seed)))
    for _ in range(settings.epochs):
        order = shuffle.permutation(len(graphs)).tolist()
        for batch in DataLoader(graphs, batch_size=settings.batch_size, sampler=order):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), batch.y)
            pull = sum(((p - q) ** 2).sum() for p, q in zip(model.parameters(), start, strict=True))
            (loss + 0.5 * settings.mu * pull).backward()
            optimizer.step()
