"""Checkpoints: what a killed run needs to go on as if nothing had happened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from fglguard.errors import FederationError
from fglguard.files import write_atomically
from fglguard.parameters import Segment

STATE = "strategy/"
"""What the names of a strategy's own vectors start with."""


@dataclass(frozen=True)
class Checkpoint:
    """The server's side of a run after a round.

    Attributes:
        server_round: The round that is over; 0 before the first.
        parameters: The global model, float32 [P].
        state: The strategy's own vectors, by name.
    """

    server_round: int
    parameters: NDArray[np.float32]
    state: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)


class Checkpoints:
    """The newest checkpoints of a run, each a safetensors file of named tensors.

    Whole files only: one is written beside and renamed, then older ones are removed, so that a
    full disk or a kill leaves the last good one.

    Args:
        folder: Where they are.
        keep: How many of the newest to keep; 0: all.
        segments: The model's layout.
    """

    def __init__(self, folder: Path, keep: int, segments: tuple[Segment, ...]) -> None:
        self._folder = folder
        self._keep = keep
        self._segments = segments

    def save(self, checkpoint: Checkpoint) -> None:
        """Write one, then let go of those that are too old.

        Raises:
            FederationError: It can't be written; earlier ones are untouched.
        """
        tensors = {s.name: checkpoint.parameters[s.span].reshape(s.shape) for s in self._segments}
        tensors |= {STATE + name: vector for name, vector in checkpoint.state.items()}
        metadata = {"round": str(checkpoint.server_round)}
        path = self._folder / f"round-{checkpoint.server_round:04d}.safetensors"
        try:
            with write_atomically(path) as file:
                file.write(safetensors.numpy.save(tensors, metadata))
        except OSError as error:
            raise FederationError(
                f"round {checkpoint.server_round}: its checkpoint can't be written to {path}: "
                f"{error.strerror}; the earlier ones are untouched"
            ) from error
        if self._keep:
            for old in self._files()[: -self._keep]:
                old.unlink()

    def newest(self) -> Checkpoint | None:
        """Read the newest one; None where there is none.

        Raises:
            FederationError: The file is damaged or belongs to another detector.
        """
        files = self._files()
        if not files:
            return None
        path = files[-1]
        try:
            tensors = safetensors.numpy.load_file(path)
            parts = [tensors.pop(s.name) for s in self._segments]
        except (OSError, SafetensorError) as error:
            raise FederationError(f"resume: {path} can't be read: {error}") from error
        except KeyError as error:
            raise FederationError(
                f"resume: {path}: expected a parameter named {error}, got none; was the run's "
                f"detector another?"
            ) from None
        return Checkpoint(
            server_round=_round_of(path),
            parameters=np.concatenate([part.reshape(-1) for part in parts]),
            state={name.removeprefix(STATE): vector for name, vector in tensors.items()},
        )

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("round-[0-9]*.safetensors"), key=_round_of)


def _round_of(path: Path) -> int:
    return int(path.stem.removeprefix("round-"))
