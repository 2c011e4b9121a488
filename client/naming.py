"""Errors that say at which site they were raised."""

from collections.abc import Iterator
from contextlib import contextmanager

from fglguard.errors import FglguardError


@contextmanager
def naming_site(site: str) -> Iterator[None]:
    """Put the site's name before the text of an FglguardError, unless it is there."""
    prefix = f"site {site}: "
    try:
        yield
    except FglguardError as error:
        if str(error).startswith(prefix):
            raise
        raise type(error)(f"{prefix}{error}") from error
