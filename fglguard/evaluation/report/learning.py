"""Learning curves."""

from collections.abc import Mapping

from fglguard.evaluation.report.history import Learning
from fglguard.evaluation.report.picture import KeyEntry, Picture, Table, number
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes
from fglguard.evaluation.report.theme import colour, series

TITLE = "Training loss by domain"
_LISTED_ROUNDS = 12


def draw_learning(learning: Mapping[str, Learning]) -> Picture:
    """A line a domain over the rounds, with the range of its clients behind it."""
    if not learning:
        return Picture(TITLE, "No client reported a training loss.")
    description = (
        "Mean training loss of each domain's clients over the rounds, at the parameters that each "
        "had on the way; the band spans the lowest and the highest client."
    )
    keys: list[KeyEntry] = []
    with figure(2.9) as drawn:
        from matplotlib.ticker import MaxNLocator

        axes = place_axes(drawn)
        for place, (domain, curve) in enumerate(learning.items()):
            name, dashes = series(place)
            keys.append(KeyEntry(domain, name, dashes=dashes))
            axes.fill_between(
                curve.rounds, curve.low, curve.high, color=colour(name), alpha=0.12, linewidth=0
            )
            # A single round is a point, not a line of no length.
            marker = "o" if len(curve.rounds) == 1 else ""
            axes.plot(
                curve.rounds,
                curve.mean,
                color=colour(name),
                linewidth=1.6,
                linestyle=(0, dashes),
                marker=marker,
                markersize=4,
            )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("round")
        axes.set_ylabel("training loss")
        axes.grid(axis="y")
        svg = inline_svg(drawn, "learning", TITLE, description)
    return Picture(TITLE, description, svg, keys, _table(learning))


def _table(learning: Mapping[str, Learning]) -> Table:
    """The first and the last round, and some evenly between."""
    rounds = sorted({number for curve in learning.values() for number in curve.rounds})
    step = max(1, -(-len(rounds) // _LISTED_ROUNDS))
    listed = sorted({*rounds[::step], rounds[-1]})
    by_round = {
        domain: dict(zip(curve.rounds, curve.mean, strict=True))
        for domain, curve in learning.items()
    }
    return Table(
        ("round", *learning),
        [
            (
                str(at),
                *(number(values[at], 4) if at in values else "-" for values in by_round.values()),
            )
            for at in listed
        ],
    )
