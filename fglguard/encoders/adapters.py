"""Low-rank adapters on an encoder's layers, whose own weights then stay as they are."""

from typing import Any

import numpy as np
import torch
from torch import nn

from fglguard.errors import EncoderError

_MISSING = (
    "detector.encoder_rank needs packages that are not installed: pip install 'fglguard[lora]'"
)
ADAPTED = r"\d+\.(attention\.self\.(query|value)|intermediate\.dense|output\.dense)"
"""Of a list of BERT layers: Q and V, as published, and both sides of the MLP.

Masks freeze attention projections, and with them the adapters that stand there; those on the MLP
train under every mask."""

_STREAM = 0x10BA
"""Parts the draws of adapters from the detector's, which has the same seed."""


def adapt(layers: nn.ModuleList, rank: int, seed: int) -> None:
    r"""Put low-rank adapters on layers, in place (LoRA, arXiv 2106.09685).

        y = W x + b + B A x,   A [rank, inputs],   B [outputs, rank]

    B starts at zero, so that the layers compute what they did before, and A as the rows of a linear
    layer do. A and B become the layers' only parameters: what W, biases and normalisations hold is
    kept in buffers, outside `named_parameters()` and `state_dict()`, and moves with them.

    Args:
        layers: Layers of a BERT.
        rank: At least 1.
        seed: Of A; torch's global generator is left alone.

    Raises:
        EncoderError: The packages of the `lora` extra are missing.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise EncoderError(_MISSING) from error
    config = LoraConfig(r=rank, lora_alpha=rank, lora_dropout=0.0, target_modules=ADAPTED)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, _STREAM]).generate_state(1)[0]))
        inject_adapter_in_model(config, layers)
    for module in layers.modules():
        _hold_frozen(module)


def _hold_frozen(module: Any) -> None:
    """Make buffers of a module's own parameters that do not train."""
    frozen = [name for name, p in module.named_parameters(recurse=False) if not p.requires_grad]
    for name in frozen:
        values = getattr(module, name).detach()
        delattr(module, name)
        module.register_buffer(name, values, persistent=False)
