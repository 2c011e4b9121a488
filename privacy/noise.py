"""Where a mask's noise comes from: a seed in a simulation, a cipher's key stream at a real site.

A real site must not use an ordinary generator. Masked embeddings show the noise itself in every
row that no token touched, millions of numbers, and from a few thousand outputs of a Mersenne
Twister its whole state follows: all other noise of the same stream could then be subtracted.
"""

import math
import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

_BLOCK = 1 << 18
"""Numbers drawn at once: a megabyte, so that every pass over them stays in the cache."""


class Noise(Protocol):
    """Fills tensors with independent Gaussian numbers."""

    def fill(self, tensor: Tensor, sigma: float) -> Tensor:
        """Overwrite a contiguous float32 tensor with N(0, sigma^2), and return it."""
        ...


class SeededNoise:
    """The same numbers for the same seed: for simulations, where runs must repeat bit for bit.

    Args:
        seed: Entropy, e.g. (run, round, client).
    """

    def __init__(self, seed: Sequence[int]) -> None:
        state = np.random.SeedSequence(list(seed)).generate_state(1, np.uint64)
        self._generator = torch.Generator().manual_seed(int(state[0]))

    def fill(self, tensor: Tensor, sigma: float) -> Tensor:
        """Overwrite a contiguous float32 tensor with N(0, sigma^2), and return it."""
        return tensor.normal_(0.0, sigma, generator=self._generator)


class SecureNoise:
    r"""Numbers that no one can predict from others: AES-256 in counter mode under a fresh key.

    Box and Muller (1958): of two uniform u in (0, 1] and v in [0, 1),

        sqrt(-2 ln u) cos(2 pi v)   and   sqrt(-2 ln u) sin(2 pi v)

    are independent standard Gaussians; v in [-1/2, 1/2), as here, goes round the same circle. u and
    v have 32 bits, so no number is larger than 6.7. The key comes from the operating system and is
    known to nobody.
    """

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._stream = cipher.encryptor()

    def fill(self, tensor: Tensor, sigma: float) -> Tensor:
        """Overwrite a contiguous float32 tensor with N(0, sigma^2), and return it."""
        flat = tensor.view(-1)
        for start in range(0, len(flat), _BLOCK):
            self._draw(flat[start : start + _BLOCK], sigma)
        return tensor

    def _draw(self, part: Tensor, sigma: float) -> None:
        half = (len(part) + 1) // 2
        rest = len(part) - half
        words = np.frombuffer(self._stream.update(bytes(8 * half)), dtype=np.uint32)
        radius = torch.from_numpy(words[:half].astype(np.float32)).mul_(2.0**-32)
        # A float32 rounds the largest words up to 1 and the smallest is 0: ln u needs u > 0.
        radius.clamp_min_(2.0**-32).log_().mul_(-2).sqrt_().mul_(sigma)
        # As signed words, since a whole turn may as well go from -pi to pi: quicker to convert.
        signed = torch.from_numpy(words[half:].view(np.int32).astype(np.float32))
        angle = signed.mul_(2 * math.pi * 2.0**-32)
        torch.cos(angle, out=part[:half]).mul_(radius)
        torch.sin(angle[:rest], out=part[half:]).mul_(radius[:rest])
