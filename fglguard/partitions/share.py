"""One client's part of the corpus."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIXED_DOMAIN = "mixed"
"""The one domain of clients that hold a bit of everything."""


@dataclass(frozen=True)
class Share:
    """One client's part of the corpus.

    Attributes:
        site: The client's name.
        domain: Its domain.
        indices: For each silo, which of its episodes the client holds, ascending.
    """

    site: str
    domain: str
    indices: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True)
class Ownership:
    """Every client's part, as it was dealt.

    Attributes:
        owners: [episodes] the number of the client that holds each episode; -1: nobody.
        sites: Name of each client.
        domains: Domain of each client.
    """

    owners: NDArray[np.int64]
    sites: list[str]
    domains: list[str]
