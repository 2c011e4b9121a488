"""Flow features of an agent: its messages' and those of the agents it hears, pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.flow.calls import FEATURES, MessageFlow
from fglguard.flow.taint import Taint

POOLED = (
    ("provenance", "max"),
    ("provenance", "mean"),
    ("provenance_mean", "max"),
    ("tainted", "max"),
    ("tainted", "mean"),
    ("echo", "max"),
    ("closest", "max"),
    ("coverage", "max"),
    ("strongest", "mean"),
    ("refusal", "last"),
)
"""Columns of an agent's flow features: which feature of a message, and how it is pooled.

`max` and `mean` run over calls, or over all messages where there is no call; `last` is the last
message's.
"""
WIDTH = len(POOLED)
PROVENANCE = POOLED.index(("provenance", "max"))


class AgentFlows:
    """Pooled flow features of agents, as their messages come.

    An agent answers for what it did and for what the agents did whose messages it received.
    """

    def __init__(self) -> None:
        self._flows: list[MessageFlow] = []
        self._heard: dict[str, frozenset[str]] = {}
        self._pooled: dict[str, NDArray[np.float32]] = {}

    def copy(self) -> AgentFlows:
        """One that takes in messages by itself."""
        other = AgentFlows()
        other._flows, other._heard = list(self._flows), dict(self._heard)
        other._pooled = dict(self._pooled)
        return other

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The tainted values of all messages, in their order."""
        return tuple(taint for flow in self._flows for taint in flow.taints)

    def add(self, flow: MessageFlow, receivers: Iterable[str]) -> None:
        """Take in what flowed into the agent's message that comes next."""
        self._flows.append(flow)
        for receiver in receivers:
            self._heard[receiver] = self._heard.get(receiver, frozenset()) | {flow.sender}
        for agent in [one for one in self._pooled if flow.sender in self._answers_for(one)]:
            del self._pooled[agent]

    def rows(self, agents: Sequence[str], kinds: Mapping[str, str]) -> NDArray[np.float32]:
        """[len(agents), WIDTH]; zeros for who is no agent, or has nothing to answer for.

        Args:
            agents: Ids of the nodes, in their order.
            kinds: Kind of each agent.
        """
        rows = np.zeros((len(agents), WIDTH), dtype=np.float32)
        for place, agent in enumerate(agents):
            if kinds[agent] == "agent":
                rows[place] = self._row(agent)
        return rows

    def _answers_for(self, agent: str) -> frozenset[str]:
        return self._heard.get(agent, frozenset()) | {agent}

    def _row(self, agent: str) -> NDArray[np.float32]:
        """Kept until one of those whom it answers for says something."""
        if agent not in self._pooled:
            senders = self._answers_for(agent)
            own = [flow for flow in self._flows if flow.sender in senders]
            self._pooled[agent] = _pool(own) if own else np.zeros(WIDTH, dtype=np.float32)
        return self._pooled[agent]


_COLUMNS = np.array([FEATURES.index(feature) for feature, _ in POOLED])
_HIGHEST = np.array([how == "max" for _, how in POOLED])
_LAST = [place for place, (_, how) in enumerate(POOLED) if how == "last"]


def _pool(flows: Sequence[MessageFlow]) -> NDArray[np.float32]:
    calls = [flow for flow in flows if flow.call] or flows
    rows = np.array([flow.features for flow in calls])
    mean = np.add.reduce(rows, axis=0) / np.float32(len(rows))
    highest = np.maximum.reduce(rows, axis=0)
    pooled: NDArray[np.float32] = np.where(_HIGHEST, highest[_COLUMNS], mean[_COLUMNS])
    pooled[_LAST] = flows[-1].features[_COLUMNS[_LAST]]
    return pooled
