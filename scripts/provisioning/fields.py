"""A mapping read key by key: each value checked, none left over, errors that name file and key."""

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fglguard.errors import SettingsError, shown, suggestion

MISSING = object()


class Fields:
    """One mapping of a file; `finish` refuses keys that nobody asked for.

    Args:
        values: The mapping, as it was read.
        source: The file.
        key: Where in the file it stands; empty for the file itself.
    """

    def __init__(self, values: object, source: Path, key: str = "") -> None:
        self.source, self.key = source, key
        if not isinstance(values, Mapping):
            raise self.error("", "expected keys and values", values)
        self._values: Mapping[Any, Any] = values
        self._known: list[str] = []

    def error(self, name: str, expected: str, got: object = MISSING) -> SettingsError:
        """An error about one key; to be raised."""
        key = ".".join(part for part in (self.key, name) if part)
        where = f"{self.source}: {key}" if key else str(self.source)
        came = "" if got is MISSING else f", got {shown(got)}"
        return SettingsError(f"{where}: {expected}{came}")

    def has(self, name: str) -> bool:
        """Whether the key is there with a value."""
        return self._get(name, None) is not None

    def text(self, name: str, default: str | None = None, *, most: int = 200) -> str:
        """A printable text that is not empty.

        Raises:
            SettingsError: It is missing, no text, empty, too long, or has control characters.
        """
        value = self._required(name, default)
        if not isinstance(value, str):
            raise self.error(name, "expected a text (put it in quotes)", value)
        if not value.strip() or len(value) > most:
            raise self.error(name, f"expected a text of 1 to {most} characters", value)
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
            raise self.error(name, "expected a text without control characters", value)
        return value

    def whole(self, name: str, default: int | None, least: int, most: int) -> int:
        """A whole number within bounds.

        Raises:
            SettingsError: It is missing, no whole number, or out of bounds.
        """
        value = self._required(name, default)
        if type(value) is not int or not least <= value <= most:
            raise self.error(name, f"expected a whole number from {least} to {most}", value)
        return value

    def path(self, name: str, default: str | None = None) -> Path:
        """A path; a relative one counts from the file's folder.

        Raises:
            SettingsError: It is missing or no text that can be a path.
        """
        text = self.text(name, default, most=1000)
        if text.startswith("~"):
            raise self.error(name, "expected a path without ~, which differs by user", text)
        return (self.source.resolve().parent / text).absolute()

    def items(self, name: str, default: list[Any] | None = None) -> list[Any]:
        """A list.

        Raises:
            SettingsError: It is missing or no list.
        """
        value = self._required(name, default)
        if not isinstance(value, list):
            raise self.error(name, "expected a list", value)
        return value

    def mapping(self, name: str, default: Mapping[str, Any] | None = None) -> "Fields":
        """A mapping within this one.

        Raises:
            SettingsError: It is missing or no mapping.
        """
        value = self._required(name, default)
        return Fields(value, self.source, ".".join(part for part in (self.key, name) if part))

    def mappings(self, name: str) -> Iterator["Fields"]:
        """The mappings of a list, each named by its place: `sites[0]`.

        Raises:
            SettingsError: It is missing, no list, or an item is no mapping.
        """
        for index, value in enumerate(self.items(name)):
            yield Fields(value, self.source, f"{name}[{index}]")

    def finish(self) -> None:
        """Refuse what nobody asked for.

        Raises:
            SettingsError: A key is unknown.
        """
        for name in self._values:
            if name not in self._known:
                near = suggestion(str(name), self._known)
                raise self.error(str(name), f"unknown key{near}")

    def _get(self, name: str, default: object) -> object:
        if name not in self._known:
            self._known.append(name)
        return self._values.get(name, default)

    def _required(self, name: str, default: object) -> object:
        value = self._get(name, None)
        if value is None:
            value = default
        if value is None:
            raise self.error(name, "expected a value, got none")
        return value
