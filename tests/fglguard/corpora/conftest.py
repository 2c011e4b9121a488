"""What the importers' tests share. Every record in these tests is made up by hand."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fglguard.corpora import corpus
from fglguard.episode import Episode, Problem, episode_to_record
from fglguard.errors import CorpusError

WRONG = (None, True, -1, 7, 1.5, "", "text", "\ud800", [], [[]], {}, {"function": []})


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes JSON (or, for a name in .jsonl, a list as JSON Lines) below the test's folder."""

    def to(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(record) + "\n" for record in content))
        else:
            path.write_text(json.dumps(content))
        return path

    return to


@pytest.fixture
def readable() -> Callable[[Episode], str]:
    """Everything of an episode that a feature, a key or an id could carry, as one text."""

    def text(episode: Episode) -> str:
        record = episode_to_record(episode)
        record.pop("attributes", None)
        return json.dumps(record)

    return text


@pytest.fixture
def survives() -> Callable[..., None]:
    """Breaks every node of a record in every way and reads the result.

    Nothing but an episode, a reported problem or a CorpusError may come of it.
    """

    def check(name: str, record: Any, path: Path, store: Callable[[Any], Any]) -> None:
        read = skipped = 0
        for broken in _broken(record):
            store(broken)
            problems: list[Problem] = []
            try:
                read += len(list(corpus(name).read(path, problems=problems)))
            except CorpusError as error:
                assert str(path) in str(error)
            skipped += len(problems)
        assert read > 0
        assert skipped > 0

    return check


def _broken(record: Any) -> Iterator[Any]:
    for steps in _paths(record):
        for wrong in (*WRONG, KeyError):
            copied = copy.deepcopy(record)
            holder = copied
            for step in steps[:-1]:
                holder = holder[step]
            if wrong is KeyError:
                del holder[steps[-1]]
            else:
                holder[steps[-1]] = wrong
            yield copied


def _paths(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _paths(value, (*above, key))
