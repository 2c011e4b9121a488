"""The episodes of a silo as they are stored: a line of JSON each, mapped and read one by one."""

import json
import mmap
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode, episode_from_record
from fglguard.errors import SiloError
from fglguard.silo.arrays import map_array
from fglguard.silo.index import EPISODES


class Records:
    """Reads episodes; nothing is opened before one is asked for.

    Args:
        data: The folder of the silo's present state.
        count: Number of episodes.
    """

    def __init__(self, data: Path, count: int) -> None:
        self._data = data
        self._count = count

    def episodes(self, indices: NDArray[np.int64]) -> Iterator[Episode]:
        """Some episodes, in the order asked for.

        Raises:
            SiloError: The file is damaged or gone.
        """
        for where, record in self._records(indices.tolist()):
            yield episode_from_record(record, where)

    def ids(self) -> Iterator[str]:
        """Every episode's id, in order.

        Raises:
            SiloError: The file is damaged or gone.
        """
        for where, record in self._records(range(self._count)):
            if not isinstance(record, dict) or not isinstance(record.get("id"), str):
                raise SiloError(f"{where}: damaged, expected an episode with its id")
            yield record["id"]

    def _records(self, indices: Iterable[int]) -> Iterator[tuple[str, Any]]:
        """Each record with its file and line."""
        for index in indices:
            where = f"{self._data / EPISODES}:{index + 1}"
            try:
                record = json.loads(self._content[self._lines[index] : self._lines[index + 1]])
            except ValueError:
                raise SiloError(f"{where}: damaged, expected JSON") from None
            yield where, record

    @cached_property
    def _lines(self) -> NDArray[np.int64]:
        return map_array(self._data / "lines.npy", np.int64, (self._count + 1,))

    @cached_property
    def _content(self) -> mmap.mmap:
        path = self._data / EPISODES
        try:
            with path.open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise SiloError(
                f"{path}: can't be read ({error.strerror}); was the silo imported anew? Open it "
                f"again"
            ) from error
