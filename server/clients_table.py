"""A run's clients as a table, and the fairness summary over them."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from fglguard.evaluation.fairness import fairness_text

LARGEST_TABLE = 32
"""With more clients than this the summary alone is printed; `results.json` has every one."""


def print_clients(results: Mapping[str, Any], console: Console) -> None:
    """Print a row a client, where they are few, and how evenly AUROC is spread over them."""
    clients = results["clients"]
    if len(clients) <= LARGEST_TABLE:
        console.print(clients_table(clients))
    console.print(fairness_text(results["fairness"]))


def clients_table(clients: Mapping[str, Mapping[str, Any]]) -> Table:
    """Site, domain, training episodes, last loss and AUROC of its own test episodes."""
    table = Table(title="Clients")
    table.add_column("site")
    table.add_column("domain")
    table.add_column("train\n(unsafe)", justify="right")
    table.add_column("test\n(unsafe)", justify="right")
    table.add_column("last\nloss", justify="right")
    table.add_column("AUROC\nraw", justify="right")
    for site, figures in clients.items():
        value = figures["auroc"]
        table.add_row(
            site,
            figures["domain"],
            f"{figures['train_graphs']} ({figures['train_unsafe']})",
            f"{figures['test_graphs']} ({figures['test_unsafe']})",
            "-" if figures["loss"] is None else f"{figures['loss']:.4f}",
            figures["undefined"] if value is None else f"{value:.3f}",
        )
    return table
