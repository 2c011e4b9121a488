"""Episodes as graphs: the one function from messages to features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import AGENT_KINDS
from fglguard.errors import SettingsError
from fglguard.flow.calls import Lookup, flow_texts, message_flows
from fglguard.flow.features import WIDTH, agent_flows
from fglguard.flow.taint import Taint
from fglguard.hashed_text import TEXT_FORMAT, SparseRows, hashed_text
from fglguard.settings import DetectorSettings
from fglguard.utterances import Tokenize, Utterances, node_utterances

GRAPH_FORMAT = 1
"""Part of every settings fingerprint: raise it when the same episode would give another graph."""
FLOW_FORMAT = 3
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

_KIND_CODES = {kind: code for code, kind in enumerate(AGENT_KINDS)}


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


def episode_graph(
    episode: Episode,
    vectors: NDArray[np.float32],
    settings: GraphSettings,
    lookup: Lookup | None = None,
    tokenize: Tokenize | None = None,
) -> EpisodeGraph:
    """Turn an episode into its graph; training and live scoring both come through here.

    With phi the utterance encoder, u_i^t = mean of phi over what agent i said in round t and
    x_i = mean of u_i^t over those of the last T rounds in which i spoke (arXiv 2609.02967). An
    edge i -> j says that j received a message of i within the window. Nodes are the agents that
    speak or hear within the window and the final agent.

    Departures: node feature `last` is phi of the last thing i said within the window, and
    `mean_last` has both, x_i first; with `messages`, an edge carries the mean of phi over the
    messages of i that j received within the window.

    Args:
        episode: The episode.
        vectors: [messages, d] float32, `vectors[m]` = phi of message m's text.
        settings: The window and the features. Flow and text features look at the whole episode.
        lookup: Embeddings of `beside_messages`; only needed where there are any.
        tokenize: Cuts texts into `settings.tokens` tokens at most; only needed with those.

    Raises:
        ValueError: `vectors` does not have one row a message, or `lookup` or `tokenize` is missing.
    """
    messages = episode.messages
    if vectors.ndim != 2 or len(vectors) != len(messages):
        raise ValueError(
            f"vectors: expected one row for each of {len(messages)} messages, "
            f"got shape {vectors.shape}"
        )
    first = _window_start(episode, settings.rounds)
    window = messages[first:]
    nodes = _nodes(episode, window)
    index = {agent.id: position for position, agent in enumerate(nodes)}
    said = np.asarray(vectors[first:], np.float32)
    sent = _sent_messages(window, index)
    src, dst = _edges({(receiver, sender) for receiver, sender, _ in sent})
    agents = tuple(agent.id for agent in nodes)
    flow = None
    taints: tuple[Taint, ...] = ()
    if settings.flow:
        if lookup is None:
            raise ValueError("lookup: flow features need the embeddings of `beside_messages`")
        flows = message_flows(episode, vectors, lookup)
        flow = agent_flows(episode, flows, agents)
        taints = tuple(taint for one in flows for taint in one.taints)
    utterances = None
    if settings.tokens:
        if tokenize is None:
            raise ValueError("tokenize: graphs with tokens need a tokenizer")
        utterances = node_utterances(window, index, tokenize)
    return EpisodeGraph(
        x=_node_features(said, window, index, settings.node_feature),
        kind=np.array([_KIND_CODES[agent.kind] for agent in nodes], dtype=np.uint8),
        agent_ids=agents,
        src=src,
        dst=dst,
        final=index[episode.final_agent],
        edge=_edge_means(said, sent) if settings.messages else None,
        flow=flow,
        text=hashed_text(episode, agents, settings.word_bits, settings.letter_bits)
        if settings.has_text
        else None,
        taints=taints,
        utterances=utterances,
    )


def graph_agents(episode: Episode, settings: GraphSettings) -> tuple[str, ...]:
    """Ids of the agents that are the nodes of the episode's graph, in their order."""
    window = episode.messages[_window_start(episode, settings.rounds) :]
    return tuple(agent.id for agent in _nodes(episode, window))


