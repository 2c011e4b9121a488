"""Training of the peers: Adam over batches of graphs, the same bits for the same seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fglguard.batching import batches
from fglguard.errors import UpdateError
from fglguard.optimizers import adam
from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast.

    Attributes:
        epochs: Passes over the graphs.
        batch_size: Graphs a step.
        learning_rate: Of Adam.
        weight_decay: Decoupled.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0


def descend(
    model: nn.Module,
    graphs: PackedGraphs,
    loss: Callable[[GraphBatch, NDArray[np.int64]], Tensor | None],
    schedule: Schedule,
    seed: int,
) -> None:
    """Minimise a loss over batches of graphs, in place; the model is left in evaluation mode.

    Args:
        model: What trains.
        graphs: All of them are trained on.
        loss: From a batch and its graphs' positions; None where the batch teaches nothing. It may
            draw from torch's global generator, which is seeded here and restored afterwards.
        schedule: How long and how fast.
        seed: Of the shuffles and of what the loss draws.

    Raises:
        UpdateError: The loss is NaN or infinite.
    """
    parameters: list[Tensor] = list(model.parameters())
    step = adam(parameters, [], schedule.learning_rate, schedule.weight_decay, 0.0)
    root = np.random.SeedSequence(seed)
    shuffle, noise = np.random.default_rng(root), int(root.generate_state(1)[0])
    model.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(noise)
        for epoch in range(schedule.epochs):
            order = shuffle.permutation(len(graphs))
            for start in range(0, len(order), schedule.batch_size):
                positions = order[start : start + schedule.batch_size]
                value = loss(collate(graphs, positions), positions)
                if value is None:
                    continue
                if not math.isfinite(value.item()):
                    raise UpdateError(f"baseline: the loss is {value.item()} in epoch {epoch + 1}")
                step(torch.autograd.grad(value, parameters))
    model.eval()


def score_nodes(score: Callable[[GraphBatch], Tensor], graphs: PackedGraphs) -> NDArray[np.float64]:
    """[N] scores of all nodes, batch after batch, without gradients."""
    with torch.inference_mode():
        parts = [score(batch).double() for batch in batches(graphs, np.arange(len(graphs)))]
    return np.concatenate([np.zeros(0), *(part.numpy() for part in parts)])
