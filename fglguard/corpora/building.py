"""Puts an episode together message by message."""

from collections.abc import Iterable, Mapping

from fglguard.corpora.reading import Source
from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import MAX_TEXT_BYTES, AgentKind, LabelSource, MessageKind

_LONGEST_ID = 200


class EpisodeBuilder:
    """Registers agents, counts rounds, skips empty utterances and cuts overlong ones.

    Attributes:
        round: The round that the next message belongs to.
    """

    def __init__(self) -> None:
        self.round = 0
        self._agents: dict[str, Agent] = {}
        self._messages: list[Message] = []

    def agent(self, name: str, kind: AgentKind, unsafe: bool | None = None) -> str:
        """Register an agent unless it is there already; returns its id."""
        identity = utf8(name).strip()[:_LONGEST_ID] or kind
        self._agents.setdefault(identity, Agent(identity, kind, unsafe))
        return identity

    def add(
        self, sender: str, receivers: Iterable[str], text: str, kind: MessageKind = "say"
    ) -> None:
        """Add what a registered agent said in this round, unless it said nothing."""
        text = fitted(utf8(text).strip())
        if text:
            self._messages.append(Message(self.round, sender, tuple(receivers), text, kind))

    def build(
        self,
        source: Source,
        *,
        id: str,
        task: tuple[str, ...],
        final_agent: str,
        unsafe: bool | None,
        label_source: LabelSource | None,
        attributes: Mapping[str, str | None],
    ) -> Episode:
        """The finished episode. Attributes that are None are left out; `source` is added.

        Raises:
            EpisodeError: It does not hold together, e.g. nobody said anything.
        """
        known = {key: utf8(value) for key, value in attributes.items() if value is not None}
        return Episode(
            id=id,
            domain=source.domain,
            task=task,
            agents=tuple(self._agents.values()),
            messages=tuple(self._messages),
            final_agent=final_agent,
            unsafe=unsafe,
            label_source=label_source,
            attributes=known | {"source": utf8(source.name)},
        )


def utf8(text: str) -> str:
    """The text with what UTF-8 can't hold (lone surrogates) replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def fitted(text: str) -> str:
    """The text, or its head (5/8) and tail (3/8) where it exceeds MAX_TEXT_BYTES.

    Encoders read the head and the tail of long texts, so the middle is what nobody misses.
    """
    content = text.encode("utf-8")
    if len(content) <= MAX_TEXT_BYTES:
        return text
    marker = f"\n[... {len(content)} bytes, cut ...]\n"
    room = MAX_TEXT_BYTES - len(marker)
    tail = room * 3 // 8
    head = content[: room - tail].decode("utf-8", "ignore")
    return head + marker + content[-tail:].decode("utf-8", "ignore")
