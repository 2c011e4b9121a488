"""Draw one small picture of each kind of partition: `python scripts/partition_kinds.py SILO FILE`.

`docs/images/partitions.svg` is drawn so, from the replay silo.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure

from fglguard.errors import FglguardError
from fglguard.partitions import KINDS, partition
from fglguard.partitions.counts import count_shares
from fglguard.partitions.picture import draw_bars, draw_legend, save_figure
from fglguard.settings import PartitionSettings
from fglguard.silo import open_silos
from scripts.partition import describe

CLIENTS = 8
_DEFAULTS = PartitionSettings("domain", False, 0.8, 0.5, 1.0, "attack")


def main() -> None:
    """Read the arguments, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("silo", type=Path, help="a silo, or a folder of silos")
    parser.add_argument("file", type=Path, help="the picture: .svg, .png or .pdf")
    parser.add_argument("--key", default=_DEFAULTS.key, help="attribute of the kind natural")
    parser.add_argument("--natural-clients", type=int, default=7, help="clients of that kind")
    arguments = parser.parse_args()
    try:
        draw_kinds(arguments.silo, arguments.file, arguments.key, arguments.natural_clients)
    except FglguardError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def draw_kinds(silo: Path, file: Path, key: str, natural_clients: int) -> None:
    """Draw every kind at its default settings.

    Raises:
        FglguardError: The silo can't be opened or does not fit a kind.
    """
    silos = open_silos(silo)
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    grid = figure.subplots(3, 2)
    for axes, kind in zip(grid.flat, KINDS, strict=True):
        clients = natural_clients if kind == "natural" else CLIENTS
        settings = replace(_DEFAULTS, kind=kind, key=key)
        counts = count_shares(partition(silos, settings, clients, seed=0), silos)
        draw_bars(axes, counts)
        axes.set_title(describe(settings), loc="left", fontsize=11)
        axes.tick_params(labelsize=8)
    draw_legend(figure, counts)
    save_figure(figure, file)


if __name__ == "__main__":
    main()
