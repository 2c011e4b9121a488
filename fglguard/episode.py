"""Episodes: one complete task execution of a multi-agent system, validated, as JSON Lines."""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fglguard.episode_rules import (
    SCHEMA,
    AgentKind,
    LabelSource,
    MessageKind,
    check_episode,
)
from fglguard.errors import EpisodeError, shown
from fglguard.files import write_atomically


@dataclass(frozen=True, slots=True)
class Agent:
    """Whoever speaks: a user, an agent, a tool or an environment.

    Attributes:
        id: Unique in its episode. Never a feature.
        kind: What sort of speaker it is.
        unsafe: Its own label where the source has one, else None.
    """

    id: str
    kind: AgentKind
    unsafe: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance, tool call or tool result.

    Attributes:
        round: Counts from 0 and never falls within an episode.
        sender: Id of the agent that spoke.
        receivers: Ids of those that heard it; empty for a thought nobody hears.
        text: What was said, at most MAX_TEXT_BYTES of UTF-8, not empty.
        kind: `say`, `call` (of a tool) or `result` (of a call).
    """

    round: int
    sender: str
    receivers: tuple[str, ...]
    text: str
    kind: MessageKind = "say"


@dataclass(frozen=True, slots=True)
class Episode:
    """One task execution.

    Attributes:
        id: Unique in a silo.
        domain: What the episode is about, e.g. an AgentDojo suite. The federation balances over it.
        task: Split keys. Two episodes that share one never stand on two sides of a split.
        agents: Every agent that speaks or hears.
        messages: In the order they were said.
        final_agent: Id of the agent whose answer is guarded.
        unsafe: The label, None where there is none.
        label_source: Who gave the label; None exactly when `unsafe` is None.
        attributes: What is known of the episode besides (agent model, attack wording, ...), for
            partitions and strata. Never a feature. `attack` is "none" where no attack was present.
    """

    id: str
    domain: str
    task: tuple[str, ...]
    agents: tuple[Agent, ...]
    messages: tuple[Message, ...]
    final_agent: str
    unsafe: bool | None = None
    label_source: LabelSource | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise EpisodeError where the episode does not hold together."""
        check_episode(self)

    @property
    def kinds(self) -> dict[str, AgentKind]:
        """Kind of each agent by id."""
        return {agent.id: agent.kind for agent in self.agents}

    @property
    def texts(self) -> list[str]:
        """Every message's text, in order."""
        return [message.text for message in self.messages]


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that could not be read: where it stands and what is wrong with it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def episode_from_record(record: Any, where: str = "record") -> Episode:
    """Build an episode from its JSON record, schema 1.

    Args:
        record: The parsed JSON object.
        where: Named in errors, e.g. `episodes.jsonl:12`.

    Raises:
        EpisodeError: The record is not a valid episode; the text names the key at fault.
    """
    try:
        return _parse(record)
    except EpisodeError as error:
        raise EpisodeError(f"{where}: {error}") from None


def episode_to_record(episode: Episode) -> dict[str, Any]:
    """The episode's JSON record; `episode_from_record` gives the same episode back."""
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "id": episode.id,
        "domain": episode.domain,
        "task": list(episode.task),
        "agents": [
            {"id": a.id, "kind": a.kind} | ({} if a.unsafe is None else {"unsafe": a.unsafe})
            for a in episode.agents
        ],
        "messages": [
            {
                "round": m.round,
                "sender": m.sender,
                "receivers": list(m.receivers),
                "text": m.text,
                "kind": m.kind,
            }
            for m in episode.messages
        ],
        "final_agent": episode.final_agent,
        "unsafe": episode.unsafe,
        "label_source": episode.label_source,
    }
    if episode.attributes:
        record["attributes"] = dict(episode.attributes)
    return record


