"""An episode's communication graph: who is suspect, and which edges drove the score."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fglguard.evaluation.report.episodes import EdgeView, EpisodeView
from fglguard.evaluation.report.picture import KeyEntry, Picture, Table, number
from fglguard.evaluation.report.svg import WIDTH, figure, inline_svg, short
from fglguard.evaluation.report.theme import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEY = (
    KeyEntry("the agent's own risk: more, the darker", "unsafe", "box"),
    KeyEntry("final agent (double ring)", "text", "ring"),
    KeyEntry("at or above the threshold (thick ring)", "unsafe", "circle"),
    KeyEntry("edge that raises the final agent's logit", "unsafe"),
    KeyEntry("edge that lowers it", "safe", dashes=(4, 2.5)),
    KeyEntry("edge that changes little", "muted", dashes=(1, 2)),
)
LISTED_EDGES = 10
MOST_AGENTS = 40
"""A larger graph is listed, not drawn."""
HEIGHT = 3.1
_ACROSS, _UP = 1.62, 1.08
"""Half axes of the ellipse that agents stand on, in inches."""
_BEND = 0.16
_RADIUS = 14.0
_MANY = 9
_SMALL_RADIUS = 9.0
_LITTLE = 0.05
"""An edge with less than this share of the largest change is drawn thin."""
_WRITTEN_CHANGES = 3


def draw_graph(view: EpisodeView, identity: str) -> Picture:
    """The graph with each agent's risk in it, and the edges by what they change."""
    strongest = sorted(view.edges, key=lambda edge: -abs(edge.change))
    title = f"Communication graph of {view.name}"
    description = (
        f"{len(view.agents)} agents and {len(view.edges)} edges; the final agent is "
        f"{view.agents[view.final].name} with risk {view.raw:.3f}."
    )
    table = Table(
        ("from", "to", "change of the final logit"),
        [
            (view.agents[e.source].name, view.agents[e.target].name, f"{e.change:+.3f}")
            for e in strongest[:LISTED_EDGES]
        ],
    )
    if len(view.agents) > MOST_AGENTS:
        return Picture(title, f"{description} Too many to draw.", table=table)
    with figure(HEIGHT) as drawn:
        axes = drawn.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        # One scale both ways, with room for the names below the agents.
        axes.set_xlim(-WIDTH / 2, WIDTH / 2)
        axes.set_ylim(-HEIGHT / 2 - 0.12, HEIGHT / 2 - 0.12)
        places = layout(len(view.agents), view.edges)
        for rank, edge in enumerate(strongest):
            largest = abs(strongest[0].change)
            _draw_edge(axes, places, edge, largest, written=rank < _WRITTEN_CHANGES, view=view)
        for node in range(len(view.agents)):
            _draw_agent(axes, places[node], view, node)
        svg = inline_svg(drawn, identity, title, description)
    return Picture(title, description, svg, (), table)


def agents_table(view: EpisodeView) -> Table:
    """Every agent's risk, the most suspect first."""
    ordered = sorted(range(len(view.agents)), key=lambda node: -view.agents[node].risk)
    return Table(
        ("agent", "kind", "risk"),
        [
            (
                view.agents[node].name + (" (final)" if node == view.final else ""),
                view.agents[node].kind,
                number(view.agents[node].risk),
            )
            for node in ordered
        ],
    )


def layout(agents: int, edges: Sequence[EdgeView]) -> list[tuple[float, float]]:
    """Places on a circle in the episode's order; one agent that is linked to most is inside it.

    So a single agent among its tools is a star and a debate is a ring.
    """
    linked: list[set[int]] = [set() for _ in range(agents)]
    for edge in edges:
        linked[edge.source].add(edge.target)
        linked[edge.target].add(edge.source)
    degrees = [len(found) for found in linked]
    hub = max(range(agents), key=lambda node: degrees[node])
    star = agents > 3 and degrees[hub] >= agents - 2 and degrees.count(degrees[hub]) == 1
    around = [node for node in range(agents) if not (star and node == hub)]
    places = [(0.0, 0.0)] * agents
    for place, node in enumerate(around if agents > 1 else ()):
        # Two or three stand beside each other, more start at the top.
        angle = math.pi * (0.5 if len(around) > 3 else 1.0) - 2 * math.pi * place / len(around)
        places[node] = (_ACROSS * math.cos(angle), _UP * math.sin(angle))
    return places


def _draw_edge(
    axes: "Axes",
    places: Sequence[tuple[float, float]],
    edge: EdgeView,
    largest: float,
    *,
    written: bool,
    view: EpisodeView,
) -> None:
    share = abs(edge.change) / largest if largest else 0.0
    little = share < _LITTLE
    name = "muted" if little else "unsafe" if edge.change > 0 else "safe"
    dashes = (1.0, 2.0) if little else () if edge.change > 0 else (4.0, 2.5)
    start, end = places[edge.source], places[edge.target]
    radius = _radius(view)
    axes.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "-|>,head_length=0.45,head_width=0.2",
            "connectionstyle": f"arc3,rad={_BEND}",
            "shrinkA": radius + 2,
            "shrinkB": radius + 3,
            "mutation_scale": 9,
            "linewidth": 0.7 + 2.4 * share,
            "linestyle": (0, dashes) if dashes else "-",
            "color": colour(name),
        },
        zorder=1 + share,
    )
    if written and not little:
        # Where a quadratic Bezier curve of that bend has its middle.
        dx, dy = end[0] - start[0], end[1] - start[1]
        middle = (start[0] + dx / 2 + _BEND / 2 * dy, start[1] + dy / 2 - _BEND / 2 * dx)
        axes.text(
            *middle,
            f"{edge.change:+.2f}",
            fontsize=8,
            ha="center",
            va="center",
            color=colour(name),
            bbox={"facecolor": colour("surface"), "edgecolor": "none", "pad": 1.0},
            zorder=3,
        )


def _draw_agent(
    axes: "Axes", place: tuple[float, float], view: EpisodeView, node: int
) -> None:
    agent = view.agents[node]
    above = agent.risk >= view.threshold
    size = 2 * _radius(view)
    x, y = [place[0]], [place[1]]
    ring = {"linestyle": "none", "marker": "o", "zorder": 4}
    if node == view.final:
        axes.plot(
            x, y, markersize=size + 6, markerfacecolor=colour("surface"),
            markeredgecolor=colour("text"), markeredgewidth=0.9, **ring,
        )
    axes.plot(
        x, y, markersize=size, markerfacecolor=colour("surface"),
        markeredgecolor=colour("unsafe" if above else "muted"),
        markeredgewidth=3 if above else 1, **ring,
    )
    axes.plot(
        x, y, markersize=size - (3 if above else 1), markerfacecolor=colour("unsafe"),
        markeredgewidth=0, alpha=0.75 * agent.risk, **ring,
    )
    small = len(view.agents) > _MANY
    axes.text(
        *place, f"{agent.risk:.2f}", ha="center", va="center", zorder=5,
        fontsize=6.5 if small else 8.5,
    )
    axes.annotate(
        short(agent.name, 12 if small else 20), place, xytext=(0, -size / 2 - 4),
        textcoords="offset points", ha="center", va="top", zorder=5,
        fontsize=6.5 if small else 8,
        bbox={"facecolor": colour("surface"), "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
    )


def _radius(view: EpisodeView) -> float:
    return _SMALL_RADIUS if len(view.agents) > _MANY else _RADIUS
