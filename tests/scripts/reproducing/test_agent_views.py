from fglguard.episode import Agent, Episode, Message
from scripts.reproducing.agent_views import agent_views


def test_a_view_a_labelled_agent() -> None:
    episode = Episode(
        id="g",
        domain="gsafeguard",
        task=("task:q",),
        agents=(Agent("a", "agent", True), Agent("b", "agent", False), Agent("t", "tool")),
        messages=(Message(0, "a", ("b",), "x"), Message(0, "b", ("a",), "y")),
        final_agent="b",
        unsafe=True,
        label_source="planted",
    )
    views = list(agent_views([episode]))
    assert [(v.id, v.final_agent, v.unsafe) for v in views] == [
        ("g-a", "a", True),
        ("g-b", "b", False),
    ]
    assert {v.task for v in views} == {("task:q",)}