def read_episodes(
    path: Path, *, strict: bool = False, problems: list[Problem] | None = None
) -> Iterator[Episode]:
    """Read episodes from a JSON Lines file, one at a time.

    Args:
        path: The file. Blank lines are passed over.
        strict: Raise at the first bad line instead of skipping it.
        problems: Receives one entry for each line that was skipped.

    Raises:
        EpisodeError: The file can't be opened, or a line is bad and `strict` is set.
    """
    seen: dict[str, int] = {}
    try:
        file = path.open("rb")
    except OSError as error:
        raise EpisodeError(f"{path}: can't be read: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                episode = episode_from_record(_decode(content, where), where)
                if episode.id in seen:
                    raise EpisodeError(
                        f"{where}: id {shown(episode.id)} was already used in line "
                        f"{seen[episode.id]}"
                    )
            except EpisodeError as error:
                if strict:
                    raise
                if problems is not None:
                    problems.append(Problem(where, str(error).removeprefix(f"{where}: ")))
                continue
            seen[episode.id] = number
            yield episode


def write_episodes(path: Path, episodes: Iterable[Episode]) -> int:
    """Write episodes as JSON Lines, readable by their owner only; returns how many.

    The file appears whole or not at all.
    """
    count = 0
    with write_atomically(path, mode=0o600) as file:
        for episode in episodes:
            file.write(encode_line(episode))
            count += 1
    return count


def encode_line(episode: Episode) -> bytes:
    """One line of JSON Lines, newline included."""
    return json.dumps(episode_to_record(episode), ensure_ascii=False).encode() + b"\n"


def _decode(line: bytes, where: str) -> Any:
    try:
        # Without its end: JSON that is cut off would else be found broken on the next line.
        return json.loads(line.rstrip(b"\r\n").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise EpisodeError(
            f"{where}: expected UTF-8, got byte 0x{line[error.start]:02x} at column "
            f"{error.start + 1}"
        ) from None
    except json.JSONDecodeError as error:
        raise EpisodeError(
            f"{where}: expected one JSON object a line, got broken JSON at column {error.colno} "
            f"({error.msg})"
        ) from None
    except RecursionError:
        raise EpisodeError(f"{where}: JSON is nested too deeply to be an episode") from None
    except ValueError:  # Python reads integers of at most a few thousand digits
        raise EpisodeError(f"{where}: expected numbers of at most 4300 digits") from None


def _parse(record: Any) -> Episode:
    if not isinstance(record, dict):
        raise EpisodeError(f"expected a JSON object, got {type(record).__name__}")
    schema = record.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise EpisodeError(f"schema: expected {SCHEMA}, got {shown(schema)}")
    task = record.get("task")
    attributes = record.get("attributes", {})
    if not isinstance(attributes, dict):
        raise EpisodeError(f"attributes: expected an object, got {type(attributes).__name__}")
    return Episode(
        id=record.get("id", ""),
        domain=record.get("domain", ""),
        task=(task,) if isinstance(task, str) else tuple(_list(record, "task")),
        agents=tuple(_agent(a, i) for i, a in enumerate(_list(record, "agents"))),
        messages=tuple(_message(m, i) for i, m in enumerate(_list(record, "messages"))),
        final_agent=record.get("final_agent", ""),
        unsafe=record.get("unsafe"),
        label_source=record.get("label_source"),
        attributes=attributes,
    )


def _list(record: dict[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if not isinstance(value, list):
        raise EpisodeError(f"{key}: expected a list, got {type(value).__name__}")
    return value


def _agent(record: Any, index: int) -> Agent:
    if not isinstance(record, dict):
        raise EpisodeError(f"agents[{index}]: expected an object, got {type(record).__name__}")
    return Agent(record.get("id", ""), record.get("kind", ""), record.get("unsafe"))


def _message(record: Any, index: int) -> Message:
    if not isinstance(record, dict):
        raise EpisodeError(f"messages[{index}]: expected an object, got {type(record).__name__}")
    receivers = record.get("receivers")
    if not isinstance(receivers, list):
        raise EpisodeError(
            f"messages[{index}].receivers: expected a list, got {type(receivers).__name__}"
        )
    return Message(
        round=record.get("round", -1),
        sender=record.get("sender", ""),
        receivers=tuple(receivers),
        text=record.get("text", ""),
        kind=record.get("kind", "say"),
    )
