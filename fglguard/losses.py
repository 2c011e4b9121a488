"""The detection loss: whom it counts, and how much the two classes weigh."""

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fglguard.detector import Detector
from fglguard.packed_graphs import GraphBatch, PackedGraphs

Labels = Literal["broadcast", "final"]
ClassWeight = Literal["none", "balanced"]

LARGEST_CLASS_WEIGHT = 10.0
"""A class rarer than 5 % weighs no more than one of 5 %: single episodes must not steer a site."""


def detection_loss(
    detector: Detector,
    hidden: Tensor,
    batch: GraphBatch,
    labels: Labels,
    class_weights: Tensor | None = None,
) -> tuple[Tensor, int]:
    """Mean binary cross-entropy of a batch, and how many logits the mean is over.

    Args:
        detector: Its training logits and, for `final`, its readout are used.
        hidden: The batch's node representations [N, H].
        batch: The graphs.
        labels: `broadcast`: over all nodes, each with its graph's label; `final`: over the
            episodes' logits, as the detector reads them out.
        class_weights: Weight of a safe and of an unsafe term, [2]; None: 1 each. The sum of the
            weighted terms is still divided by their number.
    """
    logits = detector.training_logits(hidden)
    if labels == "broadcast":
        wanted = batch.label[batch.graph]
    else:
        logits, wanted = detector.episode_logits(logits, batch), batch.label
    weights = None if class_weights is None else class_weights[wanted.long()]
    loss = functional.binary_cross_entropy_with_logits(logits, wanted, weights)
    return loss, len(wanted)


def balanced_class_weights(
    packed: PackedGraphs, chosen: NDArray[np.int64], labels: Labels
) -> Tensor | None:
    """Weights [2] with which safe and unsafe weigh alike in the loss over the chosen graphs.

    w_c = n / (2 n_c), but at most 10, with n_c the terms of class c in the loss: nodes where labels
    are broadcast, else episodes. Their mean over all terms is 1, unless one is cut at 10.

    Returns:
        None where only one class is there: nothing can be balanced.
    """
    terms = packed.nodes[chosen] if labels == "broadcast" else np.ones(len(chosen), dtype=np.int64)
    unsafe = int(terms[np.asarray(packed.label)[chosen] == 1].sum())
    counts = torch.tensor([int(terms.sum()) - unsafe, unsafe], dtype=torch.float64)
    if not counts.all():
        return None
    return (counts.sum() / (2 * counts)).clamp(max=LARGEST_CLASS_WEIGHT).float()
