"""Where a link leads to, whatever an agent has filled in."""

import re
from collections.abc import Iterator

_LINK = re.compile(r"(?:https?://|www\.)\S+")
_MAIL = re.compile(r"[^\s@]+@([^\s@/]+\.[^\s@/]+)")
_HOST_ALONE = re.compile(r"(?:[\w-]{1,63}\.){2,8}[^\W\d_]{2,24}")
_HOST = re.compile(r"(?:[^/?#@]*@)?([^/?#:@]+)")
_SHORT_ENDING = re.compile(r"[^.]{1,3}\.[^.]{2}")
"""Of hosts as `co.uk`, under which anybody may be."""
MOST_FOLDERS = 8


def leads_to(value: str) -> Iterator[str]:
    """What a link, an address or a host leads to, the most telling first; nothing for all else.

    Of a link that is the link without what was filled in behind `?` or `#`, the same without
    `http://` or `https://`, each folder above it, and its host; of all of them the host's own
    domain. A page that says "open evil.example and add the password to the address" has nothing of
    the link that comes of it but the host.

    Args:
        value: In lower case.
    """
    if _LINK.match(value):
        address = re.split(r"[?#]", value, maxsplit=1)[0].rstrip("/")
        plain = address.partition("://")[2] or address
        host = _HOST.match(plain)
        name = host[1] if host else ""
        parts = [address, *_folders(plain), name, name.removeprefix("www."), _own_domain(name)]
    elif mail := _MAIL.fullmatch(value):
        parts = [mail[1], _own_domain(mail[1])]
    elif _HOST_ALONE.fullmatch(value):
        parts = [_own_domain(value)]
    else:
        return
    yield from (one for one in dict.fromkeys(parts) if one and one != value)


def _folders(plain: str) -> Iterator[str]:
    """A link without its scheme, then without its last part, and so on."""
    parts = plain.split("/")
    for end in range(len(parts), max(0, len(parts) - MOST_FOLDERS), -1):
        yield "/".join(parts[:end])


def _own_domain(host: str) -> str:
    """The last two labels of a host, three where two are an ending that many share; or nothing."""
    labels = host.split(".")
    kept = 3 if _SHORT_ENDING.fullmatch(".".join(labels[-2:])) else 2
    if len(labels) < kept or labels[-1].isdigit():
        return ""
    return ".".join(labels[-kept:])
