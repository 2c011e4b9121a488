"""The clients among whom one deal takes place: all of them, or those of one domain."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SettingsError
from fglguard.partitions.corpus import Corpus
from fglguard.partitions.share import MIXED_DOMAIN, Ownership


@dataclass(frozen=True)
class Group:
    """Clients that share some episodes among them.

    Attributes:
        name: What their names begin with.
        domain: Their domain.
        first: Number of the first of them in the federation.
        clients: How many they are.
        members: [episodes] whether an episode is dealt among them.
    """

    name: str
    domain: str
    first: int
    clients: int
    members: NDArray[np.bool_]

    @property
    def sites(self) -> list[str]:
        """Names of the clients."""
        return [f"{self.name}-{index}" for index in range(self.clients)]


Deal = Callable[[Group], NDArray[np.int64]]
"""[episodes] which of the group's clients, from 0, holds each episode; -1: none of them."""


def everyone(corpus: Corpus, clients: int) -> Group:
    """All clients and all episodes."""
    return Group("client", MIXED_DOMAIN, 0, clients, np.ones(len(corpus), dtype=np.bool_))


def each_domain(corpus: Corpus, clients: int, because: str) -> list[Group]:
    """Equally many clients a domain.

    Raises:
        SettingsError: `clients` is not a multiple of the domains; `because` names the setting that
            asks for one.
    """
    each, rest = divmod(clients, len(corpus.domains))
    if rest or not each:
        raise SettingsError(
            f"federation.clients: expected a multiple of the corpus' {len(corpus.domains)} domains "
            f"({', '.join(corpus.domains)}) for {because}, got {clients}"
        )
    return [
        Group(name, name, code * each, each, corpus.domain == code)
        for code, name in enumerate(corpus.domains)
    ]


def groups_of(corpus: Corpus, within_domains: bool, clients: int) -> list[Group]:
    """A group a domain where each domain is dealt to its own clients, else one of everyone.

    Raises:
        SettingsError: The number of clients does not fit the domains.
    """
    if within_domains:
        return each_domain(corpus, clients, "partition.within_domains=true")
    return [everyone(corpus, clients)]


def deal_groups(groups: list[Group], episodes: int, deal: Deal) -> Ownership:
    """Deal within each group, one after the other, and put the parts together."""
    owners = np.full(episodes, -1, dtype=np.int64)
    for group in groups:
        dealt = deal(group)
        owners = np.where(dealt >= 0, dealt + group.first, owners)
    return Ownership(
        owners,
        [site for group in groups for site in group.sites],
        [group.domain for group in groups for _ in range(group.clients)],
    )
