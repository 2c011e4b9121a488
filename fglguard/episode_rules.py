"""What makes a record an episode: its vocabulary, its limits, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, get_args

from fglguard.errors import EpisodeError, shown

if TYPE_CHECKING:
    from fglguard.episode import Agent, Episode, Message

SCHEMA = 1
MAX_TEXT_BYTES = 512 * 1024
"""Longest text of one message. An encoder reads a few hundred tokens of it."""
MAX_ROUND = 10**9
"""Last round that a message can be of."""

SPLIT_NAMES = ("train", "val", "test")
"""What `attributes["split"]` may say, where a source publishes its own sides."""

AgentKind = Literal["user", "agent", "tool", "environment"]
MessageKind = Literal["say", "call", "result"]
LabelSource = Literal["human", "program", "judge", "planted"]

AGENT_KINDS: tuple[AgentKind, ...] = get_args(AgentKind)
MESSAGE_KINDS: tuple[MessageKind, ...] = get_args(MessageKind)
LABEL_SOURCES: tuple[LabelSource, ...] = get_args(LabelSource)


def check_episode(episode: Episode) -> None:
    """Hold an episode to the rules.

    Raises:
        EpisodeError: One is broken; the text names the key at fault and quotes little of it.
    """
    check_name("id", episode.id)
    check_name("domain", episode.domain)
    if not episode.task:
        raise EpisodeError("task: expected at least one split key, got none")
    for key in episode.task:
        check_name("task", key)
    known = _check_agents(episode.agents)
    _check_messages(episode.messages, known)
    check_name("final_agent", episode.final_agent)
    if episode.final_agent not in known:
        raise EpisodeError(
            f"final_agent: expected the id of one of the episode's agents, "
            f"got {shown(episode.final_agent)}"
        )
    _check_label(episode)
    _check_attributes(episode.attributes)


def _check_agents(agents: tuple[Agent, ...]) -> set[str]:
    if not agents:
        raise EpisodeError("agents: expected at least one, got none")
    known: set[str] = set()
    for index, agent in enumerate(agents):
        check_agent(f"agents[{index}]", agent)
        if agent.id in known:
            raise EpisodeError(f"agents[{index}].id: {shown(agent.id)} is used twice")
        known.add(agent.id)
    return known


def check_agent(where: str, agent: Agent) -> None:
    """Hold an agent to the rules; EpisodeError names the key, which stands at `where`."""
    check_name(f"{where}.id", agent.id)
    if agent.kind not in AGENT_KINDS:
        raise EpisodeError(
            f"{where}.kind: expected one of {', '.join(AGENT_KINDS)}, got {shown(agent.kind)}"
        )
    if agent.unsafe is not None and not isinstance(agent.unsafe, bool):
        raise EpisodeError(
            f"{where}.unsafe: expected true, false or null, got {shown(agent.unsafe)}"
        )


def _check_messages(messages: tuple[Message, ...], known: set[str]) -> None:
    if not messages:
        raise EpisodeError("messages: expected at least one, got none")
    latest = 0
    for index, message in enumerate(messages):
        check_message(f"messages[{index}]", message, known, latest)
        latest = message.round


def check_message(where: str, message: Message, known: AbstractSet[str], latest: int) -> None:
    """Hold a message to the rules; EpisodeError names the key, which stands at `where`.

    Args:
        where: Where it stands.
        message: The message.
        known: Ids of the episode's agents.
        latest: Round of the message before it.
    """
    if not isinstance(message.round, int) or isinstance(message.round, bool):
        raise EpisodeError(
            f"{where}.round: expected a whole number, got a {type(message.round).__name__}"
        )
    if message.round > MAX_ROUND:
        raise EpisodeError(
            f"{where}.round: expected at most {MAX_ROUND}, got {shown(message.round)}"
        )
    if message.round < latest:
        raise EpisodeError(
            f"{where}.round: expected {latest} or later (rounds never fall), "
            f"got {shown(message.round)}"
        )
    for role, name in [("sender", message.sender)] + [
        ("receivers", receiver) for receiver in message.receivers
    ]:
        if not isinstance(name, str) or name not in known:
            raise EpisodeError(f"{where}.{role}: {shown(name)} is not one of the episode's agents")
    if message.kind not in MESSAGE_KINDS:
        raise EpisodeError(
            f"{where}.kind: expected one of {', '.join(MESSAGE_KINDS)}, got {shown(message.kind)}"
        )
    _check_text(f"{where}.text", message.text)


def _check_text(where: str, text: Any) -> None:
    if not isinstance(text, str):
        raise EpisodeError(f"{where}: expected a string, got {type(text).__name__}")
    if not text.strip():
        raise EpisodeError(f"{where}: expected some text, got an empty one")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise EpisodeError(
            f"{where}: expected text that UTF-8 can hold, got a lone surrogate at character "
            f"{error.start}"
        ) from None
    if size > MAX_TEXT_BYTES:
        raise EpisodeError(f"{where}: expected at most {MAX_TEXT_BYTES} bytes, got {size}")


def _check_label(episode: Episode) -> None:
    if episode.unsafe is not None and not isinstance(episode.unsafe, bool):
        raise EpisodeError(f"unsafe: expected true, false or null, got {shown(episode.unsafe)}")
    if episode.unsafe is None:
        if episode.label_source is not None:
            raise EpisodeError("label_source: expected null where unsafe is null")
    elif episode.label_source not in LABEL_SOURCES:
        raise EpisodeError(
            f"label_source: expected one of {', '.join(LABEL_SOURCES)}, "
            f"got {shown(episode.label_source)}"
        )


def _check_attributes(attributes: Mapping[str, str]) -> None:
    for key, value in attributes.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise EpisodeError(
                f"attributes.{str(key)[:60]}: expected a string, got a {type(value).__name__}"
            )
    split = attributes.get("split", "train")
    if split not in SPLIT_NAMES:
        raise EpisodeError(
            f"attributes.split: expected one of {', '.join(SPLIT_NAMES)}, got {shown(split)}"
        )


def check_name(where: str, value: Any) -> None:
    """Hold an id to the rules; EpisodeError names the key, which stands at `where`."""
    if not isinstance(value, str) or not value.strip():
        raise EpisodeError(f"{where}: expected a non-empty string, got {shown(value)}")
    if len(value) > 512:
        raise EpisodeError(f"{where}: expected at most 512 characters, got {len(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise EpisodeError(f"{where}: expected text that UTF-8 can hold") from None
