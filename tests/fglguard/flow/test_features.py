"""Pooling over an agent's own messages and those of the agents it hears, by hand."""

import numpy as np

from fglguard.flow.calls import FEATURES, MessageFlow, message_flows
from fglguard.flow.features import POOLED, PROVENANCE, WIDTH, agent_flows
from tests.fglguard.flow.conftest import MESSAGES, build, embedded

IDS = ("user", "reader", "banker", "web", "bank")


HEARD = {"banker": frozenset({"reader"})}
KINDS = build().kinds


def flow(message: int, call: bool, value: float) -> MessageFlow:
    sender = MESSAGES[message].sender
    return MessageFlow(message, sender, call, np.full(len(FEATURES), value, np.float32), ())


def test_calls_are_pooled_and_the_last_message_gives_the_refusal() -> None:
    """Reader: one call (1); banker: its call (4) and the reader's, whom it hears; last is 9."""
    flows = [flow(1, True, 1), flow(3, False, 7), flow(4, True, 4), flow(6, False, 9)]
    pooled = agent_flows(flows, HEARD, IDS, KINDS)
    expected = {
        "reader": {"max": 1, "mean": 1, "last": 7},
        "banker": {"max": 4, "mean": 2.5, "last": 9},
    }
    for agent, parts in expected.items():
        assert pooled[IDS.index(agent)].tolist() == [parts[how] for _, how in POOLED]
    assert not pooled[[0, 3, 4]].any()


def test_without_a_call_all_messages_are_pooled() -> None:
    pooled = agent_flows([flow(3, False, 7), flow(6, False, 9)], HEARD, IDS, KINDS)
    assert pooled[2, PROVENANCE] == 9
    assert pooled[2, POOLED.index(("provenance", "mean"))] == 8


def test_the_order_of_nodes_only_orders_the_rows(relayed) -> None:
    flows = message_flows(relayed, *embedded(relayed))
    turned = tuple(reversed(IDS))
    assert np.array_equal(
        agent_flows(flows, HEARD, IDS, KINDS)[::-1], agent_flows(flows, HEARD, turned, KINDS)
    )


def test_an_episode_without_agents_messages_gives_zeros() -> None:
    assert agent_flows([], {}, IDS, KINDS).shape == (5, WIDTH)
