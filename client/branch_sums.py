"""What a client returns for late fusion: sums of its branches' scores, no score of its own."""

import numpy as np
from flwr.app import Array, ArrayRecord

from fglguard.fusion import BranchSums


def sums_to_return(sums: BranchSums) -> dict[str, ArrayRecord]:
    """A record `branches` of three arrays."""
    return {
        "branches": ArrayRecord(
            {
                "episodes": Array(np.array([sums.episodes], dtype=np.int64)),
                "sums": Array(sums.sums),
                "squares": Array(sums.squares),
            }
        )
    }
