"""A file of sides: which episode of which silo trains, validates, tests or is left out.

JSON, sealed with its own SHA-256 (`fglguard.sealing`):

    {"schema": 1, "name": "...", "sha256": "...",
     "silos": {"SILO": {"EPISODE ID": "train", ...}, ...}}

It names every episode of every silo, so that none is forgotten unnoticed.
"""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.assignment import LEFT_OUT
from fglguard.corpora.splits import SPLITS
from fglguard.errors import BundleError, SettingsError, shown
from fglguard.files import write_atomically
from fglguard.sealing import digest, seal, unseal
from fglguard.silo import Silo

SCHEMA = 1
LEFT_OUT_NAME = "left out"
CODES: Mapping[str, int] = {
    **{name: code for code, name in enumerate(SPLITS)},
    LEFT_OUT_NAME: LEFT_OUT,
}
_NAMES = {code: name for name, code in CODES.items()}


@dataclass(frozen=True)
class Splits:
    """Sides of all episodes of some silos.

    Attributes:
        name: What they are, for people.
        silos: By silo and episode id, one of train, val, test and `left out`.
    """

    name: str
    silos: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, name: str, silos: Sequence[Silo], codes: Sequence[NDArray[np.uint8]]) -> Self:
        """From each silo's codes [episodes], as `Silo.split` has them."""
        return cls(
            name,
            {
                silo.name: dict(zip(silo.ids, (_NAMES[int(code)] for code in own), strict=True))
                for silo, own in zip(silos, codes, strict=True)
            },
        )

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the content, as the file has it."""
        return digest(self._content())

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all, readable by its owner only."""
        with write_atomically(path, mode=0o600) as file:
            file.write(seal(self._content()))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file and check its form.

        Raises:
            SettingsError: It can't be read, was changed, or is no file of sides.
        """
        return cls._parse(_bytes_of(path), path)

    @classmethod
    def _parse(cls, data: bytes, path: Path) -> Self:
        try:
            content = unseal(data, f"corpus.splits: {path}")
        except BundleError as error:
            raise SettingsError(str(error)) from None
        if content.get("schema") != SCHEMA:
            raise SettingsError(
                f"corpus.splits: {path}: schema: expected {SCHEMA}, "
                f"got {shown(content.get('schema'))}"
            )
        silos = content.get("silos")
        if not isinstance(silos, dict) or not isinstance(content.get("name"), str):
            raise SettingsError(f"corpus.splits: {path}: expected a name and sides by silo")
        for name, sides in silos.items():
            _check_sides(sides, f"corpus.splits: {path}: silo {shown(name)}")
        return cls(content["name"], silos)

    def apply(self, silos: Sequence[Silo], where: str) -> list[Silo]:
        """Views of the silos whose episodes stand on these sides.

        Args:
            silos: Exactly those that the sides are of.
            where: Named in errors.

        Raises:
            SettingsError: A silo or an episode is not in the file, or the file has another.
        """
        names = [silo.name for silo in silos]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SettingsError(
                f"{where}: expected silos of distinct names, got {twice[0]!r} twice"
            )
        if set(names) != set(self.silos):
            raise SettingsError(
                f"{where}: expected sides of the silos {', '.join(sorted(names))}, got those of "
                f"{', '.join(sorted(self.silos)) or 'none'}"
            )
        return [_view(silo, self.silos[silo.name], where) for silo in silos]

    def _content(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "name": self.name, "silos": self.silos}


def with_splits(silos: Sequence[Silo], path: Path) -> list[Silo]:
    """The silos with the sides that a file gives them; rows keep their numbers.

    Raises:
        SettingsError: The file can't be read, or is of other silos or episodes.
    """
    return _parsed(path, _bytes_of(path)).apply(silos, f"corpus.splits: {path}")


def splits_content(path: str) -> str:
    """Hex SHA-256 of the bytes of the file at `corpus.splits`, empty where there is none to read.

    What is kept in memory and follows from the file is kept by this: a path says nothing about
    what stands there by now.

    Raises:
        SettingsError: It can't be read.
    """
    return hashlib.sha256(_bytes_of(Path(path))).hexdigest() if path else ""


@lru_cache(maxsize=4)
def _parsed(path: Path, data: bytes) -> Splits:
    return Splits._parse(data, path)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"corpus.splits: {path} can't be read ({error.strerror})") from None


def _check_sides(sides: Any, where: str) -> None:
    if not isinstance(sides, dict):
        raise SettingsError(f"{where}: expected a side for each episode id")
    for key, side in sides.items():
        if side not in CODES:
            raise SettingsError(
                f"{where}, episode {shown(key)}: expected one of {', '.join(CODES)}, "
                f"got {shown(side)}"
            )


def _view(silo: Silo, sides: Mapping[str, str], where: str) -> Silo:
    ids = silo.ids
    if len(sides) != len(ids) or any(key not in sides for key in ids):
        absent = [key for key in ids if key not in sides]
        strange = sorted(set(sides) - set(ids))
        told = f"; {shown(absent[0])} is not in the file" if absent else ""
        told += f"; {shown(strange[0])} is not in the silo" if strange else ""
        raise SettingsError(
            f"{where}: silo {silo.name}: expected its {len(ids)} episodes, {len(absent)} are "
            f"missing and {len(strange)} unknown{told}: were they made for another import?"
        )
    view = copy.copy(silo)
    view.split = np.array([CODES[sides[key]] for key in ids], dtype=np.uint8)
    return view
