"""Edge-conditioned attention over one small graph, in numpy: without a batch's overhead."""

import numpy as np
from numpy.typing import NDArray

from fglguard.edge_attention import NEGATIVE_SLOPE, EdgeAttention

Matrix = NDArray[np.float32]
MOST_NODES = 64
"""Attention is held as a matrix of nodes by nodes; of more nodes most of it would be empty."""


def attend(
    layer: EdgeAttention,
    h: Matrix,
    src: NDArray[np.integer],
    dst: NDArray[np.integer],
    terms: Matrix | None,
) -> Matrix:
    """What `EdgeAttention.forward` gives for one graph without `messages`, to rounding.

    Args:
        layer: The layer.
        h: Node states [n, inputs].
        src: Senders [e]; each pair of sender and receiver stands once.
        dst: Receivers [e].
        terms: Edge share of the logit by node, [n, 2, heads]: as sender, as receiver; None: none.

    Returns:
        [n, heads * channels].
    """
    nodes = len(h)
    attention = layer.attention.detach().numpy()
    projected = h @ layer.node_projection.detach().numpy().T
    by_head = projected.reshape(nodes, layer.heads, layer.channels)
    ends = np.stack([(by_head * attention[end]).sum(-1) for end in (0, 1)], axis=1)
    if terms is not None:
        ends += terms
    logits = ends[src, 0] + ends[dst, 1]
    logits = np.where(logits > 0, logits, np.float32(NEGATIVE_SLOPE) * logits)
    weights = np.full((nodes, nodes, layer.heads), -np.inf, np.float32)
    weights[dst, src] = logits
    # A node that nobody speaks to has no largest logit, and no weight on anybody.
    largest = weights.max(axis=1, keepdims=True)
    weights = np.exp(weights - np.where(np.isfinite(largest), largest, np.float32(0)))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    heard = weights.transpose(2, 0, 1) @ by_head.transpose(1, 0, 2)
    out: Matrix = heard.transpose(1, 0, 2).reshape(nodes, -1) + layer.bias.detach().numpy()
    if layer.residual:
        out += _carried(layer, h)
    return out


def elu(values: Matrix) -> Matrix:
    """X where x is above 0, else e^x - 1."""
    return np.where(values > 0, values, np.expm1(np.minimum(values, 0)))


def _carried(layer: EdgeAttention, h: Matrix) -> Matrix:
    if layer.residual_projection is None:
        return h
    carried: Matrix = h @ layer.residual_projection.detach().numpy().T
    return carried
