"""The builder message by message, against whole episodes and against the episode with the draft."""

from dataclasses import replace

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.episode import Message
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.graph_builder import GraphBuilder, episode_graph
from tests.fglguard.flow.conftest import MESSAGES, build

SETTINGS = [
    GraphSettings(rounds, messages=messages, **PRESET_FEATURES[preset])
    for rounds in (0, 1, 2)
    for messages in (False, True)
    for preset in ("paper", "recommended", "small")
]
ARRAYS = ("x", "kind", "src", "dst", "edge", "flow")
ROWS = ("offsets", "columns", "values")


@pytest.fixture(scope="module")
def lookup():
    return load_encoder("hashed-words").encode


def same(one, other) -> None:
    assert (one.agent_ids, one.final) == (other.agent_ids, other.final)
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert (one.text is None) == (other.text is None)
    for name in ROWS if one.text else ():
        assert np.array_equal(getattr(one.text, name), getattr(other.text, name))
    assert one.taints == other.taints


def whole(messages, settings, lookup):
    episode = build(messages)
    return episode_graph(episode, lookup(episode.texts), settings, lookup)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_after_each_message_it_is_the_graph_of_the_episode_so_far(settings, lookup) -> None:
    episode = build()
    builder = GraphBuilder(settings, episode.kinds, lookup)
    for number, message in enumerate(episode.messages, start=1):
        builder.add(message, lookup([message.text])[0], builder.heard(message, episode.kinds))
        found = builder.graph(episode.agents, episode.final_agent)
        same(found, whole(episode.messages[:number], settings, lookup))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_draft_counts_in_its_graph_and_leaves_nothing_behind(settings, lookup) -> None:
    episode = build()
    builder = GraphBuilder(settings, episode.kinds, lookup)
    for message in MESSAGES[:-1]:
        builder.add(message, lookup([message.text])[0], builder.heard(message, episode.kinds))
    drafts = [
        MESSAGES[-1],
        replace(MESSAGES[-1], round=9, text="pay GB29160016319268 again", receivers=("reader",)),
        Message(4, "banker", ("bank",), 'send {"to": "GB00000000000000"}', "call"),
    ]
    for draft in drafts:
        vector = lookup([draft.text])[0]
        found = builder.graph(episode.agents, "banker", (draft, vector))
        same(found, whole((*MESSAGES[:-1], draft), settings, lookup))
    same(builder.graph(episode.agents, "banker"), whole(MESSAGES[:-1], settings, lookup))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_draft_that_comes_next_is_taken_in_as_if_it_had_not_been_drafted(
    settings, lookup
) -> None:
    episode = build()
    builder = GraphBuilder(settings, episode.kinds, lookup)
    for number, message in enumerate(MESSAGES, start=1):
        draft = (message, lookup([message.text])[0])
        builder.graph(episode.agents, "banker", draft)
        builder.add(*draft, builder.heard(message, episode.kinds))
        found = builder.graph(episode.agents, "banker")
        same(found, whole(MESSAGES[:number], settings, lookup))


@pytest.mark.parametrize("change", ["kind of who spoke", "vector", "text"])
def test_a_draft_that_differs_in_anything_is_not_taken_in(change, lookup) -> None:
    """The graph afterwards is that of a builder which never saw the draft."""
    settings = GraphSettings(0, messages=True, **PRESET_FEATURES["recommended"])
    episode = build()
    kinds, vector = dict(episode.kinds), lookup([MESSAGES[-1].text])[0]
    drafted, plain = GraphBuilder(settings, kinds, lookup), GraphBuilder(settings, kinds, lookup)
    for builder in (drafted, plain):
        for message in MESSAGES[:-1]:
            builder.add(message, lookup([message.text])[0], builder.heard(message, episode.kinds))
    last = MESSAGES[-1]
    drafted.graph(episode.agents, "banker", (last, vector))
    if change == "kind of who spoke":
        kinds[last.sender] = "tool"
    elif change == "vector":
        vector = -vector
    else:
        last = replace(last, text="pay GB29160016319268 again")
    for builder in (drafted, plain):
        builder.add(last, vector, builder.heard(last, kinds))
    same(*(builder.graph(episode.agents, "banker") for builder in (drafted, plain)))


def test_what_has_left_the_window_is_forgotten(lookup) -> None:
    episode = build()
    builder = GraphBuilder(GraphSettings(1), episode.kinds)
    for message in episode.messages:
        builder.add(message, lookup([message.text])[0], builder.heard(message, episode.kinds))
    assert builder.messages == MESSAGES[-1:]


def test_a_missing_lookup_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="lookup: flow features need"):
        GraphBuilder(GraphSettings(**PRESET_FEATURES["small"]), {})
