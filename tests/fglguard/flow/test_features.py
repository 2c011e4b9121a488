"""Pooling over an agent's own messages and those of the agents it hears, by hand."""

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fglguard.flow.calls import FEATURES, MessageFlow, message_flows
from fglguard.flow.features import POOLED, PROVENANCE, WIDTH, AgentFlows
from tests.fglguard.flow.conftest import MESSAGES, build, embedded

IDS = ("user", "reader", "banker", "web", "bank")


KINDS = build().kinds


def flow(message: int, call: bool, value: float) -> MessageFlow:
    sender = MESSAGES[message].sender
    return MessageFlow(message, sender, call, np.full(len(FEATURES), value, np.float32), ())


def after(flows: Iterable[MessageFlow]) -> AgentFlows:
    """What is pooled after messages that the banker hears, if the reader sent them."""
    found = AgentFlows()
    for one in flows:
        found.add(one, ("banker",) if one.sender == "reader" else ())
    return found


def test_calls_are_pooled_and_the_last_message_gives_the_refusal() -> None:
    """Reader: one call (1); banker: its call (4) and the reader's, whom it hears; last is 9."""
    flows = [flow(1, True, 1), flow(3, False, 7), flow(4, True, 4), flow(6, False, 9)]
    pooled = after(flows).rows(IDS, KINDS)
    expected = {
        "reader": {"max": 1, "mean": 1, "last": 7},
        "banker": {"max": 4, "mean": 2.5, "last": 9},
    }
    for agent, parts in expected.items():
        assert pooled[IDS.index(agent)].tolist() == [parts[how] for _, how in POOLED]
    assert not pooled[[0, 3, 4]].any()


def test_without_a_call_all_messages_are_pooled() -> None:
    pooled = after([flow(3, False, 7), flow(6, False, 9)]).rows(IDS, KINDS)
    assert pooled[2, PROVENANCE] == 9
    assert pooled[2, POOLED.index(("provenance", "mean"))] == 8


def test_the_order_of_nodes_only_orders_the_rows(relayed) -> None:
    flows = after(message_flows(relayed, *embedded(relayed)))
    turned = tuple(reversed(IDS))
    assert np.array_equal(flows.rows(IDS, KINDS)[::-1], flows.rows(turned, KINDS))


def test_an_episode_without_agents_messages_gives_zeros() -> None:
    rows = AgentFlows().rows(IDS, KINDS)
    assert rows.shape == (5, WIDTH)
    assert not rows.any()


SAID = st.tuples(
    st.sampled_from("abc"),
    st.sets(st.sampled_from("abc")),
    st.booleans(),
    st.floats(0, 1, width=16),
)


@given(said=st.lists(st.tuples(SAID, st.booleans()), max_size=8))
def test_rows_asked_for_in_between_change_none_that_follow(said) -> None:
    """What is kept from one asking to the next equals what is pooled afresh, a copy's too."""
    agents = dict.fromkeys("abc", "agent")
    asked, never = AgentFlows(), AgentFlows()
    for number, ((sender, receivers, call, value), ask) in enumerate(said):
        one = MessageFlow(number, sender, call, np.full(len(FEATURES), value, np.float32), ())
        draft = asked.copy()
        draft.add(one, receivers)
        for flows in (asked, never):
            flows.add(one, receivers)
        fresh = never.copy()
        if ask:
            assert np.array_equal(asked.rows("abc", agents), fresh.rows("abc", agents))
            assert np.array_equal(draft.rows("abc", agents), fresh.rows("abc", agents))
