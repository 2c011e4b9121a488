"""One layer of edge-conditioned graph attention."""

import math

import torch
from torch import Tensor, nn

NEGATIVE_SLOPE = 0.2


class EdgeAttention(nn.Module):
    r"""One layer of edge-conditioned multi-head graph attention (FGLGuard, arXiv 2609.02967).

    For every edge i -> j, self-loops included, and every head:

        a_ij = softmax over j's in-edges of LeakyReLU(a . [W h_i ; W h_j ; U psi(e_ij)])
        h'_j = sum over i of a_ij W h_i + bias

    Heads are concatenated; the slope of LeakyReLU is 0.2. `psi(e_ij)` is the mean of the rounds at
    the edge's ends and hence a function of its two nodes, so `a_e . U psi(e_ij)` is a sum of
    one term a sender and one a receiver. They come folded, as `edge_terms`: U is never applied
    to an edge.

    Two departures from the paper. With `messages`, psi(e_ij) is the mean of what i sent to j, which
    is no function of the two nodes; it enters the logit as above and is heard as well:

        h'_j = sum over i of a_ij (W h_i + V psi(e_ij)) + bias

    With `residual`, h'_j has R h_j added; R is the identity where h is as wide as the output, and a
    matrix that is learned elsewhere. A node without in-edges gets the bias (and R h_j) alone.

    Shapes: h [N, inputs]; src, dst [E]; output [N, heads * channels].

    Args:
        inputs: Width of h.
        heads: Attention heads.
        channels: Width of one head.
        edge_inputs: Width of psi(e); 0 leaves the edge term out.
        generator: Source of the Glorot-uniform initial weights.
        messages: psi(e) comes with each edge instead of folded by node.
        residual: Add R h_j.
    """

    def __init__(
        self,
        inputs: int,
        heads: int,
        channels: int,
        edge_inputs: int,
        generator: torch.Generator,
        *,
        messages: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.heads, self.channels = heads, channels
        width = heads * channels
        ends = 3 if edge_inputs else 2
        self.node_projection = glorot((width, inputs), inputs, width, generator)
        self.edge_projection = (
            glorot((width, edge_inputs), edge_inputs, width, generator) if edge_inputs else None
        )
        self.attention = glorot((ends, heads, channels), ends * channels, 1, generator)
        self.bias = nn.Parameter(torch.zeros(width))
        self.message_projection = (
            glorot((width, edge_inputs), edge_inputs, width, generator) if messages else None
        )
        self.residual = residual
        self.residual_projection = (
            glorot((width, inputs), inputs, width, generator)
            if residual and inputs != width
            else None
        )

    def edge_weight(self) -> Tensor:
        """a_e^T U, [heads, edge_inputs]: what maps psi(e) to its share of the attention logit."""
        assert self.edge_projection is not None
        projection = self.edge_projection.view(self.heads, self.channels, -1)
        return torch.einsum("hc,hcd->hd", self.attention[2], projection)

    def forward(
        self,
        h: Tensor,
        src: Tensor,
        dst: Tensor,
        edge_terms: Tensor | None,
        messages: Tensor | None = None,
    ) -> Tensor:
        """Attend over in-edges.

        Args:
            h: Node states [N, inputs].
            src: Senders [E].
            dst: Receivers [E].
            edge_terms: Edge share of the logit by node, [N, 2, heads]: as sender, as receiver.
            messages: psi(e) of each edge [E, edge_inputs], for a layer with `messages`.
        """
        nodes = h.shape[0]
        projected = h @ self.node_projection.t()
        by_head = projected.view(nodes, self.heads, self.channels)
        terms = torch.einsum("nhc,ehc->neh", by_head, self.attention[:2])
        if edge_terms is not None:
            terms = terms + edge_terms
        logits = terms[:, 0][src] + terms[:, 1][dst]
        sent = by_head.index_select(0, src)
        if messages is not None:
            logits = logits + messages @ self.edge_weight().t()
            sent = sent + self._message_values(messages)
        logits = nn.functional.leaky_relu(logits, NEGATIVE_SLOPE)
        sent = sent * _softmax_by_receiver(logits, dst, nodes).unsqueeze(-1)
        # An expanded index takes torch's fast row-wise path; index_add_ copies row by row.
        receivers = dst.unsqueeze(-1).expand(-1, projected.shape[1])
        heard = torch.zeros_like(projected).scatter_add(0, receivers, sent.flatten(1))
        heard = heard + self.bias
        return heard + self._carried(h) if self.residual else heard

    def _message_values(self, messages: Tensor) -> Tensor:
        """V psi(e) of each edge, [E, heads, channels]."""
        assert self.message_projection is not None
        values = messages @ self.message_projection.t()
        return values.view(len(messages), self.heads, self.channels)

    def _carried(self, h: Tensor) -> Tensor:
        """R h, [N, heads * channels]."""
        return h if self.residual_projection is None else h @ self.residual_projection.t()


def _softmax_by_receiver(logits: Tensor, dst: Tensor, nodes: int) -> Tensor:
    """Softmax of logits [E, heads] over the edges that share a receiver."""
    index = dst.unsqueeze(-1).expand_as(logits)
    shape = (nodes, logits.shape[1])
    # The shift cancels in the quotient, so it needs no gradient.
    largest = logits.new_full(shape, -math.inf).scatter_reduce(0, index, logits.detach(), "amax")
    powers = (logits - largest[dst]).exp()
    sums = powers.new_zeros(shape).scatter_add(0, index, powers)
    return powers / sums[dst]


def glorot(
    shape: tuple[int, ...], fan_in: int, fan_out: int, generator: torch.Generator
) -> nn.Parameter:
    """Uniform on +-sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(6 / (fan_in + fan_out))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
