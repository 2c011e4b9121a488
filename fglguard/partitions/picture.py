"""A picture of who holds what: a bar a client, split by domain and label. Needs matplotlib."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Patch
from numpy.typing import NDArray

from fglguard.errors import SettingsError
from fglguard.files import write_atomically
from fglguard.partitions.counts import ShareCounts, count_shares
from fglguard.partitions.share import Share
from fglguard.silo import Silo

FORMATS = (".svg", ".png", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#8C6D1F", "#56B4E9", "#882255")
"""Told apart by colour-blind readers too, in the light tint as well."""
_REST = "#777777"
_UNKNOWN = "#D9D9D9"
_TINT = 0.62
NAMED_CLIENTS = 32
"""Up to so many clients have their names and figures written beside their bars."""


def draw_shares(
    shares: Sequence[Share], silos: Sequence[Silo], path: Path, *, title: str = ""
) -> None:
    """Draw what each client trains on and write it as SVG, PNG or PDF, by the path's ending.

    One bar a client: labelled safe episodes of each domain in a light tint, unsafe ones in the
    full colour, unlabelled ones in grey. The same shares give the same bytes.

    Args:
        shares: As `partition` deals them.
        silos: The silos they were dealt from.
        path: Where to; a picture that is there is replaced.
        title: What stands above.

    Raises:
        SettingsError: The path's ending is none of those.
    """
    counts = count_shares(shares, silos)
    clients = len(shares)
    figure = Figure(figsize=(8, 1.5 + float(np.clip(0.3 * clients, 1.2, 6))), layout="constrained")
    axes = figure.subplots()
    draw_bars(axes, counts)
    axes.set_title(title or f"Who trains on what: {clients} clients", loc="left", fontsize=11)
    draw_legend(figure, counts)
    save_figure(figure, path)


def draw_bars(axes: Axes, counts: ShareCounts) -> None:
    """Draw a bar a client, the first on top."""
    segments, colours = _segments(counts)
    edges = np.cumsum(np.vstack([np.zeros(len(counts.sites)), segments]), axis=0)
    few = len(counts.sites) <= NAMED_CLIENTS
    gap = 0.12 if few else 0.0
    # Two edges a client: one shape a segment, however many clients there are.
    y = np.repeat(np.arange(len(counts.sites)), 2) + np.tile(
        [gap - 0.5, 0.5 - gap], len(counts.sites)
    )
    for left, right, colour in zip(edges[:-1], edges[1:], colours, strict=True):
        if few:
            axes.barh(
                np.arange(len(left)), right - left, 1 - 2 * gap, left, color=colour, ec="w", lw=0.5
            )
        else:
            axes.fill_betweenx(y, np.repeat(left, 2), np.repeat(right, 2), color=colour, lw=0)
    if few:
        axes.set_yticks(range(len(counts.sites)), counts.sites)
        _write_figures(axes, counts, edges[-1])
    else:
        axes.set_ylabel("client")
    axes.set_ylim(len(counts.sites) - 0.5, -0.5)
    axes.set_xlim(0, float(edges[-1].max()) * (1.2 if few else 1.03))
    axes.set_xlabel("training episodes")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0 if few else 3)


def draw_legend(figure: Figure, counts: ShareCounts) -> None:
    """Draw the key below: for each domain its light (safe) and full (unsafe) colour."""
    names, colours = _domain_colours(counts)
    handles: list[Any] = [(Patch(color=_light(colour)), Patch(color=colour)) for colour in colours]
    labels = [f"{name}: safe, unsafe" for name in names]
    if counts.of_split("train")[:, :, 2].any():
        handles.append(Patch(color=_UNKNOWN))
        labels.append("no label")
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
    )


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure whole or not at all, without a date in it.

    Raises:
        SettingsError: The path's ending is not that of a format.
    """
    if path.suffix not in FORMATS:
        raise SettingsError(
            f"output: expected a picture's file, ending in {', '.join(FORMATS)}, got {path}"
        )
    buffer = BytesIO()
    dateless = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix, {})
    with mpl.rc_context({"svg.hashsalt": "fglguard", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=path.suffix[1:], dpi=150, metadata=dateless)
    with write_atomically(path) as file:
        file.write(buffer.getvalue())


def _segments(counts: ShareCounts) -> tuple[NDArray[np.int64], list[Any]]:
    """[segments, clients] lengths and the colour of each: all safe, all unsafe, unknown."""
    train = counts.of_split("train")
    _, colours = _domain_colours(counts)
    groups = np.minimum(np.arange(len(counts.domains)), len(colours) - 1)
    lengths, shades = [], []
    for label in (0, 1):
        for group, colour in enumerate(colours):
            lengths.append(train[:, groups == group, label].sum(axis=1))
            shades.append(colour if label else _light(colour))
    return np.array([*lengths, train[:, :, 2].sum(axis=1)]), [*shades, _UNKNOWN]


def _domain_colours(counts: ShareCounts) -> tuple[list[str], list[str]]:
    """Names and colours; domains beyond the colours there are share the last one."""
    if len(counts.domains) <= len(COLOURS):
        return counts.domains, list(COLOURS[: len(counts.domains)])
    rest = len(counts.domains) - len(COLOURS)
    return [*counts.domains[: len(COLOURS)], f"{rest} more domains"], [*COLOURS, _REST]


def _light(colour: str) -> tuple[float, float, float]:
    red, green, blue = (_TINT + (1 - _TINT) * part for part in to_rgb(colour))
    return red, green, blue


def _write_figures(axes: Axes, counts: ShareCounts, ends: NDArray[np.float64]) -> None:
    labels = counts.of_split("train").sum(axis=1)
    for client, (safe, unsafe, _) in enumerate(labels.tolist()):
        share = f", {unsafe / (safe + unsafe):.0%} unsafe" if safe + unsafe else ""
        axes.annotate(
            f"{int(ends[client])}{share}",
            (ends[client], client),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