def _nodes(episode: Episode, window: Sequence[Message]) -> list[Agent]:
    present = {episode.final_agent}
    for message in window:
        present.add(message.sender)
        present.update(message.receivers)
    return [agent for agent in episode.agents if agent.id in present]


def beside_messages(episode: Episode, settings: GraphSettings) -> list[str]:
    """Texts that must be embedded besides the messages, each once."""
    return flow_texts(episode) if settings.flow else []


def _window_start(episode: Episode, rounds: int) -> int:
    """First message of the window; rounds never fall, so the window is a tail."""
    if rounds == 0:
        return 0
    messages = episode.messages
    oldest = messages[-1].round - rounds + 1
    return next(i for i, message in enumerate(messages) if message.round >= oldest)


def _edges(pairs: set[tuple[int, int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ordered = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(ordered[:, 1]), np.ascontiguousarray(ordered[:, 0])


def _sent_messages(
    window: Sequence[Message], index: Mapping[str, int]
) -> list[tuple[int, int, int]]:
    """Receiver, sender and place of each message for each other agent that heard it, sorted."""
    return sorted(
        {
            (index[receiver], index[message.sender], place)
            for place, message in enumerate(window)
            for receiver in message.receivers
            if receiver != message.sender
        }
    )


def _edge_means(
    vectors: NDArray[np.float32], sent: Sequence[tuple[int, int, int]]
) -> NDArray[np.float32]:
    """Mean over the messages of an edge, edges sorted by (dst, src)."""
    receivers, senders, places = np.array(sent, dtype=np.int64).reshape(-1, 3).T
    if not len(places):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    new_edge = np.append(True, (np.diff(receivers) != 0) | (np.diff(senders) != 0))
    means, _ = _segment_means(vectors[places], receivers, new_edge)
    return means


def _node_features(
    vectors: NDArray[np.float32],
    window: Sequence[Message],
    index: Mapping[str, int],
    feature: NodeFeature,
) -> NDArray[np.float32]:
    senders = np.array([index[message.sender] for message in window], dtype=np.int64)
    parts = []
    if feature != "last":
        rounds = np.array([message.round for message in window], dtype=np.int64)
        parts.append(_means_of_rounds(vectors, senders, rounds, len(index)))
    if feature != "mean":
        parts.append(_last_utterances(vectors, senders, len(index)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _last_utterances(
    vectors: NDArray[np.float32], senders: NDArray[np.int64], nodes: int
) -> NDArray[np.float32]:
    last = {int(sender): place for place, sender in enumerate(senders)}
    x = np.zeros((nodes, vectors.shape[1]), dtype=np.float32)
    x[list(last.keys())] = vectors[list(last.values())]
    return x


def _means_of_rounds(
    vectors: NDArray[np.float32],
    senders: NDArray[np.int64],
    rounds: NDArray[np.int64],
    nodes: int,
) -> NDArray[np.float32]:
    """Mean over a sender's messages of a round, then over its rounds.

    Segment sums over sorted rows rather than a matrix product: the result does not depend on how
    many threads the linear algebra library uses.
    """
    order = np.lexsort((rounds, senders))
    senders, rounds = senders[order], rounds[order]
    new_turn = np.append(True, (np.diff(senders) != 0) | (np.diff(rounds) != 0))
    turns, speakers = _segment_means(vectors[order], senders, new_turn)
    new_speaker = np.append(True, np.diff(speakers) != 0)
    means, who = _segment_means(turns, speakers, new_speaker)
    x = np.zeros((nodes, vectors.shape[1]), dtype=np.float32)
    x[who] = means
    return x


def _segment_means(
    rows: NDArray[np.float32], keys: NDArray[np.int64], starts_here: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    starts = np.flatnonzero(starts_here)
    counts = np.diff(starts, append=len(rows)).astype(np.float32)
    sums: NDArray[np.float32] = np.add.reduceat(rows, starts, axis=0)
    return sums / counts[:, None], keys[starts]
