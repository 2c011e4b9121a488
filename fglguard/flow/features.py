"""Flow features of an agent: its messages' and those of the agents it hears, pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from fglguard.flow.calls import FEATURES, MessageFlow

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


def agent_flows(
    flows: Iterable[MessageFlow],
    heard: Mapping[str, AbstractSet[str]],
    agents: Sequence[str],
    kinds: Mapping[str, str],
) -> NDArray[np.float32]:
    """Pooled flow features of agents, [len(agents), WIDTH]; zeros for who is no agent.

    An agent answers for what it did and for what the agents did whose messages it received.

    Args:
        flows: Into the agents' messages, in order.
        heard: By agent, the agents it received messages of.
        agents: Ids of the nodes, in their order.
        kinds: Kind of each agent.
    """
    by_sender: dict[str, list[MessageFlow]] = {}
    for flow in flows:
        by_sender.setdefault(flow.sender, []).append(flow)
    pooled = np.zeros((len(agents), WIDTH), dtype=np.float32)
    for place, agent in enumerate(agents):
        if kinds[agent] == "agent":
            senders = {agent, *heard.get(agent, ())}
            own = [flow for sender in senders for flow in by_sender.get(sender, ())]
            if own:
                pooled[place] = _pool(sorted(own, key=lambda flow: flow.message))
    return pooled


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
