"""Episodes as graphs: what they hold, by which settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Agent, Episode, Message
from fglguard.errors import SettingsError
from fglguard.flow.calls import flow_texts
from fglguard.flow.features import WIDTH
from fglguard.flow.taint import Taint
from fglguard.hashed_text import TEXT_FORMAT, SparseRows
from fglguard.settings import DetectorSettings
from fglguard.utterances import Utterances

GRAPH_FORMAT = 1
"""Part of every settings fingerprint: raise it when the same episode would give another graph."""
FLOW_FORMAT = 5
"""The same of the flow features alone."""

NodeFeature = Literal["mean", "last", "mean_last"]
NODE_FEATURES: tuple[NodeFeature, ...] = get_args(NodeFeature)

PRESET_FEATURES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": {},
        "recommended": {"flow": True, "word_bits": 12, "letter_bits": 12},
        "small": {"flow": True, "word_bits": 10},
    }
)
"""What the graphs of a preset hold besides the paper's."""
MOST_BITS = 20
FEWEST_TOKENS = 8
MOST_TOKENS = 256
"""What the frozen encoder reads of a text."""


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """How an episode becomes a graph.

    Attributes:
        rounds: The window T: only messages of rounds > last round - T count. 0 means all rounds.
        node_feature: What stands for a node: its utterances averaged, its last one, or both side
            by side.
        messages: Whether an edge carries the messages sent along it, averaged.
        flow: Whether nodes carry information-flow features.
        word_bits: log2 of the buckets that an agent's words are hashed into; 0: no words.
        letter_bits: Likewise of its letter sequences.
        tokens: For an encoder that trains: nodes carry what they said as token ids, so many of a
            message at most; 0: they do not.

    Raises:
        SettingsError: A value is not one of those above.
    """

    rounds: int = 3
    node_feature: NodeFeature = "mean"
    messages: bool = False
    flow: bool = False
    word_bits: int = 0
    letter_bits: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.rounds, int) or isinstance(self.rounds, bool) or self.rounds < 0:
            raise SettingsError(
                f"graph rounds: expected a whole number of at least 0, got {self.rounds!r}"
            )
        if self.node_feature not in NODE_FEATURES:
            raise SettingsError(
                f"graph node_feature: expected one of {', '.join(NODE_FEATURES)}, "
                f"got {self.node_feature!r}"
            )
        for name in ("messages", "flow"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise SettingsError(f"graph {name}: expected true or false, got {value!r}")
        for name in ("word_bits", "letter_bits"):
            bits = getattr(self, name)
            if type(bits) is not int or not 0 <= bits <= MOST_BITS:
                raise SettingsError(
                    f"graph {name}: expected a whole number from 0 to {MOST_BITS}, got {bits!r}"
                )
        if type(self.tokens) is not int or not (
            self.tokens == 0 or FEWEST_TOKENS <= self.tokens <= MOST_TOKENS
        ):
            raise SettingsError(
                f"graph tokens: expected 0 or a whole number from {FEWEST_TOKENS} to "
                f"{MOST_TOKENS}, got {self.tokens!r}"
            )

    @classmethod
    def of(cls, settings: DetectorSettings) -> GraphSettings:
        """The graphs that a run's detector needs."""
        return cls(
            settings.rounds,
            settings.node_feature,
            settings.edge_feature == "message",
            **PRESET_FEATURES[settings.preset],
            tokens=settings.encoder_tokens if settings.encoder == "finetune" else 0,
        )

    def node_width(self, encoder_dimension: int) -> int:
        """Width of a node's features, of utterance vectors of width `encoder_dimension`."""
        return encoder_dimension * (2 if self.node_feature == "mean_last" else 1)

    def edge_width(self, encoder_dimension: int) -> int:
        """Width of an edge's features; 0: edges carry none."""
        return encoder_dimension if self.messages else 0

    def fingerprint(self, encoder_fingerprint: str) -> str:
        """16 hex digits, equal wherever the same encoder and settings give the same graphs."""
        settings = {
            "format": GRAPH_FORMAT,
            "encoder": encoder_fingerprint,
            "rounds": self.rounds,
            **self.departures(),
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def preset(self) -> str:
        """The preset whose features these are."""
        own = {name: getattr(self, name) for name in ("flow", "word_bits", "letter_bits")}
        none = {"flow": False, "word_bits": 0, "letter_bits": 0}
        for preset, features in PRESET_FEATURES.items():
            if {**none, **features} == own:
                return preset
        raise SettingsError(f"graphs: no preset has the features {own}")

    @property
    def flow_width(self) -> int:
        """Width of a node's flow features; 0: nodes carry none."""
        return WIDTH if self.flow else 0

    @property
    def has_text(self) -> bool:
        """Whether nodes carry hashed words or letters."""
        return bool(self.word_bits or self.letter_bits)

    def departures(self) -> dict[str, str | bool | int]:
        """What differs from the paper's graphs, the window aside.

        The fingerprint holds nothing else, so that graphs packed before a choice existed stay
        valid.
        """
        departures: dict[str, str | bool | int] = {}
        if self.node_feature != "mean":
            departures["node_feature"] = self.node_feature
        if self.messages:
            departures["messages"] = True
        if self.flow:
            departures["flow"] = FLOW_FORMAT
        for name in ("word_bits", "letter_bits"):
            if getattr(self, name):
                departures[name] = getattr(self, name)
        if self.has_text:
            departures["text"] = TEXT_FORMAT
        if self.tokens:
            departures["tokens"] = self.tokens
        return departures


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeGraph:
    """One episode's communication graph.

    Attributes:
        x: [n, node width] float32, the node's features; zeros if it said nothing.
        kind: [n] uint8, index into `AGENT_KINDS`.
        agent_ids: The n agents, in the episode's order.
        src: [e] int32, who spoke.
        dst: [e] int32, who heard. Each pair occurs once, sorted by (dst, src), without self-loops.
        final: The node whose answer is guarded.
        edge: [e, d] float32, the messages of an edge averaged; None if the settings want none.
        flow: [n, flow width] float32, information-flow features; None likewise.
        text: A row a node of hashed words and letters; None likewise.
        taints: With flow features, the values that came in by something untrusted and left by an
            agent's message, in order of the messages.
        utterances: What each node said, as token ids; None likewise.
    """

    x: NDArray[np.float32]
    kind: NDArray[np.uint8]
    agent_ids: tuple[str, ...]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    final: int
    edge: NDArray[np.float32] | None = None
    flow: NDArray[np.float32] | None = None
    text: SparseRows | None = None
    taints: tuple[Taint, ...] = ()
    utterances: Utterances | None = None


def graph_agents(episode: Episode, settings: GraphSettings) -> tuple[str, ...]:
    """Ids of the agents that are the nodes of the episode's graph, in their order."""
    window = in_window(episode.messages, settings.rounds)
    return nodes_of(episode.agents, window, episode.final_agent)


def nodes_of(agents: Iterable[Agent], window: Iterable[Message], final: str) -> tuple[str, ...]:
    """Ids of the agents that speak or hear within a window, and of the final one, in order."""
    present = {final}
    for message in window:
        present.add(message.sender)
        present.update(message.receivers)
    return tuple(agent.id for agent in agents if agent.id in present)


def in_window(messages: Sequence[Message], rounds: int) -> Sequence[Message]:
    """Those of the last `rounds` rounds (0: all); rounds never fall, so it is a tail."""
    if rounds == 0:
        return messages
    oldest = messages[-1].round - rounds + 1
    return messages[next(i for i, message in enumerate(messages) if message.round >= oldest) :]


def beside_messages(episode: Episode, settings: GraphSettings) -> list[str]:
    """Texts that must be embedded besides the messages, each once."""
    return flow_texts(episode) if settings.flow else []
