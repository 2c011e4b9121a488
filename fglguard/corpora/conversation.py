"""A conversation of several agents, put together in the order in which things were said."""

from collections.abc import Iterable
from typing import Any

from fglguard.corpora.annotations import Annotations
from fglguard.corpora.building import EpisodeBuilder
from fglguard.corpora.fields import call_text, digest
from fglguard.corpora.reading import Source
from fglguard.episode import Episode
from fglguard.episode_rules import AgentKind, MessageKind
from fglguard.errors import CorpusError, shown

USER = "user"
ENVIRONMENT = "environment"
_TOOL = "tool:"
_LONGEST_NAME = 190


class Conversation(EpisodeBuilder):
    """Users, agents, tools, and an environment for results that come from no tool.

    An agent's first message after it has heard something begins a round: what it says and calls
    in one turn shares a round, and so do the results.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heard: set[str] = set()
        self._kinds: dict[str, AgentKind] = {}
        self._answered: str | None = None
        self._first = ""
        self.agent(USER, "user")

    def agent(self, name: str, kind: AgentKind, unsafe: bool | None = None) -> str:
        """Register an agent unless it is there already; returns its id.

        Raises:
            CorpusError: The name already stands for something of another kind.
        """
        identity = super().agent(name, kind, unsafe)
        known = self._kinds.setdefault(identity, kind)
        if known != kind:
            raise CorpusError(
                f"agents: expected {shown(identity)} to be of one kind, got {known} and {kind}"
            )
        return identity

    def member(self, name: str) -> str:
        """Id of an agent.

        Raises:
            CorpusError: The name is empty, too long, or kept for users, tools or the environment.
        """
        plain = name.strip()
        if not _fits(plain) or plain == ENVIRONMENT or plain.startswith(_TOOL):
            raise CorpusError(f"agents: expected an agent's name, got {shown(name)}")
        return self.agent(name, "agent")

    def tool(self, function: str) -> str:
        """Id of a tool.

        Raises:
            CorpusError: The name is empty or too long.
        """
        if not _fits(function.strip()):
            raise CorpusError(f"agents: expected a tool's name, got {shown(function)}")
        return self.agent(f"{_TOOL}{function.strip()}", "tool")

    def environment(self) -> str:
        """Id of the environment."""
        return self.agent(ENVIRONMENT, "environment")

    def say(
        self, sender: str, receivers: Iterable[str], text: str, kind: MessageKind = "say"
    ) -> None:
        """Add what somebody registered said, unless it is empty; repeated receivers count once."""
        if not text.strip():
            return
        heard_by = tuple(dict.fromkeys(name for name in receivers if name != sender))
        if sender in self._heard and self._kinds[sender] == "agent":
            self.round += 1
            self._heard.discard(sender)
        self.add(sender, heard_by, text, kind)
        self._heard.update(heard_by)
        self._first = self._first or text
        if kind == "say" and self._kinds[sender] == "agent" and self._has_user(heard_by):
            self._answered = sender

    def call(self, caller: str, function: str, arguments: Any) -> None:
        """An agent calls a tool."""
        self.say(caller, [self.tool(function)], call_text(function, arguments), "call")

    def finished(
        self, source: Source, told: Annotations, *, id: str, attributes: dict[str, str | None]
    ) -> Episode:
        """The episode, labelled as it was told to be.

        Without a split key, the first text's hash is one: runs of the same request then stay on
        one side.

        Raises:
            CorpusError: No agent answered the user and no final agent is named, or the one that
                is named is not an agent of the episode.
        """
        final = told.final_agent or self._answered
        if final is None:
            raise CorpusError(
                "final agent: expected an agent's answer to the user, there is none; "
                "fglguard.final_agent names one"
            )
        if self._kinds.get(final) != "agent":
            raise CorpusError(f"fglguard.final_agent: {shown(final)} is not an agent of it")
        return self.build(
            source,
            id=id,
            task=told.task or (f"task:{digest(self._first)}",),
            final_agent=final,
            unsafe=told.unsafe,
            label_source=told.label_source,
            attributes={"attack": told.attack, **attributes},
        )

    def _has_user(self, names: Iterable[str]) -> bool:
        return any(self._kinds[name] == "user" for name in names)


def _fits(name: str) -> bool:
    """Whether a name is kept whole, so that no two become one by being cut."""
    return 0 < len(name) <= _LONGEST_NAME
