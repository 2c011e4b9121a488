"""Measure: `python scripts/bench.py simulation --json figures.json`, and likewise the others."""

import argparse
import importlib
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

BENCHMARKS = ("aegis", "encode", "growth", "guard", "run", "score", "silo", "simulation", "text")


def main() -> None:
    """Run one benchmark, print its figures as a table, and keep them as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    arguments = parser.parse_args()
    if arguments.json and not arguments.json.parent.is_dir():
        parser.error(f"--json: expected the folder {arguments.json.parent} to be there")
    # Only the module asked for: each imports what it measures.
    module = importlib.import_module(f"scripts.benchmarks.{arguments.benchmark}")
    figures = getattr(module, arguments.benchmark)()
    table = Table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}")
    Console().print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
