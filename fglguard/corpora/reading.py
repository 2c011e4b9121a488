"""From a file or a folder to episodes: what every importer does alike."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fglguard.episode import Episode, Problem
from fglguard.errors import CorpusError, EpisodeError, shown


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stands.

    Attributes:
        file: The file.
        root: The path the caller named: the file itself or a folder above it.
        place: The record's place in the file, e.g. `:12` or `: record 3`; empty if it is the
            whole file.
        domain: Domain that its episode gets; empty where the record has its own.
    """

    file: Path
    root: Path
    place: str
    domain: str

    def __str__(self) -> str:
        return f"{self.file}{self.place}"

    @property
    def name(self) -> str:
        """File and place, relative to the path the caller named."""
        base = self.root if self.root.is_dir() else self.root.parent
        return f"{self.file.relative_to(base).as_posix()}{self.place}"


class Reader(ABC):
    """A source format: finds its files, reads their records, tells of those it can't use.

    Attributes:
        name: Name of the format, and the default domain.
        looked_for: The files it reads, in words for an error.
        suffixes: Endings of the files it reads.
    """

    looked_for = "*.json or *.jsonl files"
    suffixes: tuple[str, ...] = (".json", ".jsonl")

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def outcomes(self, path: Path, domain: str | None) -> Iterator[Episode | Problem]:
        """Every episode and every problem of a file or a folder, in a fixed order."""

    def accepts(self, file: Path) -> bool:
        """Whether a file's name is one of the format's."""
        return file.suffix in self.suffixes

    def records(self, file: Path) -> Iterator[tuple[str, Any]]:
        """Place and content of each record of a file; a record that can't be parsed is an error.

        JSON Lines hold a record a line. A JSON file holds one, or a list of them.
        """
        if file.suffix == ".jsonl":
            yield from _lines(file)
            return
        content = load_json(file)
        if isinstance(content, list):
            yield from ((f": record {index}", record) for index, record in enumerate(content))
        else:
            yield "", content

    def read(
        self,
        path: Path,
        *,
        domain: str | None = None,
        problems: list[Problem] | None = None,
        strict: bool = False,
    ) -> Iterator[Episode]:
        """Read every episode; see `fglguard.corpora.Corpus.read`."""
        first: Problem | None = None
        found = False
        for outcome in self.outcomes(path, domain):
            if isinstance(outcome, Episode):
                found = True
                yield outcome
            elif strict:
                raise CorpusError(str(outcome))
            else:
                first = first or outcome
                if problems is not None:
                    problems.append(outcome)
        if not found:
            reason = f"; the first problem is {first}" if first else ""
            raise CorpusError(f"{path}: found no {self.name} episode in it{reason}")

    def files(self, path: Path) -> list[Path]:
        """The format's files, in order of their names.

        Raises:
            CorpusError: There is none.
        """
        if not path.exists():
            raise CorpusError(f"{path}: expected a file or a folder, there is none")
        if path.is_file():
            if self.accepts(path):
                return [path]
        else:
            found = [file for file in path.rglob("*") if self.accepts(file) and file.is_file()]
            if found:
                return sorted(found, key=lambda file: file.relative_to(path).as_posix())
        raise CorpusError(f"{path}: expected {self.looked_for} ({self.name}), found none")


class Importer(Reader):
    """A source format whose records are episodes.

    Attributes:
        keeps_names: Whether records bring their ids, so that one used twice is an error.
        keeps_domains: Whether records may bring their domains: a source's domain is then empty
            unless the caller asked for one.
    """

    keeps_names = False
    keeps_domains = False

    @abstractmethod
    def episode(self, record: Any, source: Source) -> Episode | None:
        """The record's episode, or None for one that the format leaves out on purpose.

        Raises:
            CorpusError: The record is not of the format; the text names the key.
        """

    def outcomes(self, path: Path, domain: str | None) -> Iterator[Episode | Problem]:
        """The outcome of each record."""
        domain = domain or ("" if self.keeps_domains else self.name)
        used: dict[str, Source] = {}
        for file in self.files(path):
            try:
                for place, record in self.records(file):
                    source = Source(file, path, place, domain)
                    outcome = self._attempt(record, source)
                    if isinstance(outcome, Episode):
                        yield self._once(outcome, source, used)
                    elif outcome is not None:
                        yield outcome
            except CorpusError as error:
                yield Problem(str(file), str(error))

    def _once(self, episode: Episode, source: Source, used: dict[str, Source]) -> Episode | Problem:
        """The episode under an id that no other has: equal records are counted."""
        if episode.id in used and self.keeps_names:
            where = used[episode.id]
            return Problem(str(source), f"id: {shown(episode.id)} was already used in {where}")
        name, count = episode.id, 1
        while name in used:
            count += 1
            name = f"{episode.id}-{count}"
        used[name] = source
        return episode if count == 1 else replace(episode, id=name)

    def _attempt(self, record: Any, source: Source) -> Episode | Problem | None:
        try:
            if isinstance(record, CorpusError):
                raise record
            return self.episode(record, source)
        except (CorpusError, EpisodeError) as error:
            return Problem(str(source), str(error))
        except RecursionError:
            return Problem(str(source), "it is nested too deeply to be an episode")


def load_json(file: Path) -> Any:
    """A whole JSON file.

    Raises:
        CorpusError: It can't be read or parsed. The text leaves the file's name to the caller.
    """
    try:
        return _parse(file.read_bytes())
    except OSError as error:
        raise CorpusError(f"can't be read: {error.strerror}") from error


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    yield f":{number}", _parse(line.strip())
                except CorpusError as error:
                    yield f":{number}", error
    except OSError as error:
        raise CorpusError(f"can't be read: {error.strerror}") from error


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"expected UTF-8, got byte 0x{content[error.start]:02x} at byte {error.start}"
        ) from None
    except json.JSONDecodeError as error:
        raise CorpusError(
            f"expected JSON, got broken JSON at line {error.lineno}, column {error.colno} "
            f"({error.msg})"
        ) from None
    except RecursionError:
        raise CorpusError("JSON is nested too deeply to be an episode") from None
    except ValueError:  # Python reads integers of at most a few thousand digits
        raise CorpusError("expected numbers of at most 4300 digits") from None
