"""An episode's communication graph: who is suspect, and which edges drove the score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fglguard.evaluation.report.episode_view import EdgeView, EpisodeView
from fglguard.evaluation.report.picture import KeyEntry, Picture, Table, number, signed
from fglguard.evaluation.report.svg import WIDTH, figure, inline_svg, short
from fglguard.evaluation.report.theme import colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEY = (
    KeyEntry("an agent's own risk: the fuller, the higher", "unsafe", "box"),
    KeyEntry("at or above the threshold", "unsafe", "circle"),
    KeyEntry("final agent", "text", "ring"),
    KeyEntry("edge that raises the episode's logit", "unsafe"),
    KeyEntry("edge that lowers it", "safe", dashes=(4, 2.5)),
    KeyEntry("edge that changes little", "muted", dashes=(1, 2)),
)
LISTED_EDGES = 10
MOST_AGENTS = 40
"""A larger graph is listed, not drawn."""
HEIGHT = 2.9
_ACROSS, _UP = 1.6, 1.05
"""Half axes of the ellipse that agents stand on, in inches."""
_BEND = 0.2
_LITTLE = 0.05
"""An edge with less than this share of the largest change is drawn thin."""
_FULLEST = 0.5
"""Opacity of the colour of a risk of 1: the number on it stays readable."""
_WRITTEN_CHANGES = 3

Place = tuple[float, float]


@dataclass(frozen=True)
class _Size:
    """Of an agent: radius in inches, letters of its name, points of its text."""

    radius: float
    letters: int
    points: float


_LARGE, _SMALL = _Size(0.195, 20, 8.0), _Size(0.14, 12, 6.5)
_FEW = 9


def draw_graph(view: EpisodeView, identity: str) -> Picture:
    """The graph with each agent's risk in it, and the edges by what they change."""
    strongest = sorted(view.edges, key=lambda edge: -abs(edge.change))
    title = f"Communication graph of {view.name}"
    description = (
        f"{len(view.agents)} agents and {len(view.edges) + view.edges_left_out} edges; the final "
        f"agent is {view.agents[view.final].name} with risk {view.agents[view.final].risk:.3f}."
    )
    if view.edges_left_out:
        description += f" {view.edges_left_out} edges away from it are left out."
    table = Table(
        ("from", "to", "change"),
        [
            (view.agents[e.source].name, view.agents[e.target].name, signed(e.change))
            for e in strongest[:LISTED_EDGES]
        ],
    )
    if len(view.agents) > MOST_AGENTS:
        return Picture(title, f"{description} Too many to draw.", table=table)
    size = _LARGE if len(view.agents) <= _FEW else _SMALL
    with figure(HEIGHT) as drawn:
        places = layout(len(view.agents), view.edges)
        for rank, edge in enumerate(strongest):
            share = abs(edge.change) / (abs(strongest[0].change) or 1.0)
            _draw_edge(drawn, places, edge, share, size, written=rank < _WRITTEN_CHANGES)
        for node, place in enumerate(places):
            _draw_agent(drawn, place, view, node, size)
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


def layout(agents: int, edges: Sequence[EdgeView]) -> list[Place]:
    """Where each agent stands, in inches: on an ellipse, in the episode's order.

    One agent that is linked to nearly all others, and more than any of them, stands in the middle:
    an agent among its tools is a star, a debate a ring.
    """
    linked: list[set[int]] = [set() for _ in range(agents)]
    for edge in edges:
        linked[edge.source].add(edge.target)
        linked[edge.target].add(edge.source)
    degrees = [len(found) for found in linked]
    most = max(degrees)
    star = agents > 3 and most >= agents - 2 and degrees.count(most) == 1
    around = [node for node in range(agents) if not (star and degrees[node] == most)]
    places = [(WIDTH / 2, HEIGHT / 2)] * agents
    for place, node in enumerate(around if agents > 1 else ()):
        # Two or three stand beside each other, more start at the top.
        angle = math.pi * (0.5 if len(around) > 3 else 1.0) - 2 * math.pi * place / len(around)
        places[node] = (
            WIDTH / 2 + _ACROSS * math.cos(angle),
            HEIGHT / 2 + _UP * math.sin(angle),
        )
    return places


def _draw_edge(
    drawn: "Figure",
    places: Sequence[Place],
    edge: EdgeView,
    share: float,
    size: _Size,
    *,
    written: bool,
) -> None:
    from matplotlib.patches import FancyArrowPatch

    little = share < _LITTLE
    name = "muted" if little else "unsafe" if edge.change > 0 else "safe"
    dashes = (1.0, 2.0) if little else () if edge.change > 0 else (4.0, 2.5)
    start, end = places[edge.source], places[edge.target]
    arrow = FancyArrowPatch(
        start,
        end,
        arrowstyle="-|>,head_length=0.45,head_width=0.2",
        connectionstyle=f"arc3,rad={_BEND}",
        shrinkA=72 * size.radius + 2,
        shrinkB=72 * size.radius + 3,
        mutation_scale=9,
        linewidth=0.7 + 2.4 * share,
        linestyle=(0, dashes) if dashes else "-",
        color=colour(name),
        transform=drawn.dpi_scale_trans,
        zorder=1 + share,
    )
    drawn.add_artist(arrow)
    if written and not little:
        # The middle of a quadratic Bezier curve of that bend.
        dx, dy = end[0] - start[0], end[1] - start[1]
        middle = start[0] + dx / 2 + _BEND / 2 * dy, start[1] + dy / 2 - _BEND / 2 * dx
        _write(drawn, middle, signed(edge.change, 2), name, size.points, "center")


def _draw_agent(drawn: "Figure", place: Place, view: EpisodeView, node: int, size: _Size) -> None:
    from matplotlib.patches import Circle

    agent = view.agents[node]
    above = agent.risk >= view.threshold
    ring = colour("unsafe" if above else "muted")
    final = {"fc": colour("surface"), "ec": colour("text"), "lw": 0.9}
    body = {"fc": colour("surface"), "ec": ring, "lw": 3.0 if above else 1.0}
    risk = {"fc": colour("unsafe"), "lw": 0.0, "alpha": _FULLEST * agent.risk}
    circles = [(size.radius, body), (size.radius - 0.01, risk)]
    if node == view.final:
        circles.insert(0, (size.radius + 0.05, final))
    for radius, look in circles:
        circle = Circle(place, radius, transform=drawn.dpi_scale_trans, zorder=4, **look)
        drawn.add_artist(circle)
    _write(drawn, place, f"{agent.risk:.2f}", "text", size.points, "center", plain=True)
    # Away from the middle, where the edges are.
    side = 1 if place[1] > HEIGHT / 2 + _UP / 4 else -1
    below = place[0], place[1] + side * (size.radius + 0.08)
    anchor = "bottom" if side > 0 else "top"
    _write(drawn, below, short(agent.name, size.letters), "text", size.points, anchor)


def _write(
    drawn: "Figure",
    place: Place,
    text: str,
    name: str,
    points: float,
    anchor: str,
    *,
    plain: bool = False,
) -> None:
    """Text on the surface's colour, so that edges do not run through it."""
    ground = {"facecolor": colour("surface"), "edgecolor": "none", "pad": 0.8}
    drawn.text(
        *place,
        text,
        transform=drawn.dpi_scale_trans,
        ha="center",
        va=anchor,
        fontsize=points,
        color=colour(name),
        bbox=None if plain else ground,
        zorder=5 if plain else 3,
    )
