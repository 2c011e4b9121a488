"""What a silo knows of its episodes without reading their text: labels, splits, texts, offsets."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS, assign_splits, task_groups
from fglguard.episode import Episode, encode_line
from fglguard.errors import SiloError, shown
from fglguard.files import write_atomically
from fglguard.silo.arrays import save_array
from fglguard.silo.attributes import AttributeColumns, write_attributes

EPISODES = "episodes.jsonl"
TEXT_ID_BYTES = 16
LEFT_OUT = 255
_SPLIT_CODES = {name: code for code, name in enumerate(SPLITS)}


@dataclass(slots=True)
class IndexBuilder:
    """Collects the index while episodes stream by."""

    lines: list[int] = field(default_factory=lambda: [0])
    label: list[bool | None] = field(default_factory=list)
    clean: list[int] = field(default_factory=list)
    domain: list[str] = field(default_factory=list)
    tasks: list[tuple[str, ...]] = field(default_factory=list)
    split_names: list[str | None] = field(default_factory=list)
    message_text: list[int] = field(default_factory=list)
    texts: dict[bytes, int] = field(default_factory=dict)
    attributes: AttributeColumns = field(default_factory=AttributeColumns)
    _ids: set[str] = field(default_factory=set)

    def add(self, episode: Episode, line_bytes: int) -> None:
        """Take in one episode.

        Raises:
            SiloError: Its id was used before.
        """
        if episode.id in self._ids:
            raise SiloError(
                f"episode {len(self.label)}: id {shown(episode.id)} is used twice; ids are unique "
                f"in a silo"
            )
        self._ids.add(episode.id)
        self.lines.append(self.lines[-1] + line_bytes)
        self.label.append(episode.unsafe)
        self.clean.append(_clean(episode))
        self.domain.append(episode.domain)
        self.tasks.append(episode.task)
        self.split_names.append(episode.attributes.get("split"))
        self.attributes.add(episode.attributes)
        for text in episode.texts:
            self.message_text.append(self.texts.setdefault(text_id(text), len(self.texts)))


def text_id(text: str) -> bytes:
    """A text's key in the embedding cache: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(text.encode()).digest()[:TEXT_ID_BYTES]


def write_episodes_indexed(folder: Path, episodes: Iterable[Episode]) -> IndexBuilder:
    """Stream episodes to disk and index them on the way.

    Raises:
        SiloError: There are no episodes, or one does not fit in with the others.
    """
    builder = IndexBuilder()
    with write_atomically(folder / EPISODES, mode=0o600) as file:
        for episode in episodes:
            line = encode_line(episode)
            builder.add(episode, len(line))
            file.write(line)
        if not builder.label:
            raise SiloError("a silo needs at least one episode, got none")
    return builder


def write_index(
    folder: Path, builder: IndexBuilder, split: NDArray[np.uint8]
) -> tuple[list[Path], tuple[str, ...]]:
    """Write the index; returns its files' paths and the domains' names."""
    domains = tuple(sorted(set(builder.domain)))
    codes = {name: code for code, name in enumerate(domains)}
    ids = np.frombuffer(b"".join(builder.texts), dtype=np.uint8).reshape(-1, TEXT_ID_BYTES)
    arrays: dict[str, NDArray[Any]] = {
        "lines": np.array(builder.lines, dtype=np.int64),
        "label": np.array([-1 if y is None else int(y) for y in builder.label], dtype=np.int8),
        "clean": np.array(builder.clean, dtype=np.int8),
        "domain": np.array([codes[name] for name in builder.domain], dtype=np.int32),
        "split": split,
        "group": task_groups(builder.tasks, builder.domain),
        "message_text": np.array(builder.message_text, dtype=np.int64),
        "text_ids": ids,
    }
    paths = [save_array(folder / f"{name}.npy", array) for name, array in arrays.items()]
    paths.append(write_attributes(folder, builder.attributes.columns()))
    return [folder / EPISODES, *paths], domains


def choose_splits(
    builder: IndexBuilder,
    splits: Sequence[int] | NDArray[np.integer] | None,
    fractions: tuple[float, float, float],
    seed: int,
) -> NDArray[np.uint8]:
    """Split codes: those given, else those that every episode carries, else assigned by task.

    An unlabelled episode is in no split: it can be scored, but neither train, calibrate nor test.

    Raises:
        SiloError: The codes given are too many, too few, or none of 0, 1, 2, 255; or a task
            stands on two of the sides that episodes carry.
    """
    unlabelled = np.array([label is None for label in builder.label])
    return np.where(unlabelled, np.uint8(LEFT_OUT), _chosen(builder, splits, fractions, seed))


def _chosen(
    builder: IndexBuilder,
    splits: Sequence[int] | NDArray[np.integer] | None,
    fractions: tuple[float, float, float],
    seed: int,
) -> NDArray[np.uint8]:
    if splits is not None:
        return _given(np.asarray(splits), len(builder.label))
    if all(name is not None for name in builder.split_names):
        return _published(builder)
    return assign_splits(
        builder.tasks,
        fractions=fractions,
        seed=seed,
        strata=builder.domain,
        labels=builder.label,
    )


def _published(builder: IndexBuilder) -> NDArray[np.uint8]:
    """The splits that the episodes carry, which must keep every task on one side."""
    side_of: dict[str, str] = {}
    for number, (keys, name) in enumerate(zip(builder.tasks, builder.split_names, strict=True)):
        assert name is not None
        for key in keys:
            if side_of.setdefault(key, name) != name:
                raise SiloError(
                    f"episode {number}: attributes.split: task {shown(key)} stands in "
                    f"{side_of[key]!r} and in {name!r}; leave the splits out to have them assigned"
                )
    return np.array([_SPLIT_CODES[name] for name in builder.split_names if name], np.uint8)


def _given(splits: NDArray[np.integer], episodes: int) -> NDArray[np.uint8]:
    allowed = [*_SPLIT_CODES.values(), LEFT_OUT]
    if splits.shape != (episodes,) or not np.isin(splits, allowed).all():
        raise SiloError(
            f"splits: expected one of {', '.join(map(str, allowed))} for each of {episodes} "
            f"episodes, got an array of shape {splits.shape} with values "
            f"{np.unique(splits)[:8].tolist()}"
        )
    return splits.astype(np.uint8)


def _clean(episode: Episode) -> int:
    attack = episode.attributes.get("attack")
    return -1 if attack is None else int(attack == "none")
