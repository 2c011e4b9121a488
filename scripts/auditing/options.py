"""What `scripts/audit.py` is told."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fglguard.errors import SettingsError
from privacy.audit.detector_exports import Mode
from privacy.plans import LADDER
from scripts.auditing.gate import Gate, read_gate
from scripts.key_values import named, read_key_values

MODES: tuple[Mode, ...] = get_args(Mode)

DEFAULTS = {
    "model": "detector:small",
    "privacy": ",".join(LADDER),
    "attacks": "all",
    "exports": "1,16,100",
    "budget": "1",
    "batches": "auto",
    "modes": "fedsgd,fedprox",
    "trials": "0",
    "path": ".fglguard/silos/replay",
    "encoder": "minilm",
    "out": "results/audit",
    "seed": "0",
    "utility": "",
    "seeds": "3",
    "workers": "0",
}


@dataclass(frozen=True)
class Options:
    """The command line.

    Attributes:
        model: Such as `detector:small`, `gpt2,bert` or `all-text`.
        privacies: Masks, the least first; `none` is always among them.
        attacks: Families of attacks, or `all` alone.
        exports: Numbers T of exports that an attacker averages.
        budget: T that the masks' noise is made for.
        batches: Sizes of a client's batch; none: those that suit the model.
        modes: What is exported: one gradient, or the change after a round. Of a detector alone.
        trials: Batches of each size; 0: more of the small ones. Of texts at most so many.
        path: The silo.
        encoder: Whose vectors the silo's graphs hold.
        out: Folder of the Markdown, JSON and HTML files.
        seed: Of everything.
        utility: Of a detector, silos on which whole federations say what masks cost in AUROC; of
            families of transformers `text`: what masks cost them in perplexity, accuracy and time.
            None: not measured.
        seeds: Federations under each mask.
        workers: Processes that families of transformers are audited in; 0: one a core.
        quick: Few batches and few candidates.
        json: File that gets the summary's figures; None: none.
        gates: Bounds on figures.
    """

    model: str
    privacies: tuple[str, ...]
    attacks: tuple[str, ...]
    exports: tuple[int, ...]
    budget: int
    batches: tuple[int, ...]
    modes: tuple[Mode, ...]
    trials: int
    path: Path
    encoder: str
    out: Path
    seed: int
    utility: Path | None
    seeds: int
    workers: int
    quick: bool
    json: Path | None
    gates: tuple[Gate, ...]


def read_options(arguments: Sequence[str] | None, description: str | None) -> Options:
    """Read `key=value` arguments and flags.

    Raises:
        SettingsError: A key or a value is not one that there is; the text names it.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "values",
        nargs="*",
        metavar="key=value",
        help=" ".join(f"{key}={value}" for key, value in DEFAULTS.items()),
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a summary's figures here")
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="FIGURE=LIMIT",
        help="fail where an attack under a mask beats its null baseline by more than this",
    )
    parser.add_argument("--quick", action="store_true", help="few batches, few candidates")
    parsed = parser.parse_intermixed_args(arguments)
    values = read_key_values(parsed.values, DEFAULTS)
    return Options(
        model=values["model"],
        privacies=_privacies(values["privacy"]),
        attacks=_names(values["attacks"]),
        exports=_numbers("exports", values),
        budget=_number("budget", values["budget"], 1),
        batches=() if values["batches"] == "auto" else _numbers("batches", values),
        modes=tuple(mode for mode in MODES if mode in _modes(values["modes"])),
        trials=_number("trials", values["trials"], 0),
        path=Path(values["path"]),
        encoder=values["encoder"],
        out=Path(values["out"]),
        seed=_number("seed", values["seed"], 0),
        utility=Path(values["utility"]) if values["utility"] else None,
        seeds=_number("seeds", values["seeds"], 1),
        workers=_number("workers", values["workers"], 0),
        quick=parsed.quick,
        json=parsed.json,
        gates=tuple(read_gate(text) for text in parsed.gate),
    )


def _privacies(text: str) -> tuple[str, ...]:
    wanted = {named("privacy", name, LADDER) for name in _names(text)}
    return tuple(name for name in LADDER if name in wanted | {"none"})


def _modes(text: str) -> set[str]:
    return {named("modes", name, MODES) for name in _names(text)}


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


def _numbers(key: str, values: Mapping[str, str]) -> tuple[int, ...]:
    return tuple(sorted({_number(key, text, 1) for text in _names(values[key])}))


def _number(key: str, text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise SettingsError(f"{key}: expected whole numbers of at least {least}, got {text!r}")
    return int(text)
