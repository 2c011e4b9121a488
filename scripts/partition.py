"""Show who holds what: `python scripts/partition.py partition=label_skew federation.clients=8`.

Hydra composes the settings from `conf/` as for a simulation, but nothing is trained;
`output=FILE.svg` (or .png, .pdf) also draws a picture.
"""

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.errors import FglguardError
from fglguard.files import require_folder_of
from fglguard.partitions import partition
from fglguard.partitions.counts import ShareCounts, count_shares
from fglguard.settings import PartitionSettings, RunSettings
from scripts.command_line import CONF, hydra_errors_told
from scripts.configuration import flat_values
from scripts.corpus_preparation import prepare_corpus

_ASPECTS = {
    "label_skew": "purity",
    "dirichlet": "concentration",
    "quantity": "exponent",
    "natural": "key",
}
"""The setting that each kind has of its own."""

console = Console()


@hydra.main(version_base=None, config_path=str(CONF), config_name="config")
def main(config: DictConfig) -> None:
    """Deal, print the clients, draw where asked to."""
    try:
        flat, root = flat_values(config)
        settings = RunSettings.from_flat(flat)
        if not Path(settings.corpus.path).exists():
            prepare_corpus(settings, root)
        show_partition(settings)
    except FglguardError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def show_partition(settings: RunSettings) -> None:
    """Print a line a client; write a picture to `settings.output` unless that is empty.

    Raises:
        OutputError: The picture's folder is not there.
        SettingsError: The partition does not fit the corpus, or the file's ending no format.
        SiloError: A silo can't be opened.
    """
    if settings.output:
        require_folder_of(Path(settings.output))
    silos = open_corpus(settings.corpus)
    shares = partition(silos, settings.partition, settings.federation.clients, settings.seed)
    counts = count_shares(shares, silos)
    title = f"{settings.corpus.name}: {describe(settings.partition)}, {len(shares)} clients"
    console.print(clients_table(counts, title))
    if counts.nobody.any():
        safe, unsafe, unknown = counts.nobody.sum(axis=(0, 1)).tolist()
        console.print(f"left out: {safe} safe, {unsafe} unsafe, {unknown} unlabelled episodes")
    if settings.output:
        # Here, so that the table comes without waiting for matplotlib.
        from fglguard.partitions.picture import draw_shares

        draw_shares(shares, silos, Path(settings.output), title=title)
        console.print(f"picture: {settings.output}")


def describe(settings: PartitionSettings) -> str:
    """The kind and the setting that it has of its own, e.g. `label_skew, purity 0.8`."""
    aspect = _ASPECTS.get(settings.kind)
    return (
        settings.kind
        if aspect is None
        else f"{settings.kind}, {aspect} {getattr(settings, aspect)}"
    )


def clients_table(counts: ShareCounts, title: str) -> Table:
    """A row a client: its domain, its episodes by split, the unsafe share of its training."""
    table = Table(title=title, title_justify="left", show_footer=True)
    table.add_column("client", footer="all")
    table.add_column("domain")
    by_split = counts.held.sum(axis=(1, 3))
    for split, total in zip(SPLITS, by_split.sum(axis=0).tolist(), strict=True):
        table.add_column(split, footer=str(total), justify="right")
    labels = counts.of_split("train").sum(axis=1).tolist()
    everyone = [sum(column) for column in zip(*labels, strict=True)]
    table.add_column("unsafe in train", footer=_unsafe_share(everyone), justify="right")
    for client, site in enumerate(counts.sites):
        figures = [str(count) for count in by_split[client].tolist()]
        table.add_row(site, counts.site_domains[client], *figures, _unsafe_share(labels[client]))
    return table


def _unsafe_share(labels: list[int]) -> str:
    safe, unsafe, _ = labels
    return f"{unsafe / (safe + unsafe):.0%}" if safe + unsafe else "-"


if __name__ == "__main__":
    with hydra_errors_told():
        main()
