"""Measure: `python scripts/bench.py encode`, `python scripts/bench.py run --json figures.json`."""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scripts.benchmarks.encode import encode
from scripts.benchmarks.run import run

BENCHMARKS = {"encode": encode, "run": run}


def main() -> None:
    """Run one benchmark, print its figures as a table, and keep them as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    arguments = parser.parse_args()
    figures = BENCHMARKS[arguments.benchmark]()
    table = Table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, f"{value:.2f}")
    Console().print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
