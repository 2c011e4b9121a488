"""What is known of episodes besides, a column a key, so that a partition needs no text."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SiloError
from fglguard.files import write_atomically

ATTRIBUTES = "attributes.json"


@dataclass(frozen=True)
class Attribute:
    """One attribute of all episodes.

    Attributes:
        values: Its values, in order of first appearance.
        codes: [episodes] int32, index into `values`; -1 where an episode lacks the attribute.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]


class AttributeColumns:
    """Collects the columns while episodes stream by."""

    def __init__(self) -> None:
        """No episode yet."""
        self._episodes = 0
        self._values: dict[str, dict[str, int]] = {}
        self._codes: dict[str, list[int]] = {}

    def add(self, attributes: Mapping[str, str]) -> None:
        """Take in one episode's attributes."""
        for key, value in attributes.items():
            values = self._values.setdefault(key, {})
            codes = self._codes.setdefault(key, [])
            codes += [-1] * (self._episodes - len(codes))
            codes.append(values.setdefault(value, len(values)))
        self._episodes += 1

    def columns(self) -> dict[str, Attribute]:
        """The attribute of each key."""
        return {
            key: Attribute(
                tuple(values),
                np.array(
                    self._codes[key] + [-1] * (self._episodes - len(self._codes[key])), np.int32
                ),
            )
            for key, values in self._values.items()
        }


def collect(records: Iterable[Mapping[str, str]]) -> dict[str, Attribute]:
    """The columns of a stream of attributes, one mapping an episode."""
    columns = AttributeColumns()
    for attributes in records:
        columns.add(attributes)
    return columns.columns()


def write_attributes(folder: Path, columns: Mapping[str, Attribute]) -> Path:
    """Write the columns, readable by their owner only; returns the file's path."""
    record = {
        key: {"values": list(column.values), "codes": column.codes.tolist()}
        for key, column in columns.items()
    }
    path = folder / ATTRIBUTES
    with write_atomically(path, mode=0o600) as file:
        file.write(json.dumps(record, ensure_ascii=False).encode())
    return path


def read_attributes(path: Path, episodes: int) -> dict[str, Attribute]:
    """Read the columns of `episodes` episodes.

    Raises:
        SiloError: The file can't be read or is damaged.
    """
    try:
        record = json.loads(path.read_bytes())
        return {key: _column(column, episodes) for key, column in record.items()}
    except OSError as error:
        raise SiloError(f"{path}: can't be read ({error.strerror})") from error
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise SiloError(
            f"{path}: damaged, expected columns of {episodes} codes ({error})"
        ) from None


def _column(record: Mapping[str, Any], episodes: int) -> Attribute:
    values, codes = tuple(record["values"]), np.array(record["codes"], dtype=np.int32)
    if codes.shape != (episodes,) or codes.min() < -1 or codes.max() >= len(values):
        raise ValueError(f"got shape {codes.shape}")
    return Attribute(values, codes)
