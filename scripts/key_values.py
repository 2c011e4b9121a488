"""Command lines of `key=value`, and names out of a list; each error suggests what is near."""

from collections.abc import Iterable, Mapping, Sequence

from fglguard.errors import SettingsError, suggestion


def read_key_values(arguments: Sequence[str], defaults: Mapping[str, str]) -> dict[str, str]:
    """The defaults with what the arguments say instead.

    Raises:
        SettingsError: An argument is no `key=value`, or its key is not one of the defaults'.
    """
    values = dict(defaults)
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key not in defaults:
            raise SettingsError(
                f"expected key=value with a key of {', '.join(defaults)}, got {argument!r}"
                f"{suggestion(key, defaults)}"
            )
        values[key] = value
    return values


def named(key: str, name: str, known: Iterable[str]) -> str:
    """The name itself.

    Raises:
        SettingsError: It is not among `known`; the text lists them.
    """
    names = list(known)
    if name not in names:
        raise SettingsError(
            f"{key}: expected one of {', '.join(names)}, got {name!r}{suggestion(name, names)}"
        )
    return name
