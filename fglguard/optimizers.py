"""Optimizer steps with FedProx's proximal term, without what makes `torch.optim` slow to start.

The first optimizer of `torch.optim` in a process imports torch's compiler: seconds of CPU time in
each short-lived worker. The kernels below are those that it calls.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[tuple[Tensor, ...]], None]
"""Applies one gradient, a tensor for each parameter, in place."""

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def sgd(parameters: list[Tensor], anchor: list[Tensor], lr: float, decay: float, mu: float) -> Step:
    """Plain descent: theta <- theta - lr (g + decay theta + mu (theta - anchor))."""

    def step(gradients: tuple[Tensor, ...]) -> None:
        with torch.no_grad():
            pull = torch._foreach_sub(parameters, anchor) if mu else None
            if decay:
                torch._foreach_mul_(parameters, 1 - lr * decay)
            torch._foreach_add_(parameters, gradients, alpha=-lr)
            if pull is not None:
                torch._foreach_add_(parameters, pull, alpha=-lr * mu)

    return step


def adam(
    parameters: list[Tensor], anchor: list[Tensor], lr: float, decay: float, mu: float
) -> Step:
    r"""AdamW (Loshchilov and Hutter, 2019), then the proximal operator of the proximal term.

        theta' = AdamW(theta, g),   theta <- (theta' + lr mu anchor) / (1 + lr mu)

    Adam divides a gradient by its own running size, so a proximal gradient inside g would lose its
    scale: mu = 1 could stop training and mu = 0.01 do nothing. The proximal term is therefore
    kept out of g and applied exactly: argmin over z of
    ||z - theta'||^2 / (2 lr) + (mu / 2) ||z - anchor||^2 has the stationary point
    (z - theta') / lr + mu (z - anchor) = 0, which is the second formula. It is stable for every mu
    and, to first order in lr, equal to the term in `sgd`.
    """
    first = [torch.zeros_like(parameter) for parameter in parameters]
    second = [torch.zeros_like(parameter) for parameter in parameters]
    counts = [torch.zeros((), dtype=torch.float32) for _ in parameters]

    def step(gradients: tuple[Tensor, ...]) -> None:
        with torch.no_grad():
            torch._foreach_add_(counts, 1)
            torch._fused_adamw_(
                parameters,
                gradients,
                first,
                second,
                [],
                counts,
                lr=lr,
                beta1=BETA1,
                beta2=BETA2,
                weight_decay=decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
            if mu:
                torch._foreach_lerp_(parameters, anchor, lr * mu / (1 + lr * mu))

    return step
