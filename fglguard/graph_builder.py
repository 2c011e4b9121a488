"""From messages to features, one message after another: the one way, in training and live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import AGENT_KINDS, AgentKind
from fglguard.flow.calls import FlowTracker, Heard, Lookup
from fglguard.flow.features import AgentFlows
from fglguard.graph import EpisodeGraph, GraphSettings, in_window, nodes_of
from fglguard.hashed_text import HashedTexts
from fglguard.utterances import Tokenize, node_utterances
from fglguard.window_features import edge_means, edges, node_features, sent_messages

Vector = NDArray[np.float32]
_KIND_CODES = {kind: code for code, kind in enumerate(AGENT_KINDS)}


class GraphBuilder:
    """An episode's graph as its messages come.

    What a message adds is worked out once, when it comes. Messages that have left the window are
    forgotten, but for what flow and text features keep of the whole episode.

    Args:
        settings: The window and the features.
        kinds: Kind of each agent; looked at with each message, so that it may grow.
        lookup: Embeddings of what is embedded besides the messages; needed with flow features.
        tokenize: Cuts texts into `settings.tokens` tokens at most; needed with those.
        reads_vectors: Whether anybody looks at node features; they are zeros otherwise, which takes
            no time.

    Raises:
        ValueError: `lookup` or `tokenize` is missing.
    """

    def __init__(
        self,
        settings: GraphSettings,
        kinds: Mapping[str, AgentKind],
        lookup: Lookup | None = None,
        tokenize: Tokenize | None = None,
        reads_vectors: bool = True,
    ) -> None:
        if settings.flow and lookup is None:
            raise ValueError("lookup: flow features need the embeddings of `beside_messages`")
        if settings.tokens and tokenize is None:
            raise ValueError("tokenize: graphs with tokens need a tokenizer")
        self._settings = settings
        self._kinds = kinds
        self._lookup = lookup
        self._tokenize = tokenize
        self._reads_vectors = reads_vectors
        self._flow = FlowTracker(lookup) if settings.flow and lookup else None
        self._seen = _Seen(settings)
        self._drafted: _Drafted | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that are kept: those within the window."""
        return tuple(self._seen.messages)

    def heard(self, message: Message, kinds: Mapping[str, AgentKind]) -> Heard | None:
        """What is embedded of a message besides itself, which may take its time.

        Args:
            message: What comes next.
            kinds: Kind of each agent, those that are new with it included.
        """
        if self._flow is None or self._lookup is None:
            return None
        return self._flow.heard(message, kinds, self._lookup)

    def add(self, message: Message, vector: Vector, heard: Heard | None) -> None:
        """Take in the message that comes next, [d] its embedding, and what `heard` gave for it."""
        self._seen, self._drafted = self._with(message, vector, keep=False), None
        if self._flow is not None:
            self._flow.take(message, self._kinds, heard)

    def graph(
        self, agents: Sequence[Agent], final: str, draft: tuple[Message, Vector] | None = None
    ) -> EpisodeGraph:
        """The graph so far; see `episode_graph`.

        Args:
            agents: All agents, in the episode's order.
            final: Whose answer is guarded.
            draft: The graph as if this message with this embedding had come too. What it adds is
                only kept aside, in case that it comes next.
        """
        seen = self._with(*draft) if draft else self._seen
        ids = nodes_of(agents, seen.messages, final)
        index = {agent: place for place, agent in enumerate(ids)}
        sent = sent_messages(seen.messages, index)
        src, dst = edges({(receiver, sender) for receiver, sender, _ in sent})
        kinds, settings = self._kinds, self._settings
        return EpisodeGraph(
            x=self._node_features(seen, index),
            kind=np.array([_KIND_CODES[kinds[agent]] for agent in ids], dtype=np.uint8),
            agent_ids=ids,
            src=src,
            dst=dst,
            final=index[final],
            edge=edge_means(np.stack(seen.vectors), sent) if settings.messages else None,
            flow=seen.flows.rows(ids, kinds) if settings.flow else None,
            text=seen.texts.rows(ids, kinds) if settings.has_text else None,
            taints=seen.flows.taints,
            utterances=node_utterances(seen.messages, index, self._tokenize)
            if self._tokenize and settings.tokens
            else None,
        )

    def _with(self, message: Message, vector: Vector, keep: bool = True) -> _Seen:
        """What is seen once a message came; as drafted before, where it is the same in all."""
        kinds = [self._kinds[name] for name in (message.sender, *message.receivers)]
        drafted = self._drafted
        if drafted and drafted.holds(message, vector, kinds):
            return drafted.seen
        seen = self._seen.copy() if keep else self._seen
        seen.add(message, vector, self._kinds, self._flow)
        if keep:
            self._drafted = _Drafted(message, vector, kinds, seen)
        return seen

    def _node_features(self, seen: _Seen, index: Mapping[str, int]) -> NDArray[np.float32]:
        if not self._reads_vectors:
            width = self._settings.node_width(len(seen.vectors[0]))
            return np.zeros((len(index), width), np.float32)
        vectors = np.stack(seen.vectors)
        return node_features(vectors, seen.messages, index, self._settings.node_feature)


class _Seen:
    """What a graph is made of."""

    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self.messages: list[Message] = []
        self.vectors: list[Vector] = []
        self.flows = AgentFlows()
        self.texts = HashedTexts(settings.word_bits, settings.letter_bits)

    def copy(self) -> _Seen:
        other = _Seen(self._settings)
        other.messages, other.vectors = list(self.messages), list(self.vectors)
        other.flows, other.texts = self.flows.copy(), self.texts.copy()
        return other

    def add(
        self,
        message: Message,
        vector: Vector,
        kinds: Mapping[str, AgentKind],
        tracker: FlowTracker | None,
    ) -> None:
        self.messages.append(message)
        self.vectors.append(np.asarray(vector, np.float32))
        left = len(self.messages) - len(in_window(self.messages, self._settings.rounds))
        del self.messages[:left], self.vectors[:left]
        if tracker and (flow := tracker.flow(message, kinds, vector)):
            self.flows.add(flow, message.receivers)
        if self._settings.has_text:
            self.texts.add(message, kinds)


@dataclass(frozen=True, slots=True, eq=False)
class _Drafted:
    """A message that may come next, and what is seen once it came."""

    message: Message
    vector: Vector
    kinds: list[AgentKind]
    seen: _Seen

    def holds(self, message: Message, vector: Vector, kinds: list[AgentKind]) -> bool:
        return (
            self.message == message and self.kinds == kinds and np.array_equal(self.vector, vector)
        )


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
    if vectors.ndim != 2 or len(vectors) != len(episode.messages):
        raise ValueError(
            f"vectors: expected one row for each of {len(episode.messages)} messages, "
            f"got shape {vectors.shape}"
        )
    kinds = episode.kinds
    builder = GraphBuilder(settings, kinds, lookup, tokenize)
    for message, vector in zip(episode.messages, vectors, strict=True):
        builder.add(message, vector, builder.heard(message, kinds))
    return builder.graph(episode.agents, episode.final_agent)
