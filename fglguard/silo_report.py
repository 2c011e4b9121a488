"""A silo in tables: counts, labels, agents, rounds, lengths, splits."""

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fglguard.corpora.splits import SPLITS
from fglguard.silo import Silo

LABELS = ((1, "unsafe"), (0, "safe"), (-1, "unlabelled"))


def print_silo(silo: Silo, console: Console | None = None) -> None:
    """Print what a silo holds; no text of an episode is shown."""
    # Without markup: names of silos and domains are not ours, and may look like it.
    console = console or Console(markup=False)
    console.print(f"{silo.name}: {len(silo)} episodes in {silo.path}", style="bold")
    console.print(_domains(silo))
    console.print(_splits(silo))
    console.print(_shapes(silo))
    prepared = ", ".join(silo.encoder_fingerprints()) or "none yet (fglguard corpus embed)"
    console.print(f"embedded with: {prepared}")


def _domains(silo: Silo) -> Table:
    table = Table(title="Labels by domain")
    for column in ("domain", "episodes", *(name for _, name in LABELS), "unsafe share"):
        table.add_column(column, justify="left" if column == "domain" else "right")
    for code, domain in enumerate(silo.domains):
        label = silo.label[silo.domain == code]
        counts = [int(np.count_nonzero(label == value)) for value, _ in LABELS]
        labelled = counts[0] + counts[1]
        share = f"{counts[0] / labelled:.2f}" if labelled else "-"
        table.add_row(domain, str(len(label)), *map(str, counts), share)
    return table


def _splits(silo: Silo) -> Table:
    table = Table(title="Splits (no task on two sides)")
    for column in ("split", "episodes", *(name for _, name in LABELS)):
        table.add_column(column, justify="left" if column == "split" else "right")
    left_out = [("left out", ~np.isin(silo.split, range(len(SPLITS))))]
    sides = [(name, silo.split == code) for code, name in enumerate(SPLITS)]
    for name, inside in sides + left_out:
        label = silo.label[inside]
        counts = [int(np.count_nonzero(label == value)) for value, _ in LABELS]
        table.add_row(name, str(len(label)), *map(str, counts))
    return table


def _shapes(silo: Silo) -> Table:
    agents, rounds, messages, lengths = [], [], [], []
    for episode in silo.episodes():
        agents.append(len(episode.agents))
        rounds.append(episode.messages[-1].round + 1)
        messages.append(len(episode.messages))
        lengths += [len(text) for text in episode.texts]
    table = Table(title="Shapes")
    for column in ("", "median", "95th percentile", "largest"):
        table.add_column(column, justify="right" if column else "left")
    for name, values in (
        ("agents an episode", agents),
        ("rounds an episode", rounds),
        ("messages an episode", messages),
        ("characters a message", lengths),
    ):
        table.add_row(name, *_summary(np.array(values)))
    return table


def _summary(values: NDArray[np.int64]) -> list[str]:
    return [f"{np.percentile(values, 50):g}", f"{np.percentile(values, 95):g}", str(values.max())]
