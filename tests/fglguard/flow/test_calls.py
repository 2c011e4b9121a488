"""Features of messages against their definitions, recomputed by loops in the test."""

import numpy as np
import pytest

from fglguard.episode import Message
from fglguard.flow.calls import FEATURES, flow_texts, message_flows
from fglguard.flow.instruction import instruction_likeness, prototypes
from fglguard.flow.phrases import INSTRUCTIONS, words
from tests.fglguard.flow.conftest import MESSAGES, build, embedded


def by_name(flow):
    return dict(zip(FEATURES, flow.features.tolist(), strict=True))


def test_one_flow_for_each_message_of_an_agent_in_order(relayed) -> None:
    flows = message_flows(relayed, *embedded(relayed))
    assert [(flow.message, flow.call) for flow in flows] == [
        (1, True), (3, False), (4, True), (6, False)
    ]  # fmt: skip


def test_before_anything_was_heard_every_feature_is_zero(relayed) -> None:
    assert not message_flows(relayed, *embedded(relayed))[0].features.any()


def test_provenance_is_the_likeness_of_the_spans_that_tainted_values_came_in_by(relayed) -> None:
    flow = message_flows(relayed, *embedded(relayed))[2]
    (taint,) = flow.taints
    features = by_name(flow)
    assert features["provenance"] == features["provenance_mean"] == pytest.approx(taint.likeness)
    assert taint.likeness >= 0.25  # "You must"
    assert features["tainted"] == pytest.approx(np.log(2))


def test_cosine_features_equal_loops_over_what_the_caller_heard(relayed) -> None:
    """The banker's call: its sources are the page's span and what the reader told it."""
    vectors, lookup = embedded(relayed)
    flow = message_flows(relayed, vectors, lookup)[2]
    spans = [MESSAGES[2].text, MESSAGES[3].text]
    models = np.split(lookup(prototypes()), [len(INSTRUCTIONS)])
    # Each span by itself: it shares with its neighbours within its message, and has none.
    likeness = [instruction_likeness([one], lookup([one]), *models)[0] for one in spans]
    alike = lookup(spans) @ vectors[4]
    features = by_name(flow)
    assert features["strongest"] == pytest.approx(max(likeness))
    assert features["echo"] == pytest.approx(max(alike * likeness))
    assert features["closest"] == pytest.approx(likeness[int(np.argmax(alike))])
    said = words(MESSAGES[4].text) - words(MESSAGES[0].text)
    shares = [
        len(said & own) / max(len(own), 3)
        for own in (words(span) - words(MESSAGES[0].text) for span in spans)
    ]
    assert features["coverage"] == pytest.approx(max(shares))


def test_refusals_count_in_words_not_in_calls() -> None:
    said = Message(1, "reader", ("user",), "I'm sorry, I cannot do this harmful, illegal thing")
    called = Message(2, "reader", ("web",), 'note {"text": "harmful"}', "call")
    episode = build((MESSAGES[0], said, called, MESSAGES[6]))
    flows = message_flows(episode, *embedded(episode))
    assert [by_name(flow)["refusal"] for flow in flows] == [3, 0, 0]


def test_texts_to_embed_are_the_prototypes_and_untrusted_spans_alone(relayed) -> None:
    """What agents say to users or tools is no span: nobody is told anything by it."""
    assert flow_texts(relayed) == [*prototypes(), *(MESSAGES[i].text for i in (2, 3, 5))]


def test_labels_and_names_are_not_looked_at(relayed) -> None:
    from dataclasses import replace

    renamed = {agent.id: f"other-{place}" for place, agent in enumerate(relayed.agents)}
    other = replace(
        relayed,
        unsafe=True,
        label_source="human",
        agents=tuple(replace(agent, id=renamed[agent.id]) for agent in relayed.agents),
        messages=tuple(
            replace(m, sender=renamed[m.sender], receivers=tuple(renamed[r] for r in m.receivers))
            for m in relayed.messages
        ),
        final_agent=renamed["banker"],
    )
    for one, two in zip(
        message_flows(relayed, *embedded(relayed)),
        message_flows(other, *embedded(other)),
        strict=True,
    ):
        assert one.features.tolist() == two.features.tolist()
