"""Who held what, and how evenly the guard serves the clients."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fglguard.evaluation.fairness import fairness_text
from fglguard.evaluation.report.picture import KeyEntry, Picture, Table, number
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes, short
from fglguard.evaluation.report.theme import colour, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HELD = "Who held what"
FAIRNESS = "AUROC of each client"
NAMED_CLIENTS = 32
"""With more clients than this, bars have no names and the table is left out."""
LABEL_KEY = (KeyEntry("safe", "safe", "box"), KeyEntry("unsafe", "unsafe", "box"))

Clients = Mapping[str, Mapping[str, Any]]


def draw_holdings(clients: Clients) -> Picture:
    """A bar a client: its safe and its unsafe training episodes."""
    few = len(clients) <= NAMED_CLIENTS
    description = (
        "Labelled training episodes of each client (unsafe ones in brackets), as sites report them."
        if few
        else f"Labelled training episodes of each of {len(clients)} clients, in order, as sites "
        "report them."
    )
    held = np.array([figures["train_graphs"] for figures in clients.values()])
    unsafe = np.array([figures["train_unsafe"] for figures in clients.values()])
    names = [short(site) for site in clients] if few else []
    at = np.arange(len(clients))
    with figure(0.65 + (0.25 * len(clients) if few else 3.0)) as drawn:
        axes = place_axes(drawn, names=names)
        parts = ((0 * held, held - unsafe, "safe"), (held - unsafe, held, "unsafe"))
        for left, right, name in parts:
            if few:
                axes.barh(at, right - left, 0.74, left, color=colour(name))
            else:
                ends = np.repeat(at, 2) + np.tile([-0.5, 0.5], len(at))
                axes.fill_betweenx(
                    ends, np.repeat(left, 2), np.repeat(right, 2), color=colour(name), lw=0
                )
        if few:
            _write_counts(axes, held, unsafe)
            axes.set_yticks(at, names)
            axes.tick_params(axis="y", length=0)
        else:
            axes.set_ylabel("client")
        axes.set_ylim(len(clients) - 0.5, -0.5)
        axes.set_xlim(0, max(1, held.max()) * (1.22 if few else 1.03))
        axes.set_xlabel("training episodes")
        svg = inline_svg(drawn, "holdings", HELD, description)
    return Picture(HELD, description, svg, LABEL_KEY)


def draw_fairness(clients: Clients, fairness: Mapping[str, Any]) -> Picture:
    """A row a domain, a dot a client: raw AUROC on its own test episodes."""
    description = fairness_text(fairness)
    by_domain: dict[str, list[float]] = {}
    for figures in clients.values():
        found = by_domain.setdefault(figures["domain"], [])
        if figures["auroc"] is not None:
            found.append(figures["auroc"])
    if not fairness["clients"]:
        return Picture(FAIRNESS, description)
    names = [short(domain) for domain in by_domain]
    with figure(0.75 + 0.36 * len(by_domain)) as drawn:
        axes = place_axes(drawn, names=names)
        axes.axvline(fairness["mean"], color=colour("text"), linewidth=1.2, linestyle=(0, (4, 3)))
        for row, values in enumerate(by_domain.values()):
            axes.plot(
                values,
                row + _spread(values),
                linestyle="none",
                marker="o",
                markersize=7 if len(clients) <= NAMED_CLIENTS else 3.5,
                color=colour(series(row)[0]),
                alpha=0.8,
                markeredgewidth=0,
            )
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("AUROC raw (dashed: mean)")
        axes.grid(axis="x")
        svg = inline_svg(drawn, "fairness", FAIRNESS, description)
    return Picture(FAIRNESS, description, svg)


def clients_table(clients: Clients) -> Table | None:
    """A row a client, where they are few enough to be read."""
    if len(clients) > NAMED_CLIENTS:
        return None
    return Table(
        (
            "site",
            "domain",
            "train (unsafe)",
            "calibration (unsafe)",
            "test (unsafe)",
            "last loss",
            "AUROC raw",
        ),
        [
            (
                site,
                figures["domain"],
                *(
                    f"{figures[f'{split}_graphs']} ({figures[f'{split}_unsafe']})"
                    for split in ("train", "val", "test")
                ),
                number(figures["loss"], 4) if figures["loss"] is not None else "-",
                number(figures["auroc"]) if figures["auroc"] is not None else figures["undefined"],
            )
            for site, figures in clients.items()
        ],
    )


def _write_counts(axes: "Axes", held: NDArray[np.int64], unsafe: NDArray[np.int64]) -> None:
    for row, (count, bad) in enumerate(zip(held.tolist(), unsafe.tolist(), strict=True)):
        axes.annotate(
            f"{count} ({bad})",
            (count, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def _spread(values: Sequence[float]) -> NDArray[np.float64]:
    """Offsets that keep the dots of near values apart: up and down in turn, by rank."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    height = 0.16 if len(values) > 1 else 0.0
    return np.asarray((rank % 3 - 1) * height, dtype=np.float64)
