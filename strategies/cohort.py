"""The cohort: which site each node is, and the domain the server knows it by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """A client as the server knows it.

    Attributes:
        index: Its place in the roster. Sums run in this order, so a seed gives the same bits.
        site: Its name.
        domain: Its domain, from the roster or the partition, never from the client's own word.
        max_nodes: Most graph nodes that it may claim to train on; None for no limit.
        node: The Flower node id that its key is registered under; None where the roster has none.
    """

    index: int
    site: str
    domain: str
    max_nodes: int | None = None
    node: int | None = None


class Cohort:
    """The members of a run by node id, in roster order."""

    def __init__(self, members: Mapping[int, Member]) -> None:
        self._members = dict(sorted(members.items(), key=lambda item: item[1].index))

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[tuple[int, Member]]:
        return iter(self._members.items())

    def __getitem__(self, node_id: int) -> Member:
        return self._members[node_id]

    def __contains__(self, node_id: int) -> bool:
        return node_id in self._members

    @property
    def domains(self) -> list[str]:
        """The domains present, each once, in roster order."""
        return list(dict.fromkeys(member.domain for member in self._members.values()))
