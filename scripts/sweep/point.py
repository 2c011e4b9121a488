"""One point of a sweep: its settings, its identity and its folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from fglguard.errors import FglguardError, SettingsError
from fglguard.settings import RunSettings
from scripts.configuration import flat_values
from scripts.sweep.digest import outcome_digest

NAME_LENGTH = 120
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Point:
    """A point as the command line asks for it.

    Attributes:
        overrides: All of its overrides, `key=value`.
        label: Those that differ between the sweep's points.
        settings: Its settings; None where they are not valid.
        root: `corpus.root`, where given.
        problem: Why it can't run; None where it can.
    """

    overrides: tuple[str, ...]
    label: tuple[str, ...]
    settings: RunSettings | None
    root: Path | None = None
    problem: str | None = None


def read_points(composed: Sequence[tuple[tuple[str, ...], DictConfig]]) -> list[Point]:
    """Points from what Hydra composed; one with invalid settings gets a problem instead.

    Raises:
        SettingsError: The sweep is over `output` or `resume`, which are not part of a point.
    """
    varying = _varying([overrides for overrides, _ in composed])
    for key in ("output", "resume"):
        if key in varying:
            raise SettingsError(f"{key}: expected one value for the whole sweep, got several")
    points = []
    for overrides, config in composed:
        label = tuple(one for one in overrides if _key(one) in varying) or overrides
        try:
            values, root = flat_values(config)
            settings = RunSettings.from_flat(values)
            if settings.resume:
                raise SettingsError("resume: expected none in a sweep, which skips what is done")
            points.append(Point(overrides, label, settings, root))
        except FglguardError as error:
            points.append(Point(overrides, label, None, problem=str(error)))
    return points


def folders_of(points: Sequence[Point], sweep: Path) -> list[Path | None]:
    """Each point's folder, `<sweep>/<readable name>-<digest>`; None for one that can't run.

    The digest decides: a folder that ends with it is the point's, whatever the rest of its name,
    so that a larger sweep finds what a smaller one has done, and points that differ in nothing
    that matters are one.

    Raises:
        SiloError: A point's silos can't be read.
    """
    known: dict[str, Path] = {}
    folders: list[Path | None] = []
    for point in points:
        if point.settings is None or point.problem:
            folders.append(None)
            continue
        digest = outcome_digest(point.settings)
        if digest not in known:
            there = sorted(sweep.glob(f"*-{digest}"))
            name = f"{readable_name(point.label)}-{digest}"
            known[digest] = there[0] if there else sweep / name
        folders.append(known[digest])
    return folders


def readable_name(label: Sequence[str]) -> str:
    """`federation.clients=4` and `strategy=fedavg` to `clients-4_strategy-fedavg`."""
    parts = [f"{_key(one).rpartition('.')[2]}-{one.partition('=')[2]}" for one in label]
    name = _NOT_IN_A_NAME.sub("-", "_".join(parts)).strip("-._")
    return name[:NAME_LENGTH] or "point"


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def _varying(overrides: Sequence[tuple[str, ...]]) -> set[str]:
    values: dict[str, set[str]] = {}
    for one in (one for point in overrides for one in point):
        values.setdefault(_key(one), set()).add(one)
    return {key for key, seen in values.items() if len(seen) > 1}
