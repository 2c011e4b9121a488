import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fglguard.detector import Detector, Role
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import GraphBatch, PackedGraphs, pack

torch.set_num_threads(1)


class TinyDetector(Detector):
    """h = tanh(W x), logit = w . h: small enough to write its losses down again."""

    preset = "tiny"

    def __init__(self, dimension: int = 3, width: int = 4, seed: int = 0) -> None:
        super().__init__()
        self.dimension = dimension
        source = torch.Generator().manual_seed(seed)
        self.projection = nn.Parameter(torch.randn(width, dimension, generator=source))
        self.weight = nn.Parameter(torch.randn(width, generator=source))

    def hidden(self, batch: GraphBatch) -> Tensor:
        return torch.tanh(batch.x @ self.projection.t())

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.weight

    def roles(self) -> dict[str, Role]:
        return {"projection": Role.NODE_PROJECTION, "weight": Role.HEAD}


def build_graphs(count: int, dimension: int = 3, seed: int = 0) -> PackedGraphs:
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(1, 6))
        heard = random.random((n, n)) < 0.5
        np.fill_diagonal(heard, False)
        dst, src = np.nonzero(heard)
        graphs.append(
            EpisodeGraph(
                x=random.standard_normal((n, dimension)).astype(np.float32),
                kind=np.ones(n, dtype=np.uint8),
                agent_ids=tuple(f"a{i}" for i in range(n)),
                src=src.astype(np.int32),
                dst=dst.astype(np.int32),
                final=0,
            )
        )
    return pack(graphs, (random.random(count) < 0.5).tolist())


@pytest.fixture
def tiny():
    return TinyDetector


@pytest.fixture
def random_graphs():
    return build_graphs
