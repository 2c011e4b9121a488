"""The kernels against torch.optim, and the proximal operator against its definition."""

import subprocess
import sys

import pytest
import torch

from fglguard.optimizers import adam, sgd

torch.set_num_threads(1)


def gradients(steps: int = 5) -> list[tuple[torch.Tensor, ...]]:
    source = torch.Generator().manual_seed(0)
    return [
        (torch.randn(7, 3, generator=source), torch.randn((), generator=source) * 1e-3)
        for _ in range(steps)
    ]


def parameters() -> list[torch.Tensor]:
    return [torch.linspace(-1, 1, 21).view(7, 3), torch.tensor(0.5)]


@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_without_proximal_term_equals_torch_optim(name: str, decay: float) -> None:
    ours, theirs = parameters(), [p.requires_grad_() for p in parameters()]
    if name == "adam":
        step = adam(ours, parameters(), 0.1, decay, 0.0)
        plain = torch.optim.AdamW(theirs, lr=0.1, weight_decay=decay, foreach=False)
    else:
        step = sgd(ours, parameters(), 0.1, decay, 0.0)
        plain = torch.optim.SGD(theirs, lr=0.1, weight_decay=decay)
    for gradient in gradients():
        step(gradient)
        for parameter, part in zip(theirs, gradient, strict=True):
            parameter.grad = part
        plain.step()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other.detach(), rtol=1e-6, atol=1e-6)


def test_adams_proximal_step_minimises_its_objective() -> None:
    """No grid point z beats theta in (z - theta')^2 / (2 lr) + (mu / 2) (z - anchor)^2."""
    lr, mu = 0.1, 3.0
    plain, proximal, anchor = parameters(), parameters(), [torch.zeros(7, 3), torch.tensor(-2.0)]
    gradient = gradients(1)[0]
    adam(plain, anchor, lr, 0.0, 0.0)(gradient)
    adam(proximal, anchor, lr, 0.0, mu)(gradient)
    for theta, moved, start in zip(proximal, plain, anchor, strict=True):

        def objective(z, moved=moved, start=start):
            return ((z - moved) ** 2 / (2 * lr) + mu / 2 * (z - start) ** 2).double()

        for shift in (-1.0, -1e-2, 1e-2, 1.0):
            assert (objective(theta) < objective(theta + shift)).all()


@pytest.mark.long
def test_training_does_not_import_torchs_compiler() -> None:
    """What this module is for: the compiler costs each new worker seconds."""
    code = (
        "import sys, torch\n"
        "from fglguard.optimizers import adam\n"
        "p = [torch.zeros(3)]\n"
        "adam(p, [torch.zeros(3)], 0.1, 0.1, 0.1)((torch.ones(3),))\n"
        "assert p[0][0] != 0\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0
