"""Kind `natural`: one client a value of an attribute that the episodes carry."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SettingsError
from fglguard.partitions.corpus import Corpus
from fglguard.partitions.share import MIXED_DOMAIN, Ownership
from fglguard.settings import PartitionSettings
from fglguard.silo.attributes import Attribute

OTHERS = "others"
"""Name of the client that holds all values which have no client of their own."""
_VALUES_LISTED = 12
_LONGEST_SITE = 64


@dataclass(frozen=True)
class _Values:
    """Values of an attribute, those with the most to train on first.

    Attributes:
        names: The values; "" for episodes without the attribute.
        trains: [values] labelled training episodes of each.
        code: [episodes] index of each episode's value; -1 where no split holds the episode.
    """

    names: list[str]
    trains: list[int]
    code: NDArray[np.int64]


def deal_by_attribute(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Give every client the episodes of one value of the attribute `settings.key`.

    With fewer clients than values, the values with the most labelled training episodes have a
    client each and the last client, `others`, holds the rest. Episodes without the attribute, or
    with an empty one, count as one value. Nothing is drawn. Where every client's episodes are of
    one domain, that is its domain; otherwise all are `mixed`.

    Raises:
        SettingsError: No episode has the attribute (those there are, are listed), or there are
            more clients than values with something to train on (they are listed).
    """
    values = _values_of(corpus, settings.key)
    _check_clients(values, settings.key, clients)
    owners = np.minimum(values.code, clients - 1)
    names = [name or f"without-{settings.key}" for name in values.names[:clients]]
    if clients < len(values.names):
        names[-1] = OTHERS
    return Ownership(owners, _site_names(names), _domains(corpus, owners, clients))


def _values_of(corpus: Corpus, key: str) -> _Values:
    _check_key(corpus, key)
    numbers: dict[str, int] = {"": 0}
    parts = []
    for silo in corpus.silos:
        column = silo.attributes.get(key, Attribute((), np.full(len(silo), -1, dtype=np.int32)))
        known = [numbers.setdefault(value, len(numbers)) for value in column.values]
        # A code of -1, no such attribute, finds the last entry.
        parts.append(np.array([*known, numbers[""]], dtype=np.int64)[column.codes])
    number = np.concatenate(parts)
    trains = np.bincount(number[corpus.trains], minlength=len(numbers)).tolist()
    present = set(np.unique(number[corpus.dealt]).tolist())
    names = sorted(
        (name for name in numbers if numbers[name] in present),
        key=lambda name: (-trains[numbers[name]], name),
    )
    ranks = np.full(len(numbers), -1, dtype=np.int64)
    ranks[[numbers[name] for name in names]] = np.arange(len(names))
    return _Values(
        names,
        [trains[numbers[name]] for name in names],
        np.where(corpus.dealt, ranks[number], -1),
    )


def _check_key(corpus: Corpus, key: str) -> None:
    values: dict[str, set[str]] = {}
    for silo in corpus.silos:
        for name, column in silo.attributes.items():
            values.setdefault(name, set()).update(column.values)
    if key not in values:
        keys = ", ".join(f"{name} ({len(found)} values)" for name, found in sorted(values.items()))
        raise SettingsError(
            f"partition.key: expected an attribute that episodes carry, one of: "
            f"{keys or 'none (the corpus has no attributes)'}; got {key!r}"
        )


def _check_clients(values: _Values, key: str, clients: int) -> None:
    usable = sum(count > 0 for count in values.trains)
    if clients <= usable:
        return
    listed = ", ".join(
        f"{name!r} {count}"
        for name, count in list(zip(values.names, values.trains, strict=True))[:_VALUES_LISTED]
    )
    if len(values.names) > _VALUES_LISTED:
        listed += f" and {len(values.names) - _VALUES_LISTED} more"
    raise SettingsError(
        f"federation.clients: expected at most {usable} for partition.key={key}, one for each "
        f"value with labelled training episodes, got {clients}; values and how many: {listed}"
    )


def _site_names(values: list[str]) -> list[str]:
    """Names that can be files' names, distinct."""
    sites: list[str] = []
    for value in values:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip(".-")[:_LONGEST_SITE] or "value"
        site, number = name, 1
        while site in sites:
            number += 1
            site = f"{name}-{number}"
        sites.append(site)
    return sites


def _domains(corpus: Corpus, owners: NDArray[np.int64], clients: int) -> list[str]:
    held = [np.unique(corpus.domain[owners == client]) for client in range(clients)]
    if all(len(codes) == 1 for codes in held):
        return [corpus.domains[int(codes[0])] for codes in held]
    return [MIXED_DOMAIN] * clients
