"""What `scripts/reproduce.py` is told, as `key=value`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fglguard.errors import SettingsError
from fglguard.evaluation.adaptive.suite import ATTACKS, HARD_NEGATIVES
from scripts.key_values import named, read_key_values

DEFAULTS = {
    "table": "main",
    "corpus.root": "",
    "corpus.path": ".fglguard/silos/real_logs",
    "out": "results",
    "folder": ".fglguard/reproduce",
    "page": "docs/results.md",
    "seeds": "5",
    "transfer_seeds": "1",
    "rounds": "0",
    "workers": "0",
    "encoder": "minilm",
    "attacks": "",
}


@dataclass(frozen=True)
class Options:
    """The command line.

    Attributes:
        table: One table's name, or `all`.
        root: Folder of the corpora in their publishers' formats; None where silos are there.
        path: The silos of the real logs; made from `root` when first needed.
        out: Where tables go, as JSON and Markdown.
        folder: Where run folders are kept for later tables.
        page: The page whose section of the table is rewritten; empty: none.
        seeds: Number of seeds, from 0.
        transfer_seeds: The same where something is held out altogether, and for the agents of
            teams, whose thousands of graphs differ less from seed to seed.
        rounds: Rounds of each federated run; 0: as `conf/` has them.
        workers: Runs at a time; 0: one a core.
        encoder: The utterance encoder.
        attacks: Rewritings and hard negatives of table `adaptive`; empty: all.
    """

    table: str
    root: Path | None
    path: Path
    out: Path
    folder: Path
    page: Path | None
    seeds: tuple[int, ...]
    transfer_seeds: tuple[int, ...]
    rounds: int
    workers: int
    encoder: str
    attacks: tuple[str, ...]


def read_options(arguments: Sequence[str], tables: Sequence[str]) -> Options:
    """Read `key=value` arguments.

    Raises:
        SettingsError: A key or a value is not one that there is; the text names it.
    """
    values = read_key_values(arguments, DEFAULTS)
    return Options(
        table=named("table", values["table"], (*tables, "all")),
        root=Path(values["corpus.root"]) if values["corpus.root"] else None,
        path=Path(values["corpus.path"]),
        out=Path(values["out"]),
        folder=Path(values["folder"]),
        page=Path(values["page"]) if values["page"] else None,
        seeds=tuple(range(_number("seeds", values, 1))),
        transfer_seeds=tuple(range(_number("transfer_seeds", values, 1))),
        rounds=_number("rounds", values, 0),
        workers=_number("workers", values, 0) or len(os.sched_getaffinity(0)),
        encoder=values["encoder"],
        attacks=_attacks(values["attacks"]),
    )


def _attacks(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    known = (*ATTACKS, *HARD_NEGATIVES)
    if unknown := set(names) - set(known):
        raise SettingsError(f"attacks: expected some of {', '.join(known)}, got {min(unknown)!r}")
    return names


def _number(key: str, values: dict[str, str], least: int) -> int:
    text = values[key]
    if not text.isdecimal() or int(text) < least:
        raise SettingsError(f"{key}: expected a whole number of at least {least}, got {text!r}")
    return int(text)
