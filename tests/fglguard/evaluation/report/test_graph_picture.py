import pytest

from fglguard.evaluation.report import graph_picture
from fglguard.evaluation.report.episode_view import AgentView, EdgeView, EpisodeView
from fglguard.evaluation.report.graph_picture import (
    HEIGHT,
    MOST_AGENTS,
    agents_table,
    draw_graph,
    layout,
)
from fglguard.evaluation.report.svg import WIDTH

MIDDLE = (WIDTH / 2, HEIGHT / 2)


def star(agents):
    """Agent 1 talks with everyone else."""
    return [EdgeView(1, n, 0.1 * n) for n in range(agents) if n != 1]


def view(agents, edges):
    return EpisodeView(
        name="episode",
        why=("missed",),
        silo="s",
        domain="d",
        unsafe=True,
        blocked=False,
        raw=0.25,
        corroborated=0.75,
        threshold=0.5,
        final=1,
        agents=tuple(AgentView(f"agent {n}", "agent", n / agents) for n in range(agents)),
        edges=tuple(edges),
        edges_left_out=0,
        messages=None,
        flow=None,
    )


def test_an_agent_among_its_tools_stands_in_the_middle():
    places = layout(5, star(5))
    assert places[1] == MIDDLE
    assert len(set(places)) == 5


def test_a_debate_is_a_ring():
    edges = [EdgeView(i, j, 0.0) for i in range(6) for j in range(6) if i != j]
    places = layout(6, edges)
    assert MIDDLE not in places
    assert len({(round(x, 6), round(y, 6)) for x, y in places}) == 6


@pytest.mark.parametrize("agents", [1, 2, 3, MOST_AGENTS])
def test_every_place_is_inside_the_drawing(agents):
    for x, y in layout(agents, star(agents) if agents > 1 else []):
        assert 0.5 < x < WIDTH - 0.5
        assert 0.3 < y < HEIGHT - 0.3


def test_a_drawing_says_every_risk_and_the_largest_changes():
    picture = draw_graph(view(5, [EdgeView(0, 1, 2.0), EdgeView(2, 1, -1.0)]), "e")
    for text in ("0.00", "0.20", "0.80", "agent 4", "+2.00", "\u22121.00"):
        assert f">{text}</text>" in picture.svg
    assert [row[0] for row in picture.table.rows] == ["agent 0", "agent 2"]
    assert picture.table.rows[1][2] == graph_picture.signed(-1.0)


def test_edges_that_change_nothing_are_drawn_all_the_same():
    assert "+0.00" not in draw_graph(view(3, [EdgeView(0, 1, 0.0)]), "e").svg


def test_more_agents_than_can_be_told_apart_are_listed():
    agents = MOST_AGENTS + 1
    picture = draw_graph(view(agents, star(agents)), "e")
    assert picture.svg == ""
    assert "Too many to draw" in picture.description
    table = agents_table(view(agents, star(agents)))
    assert len(table.rows) == agents
    assert table.rows[0][0] == f"agent {agents - 1}"
