"""Sums of branches' scores that sites return for late fusion, checked."""

from dataclasses import dataclass

import numpy as np
from flwr.app import Message

from fglguard.errors import UpdateError
from fglguard.fusion import BranchSums
from server.reply_records import arrays_of
from strategies.cohort import Member
from strategies.updates import to_numpy

ARRAYS = ("episodes", "sums", "squares")
LARGEST_SCORE = 1e4
"""Of a branch: a logit of this size is no evidence but a fault."""
MOST_EPISODES = 10**7


@dataclass(frozen=True)
class SiteSums:
    """The sums of one site.

    Attributes:
        site: Whose.
        sums: The sums.
    """

    site: str
    sums: BranchSums


def read_branch_sums(reply: Message, member: Member, branches: int) -> SiteSums:
    """Read and check a reply.

    Raises:
        UpdateError: The client reported an error, or its sums can't be sums of finite scores.
    """
    found = arrays_of(reply, "branches")
    if sorted(found) != sorted(ARRAYS):
        raise UpdateError(f"record 'branches': expected {ARRAYS}, got {sorted(found)}")
    arrays = {name: to_numpy(found[name], f"branches.{name}") for name in ARRAYS}
    for name, array in arrays.items():
        kind, size = ("iu", 1) if name == "episodes" else ("f", branches)
        if array.dtype.kind not in kind or array.shape != (size,) or not np.isfinite(array).all():
            raise UpdateError(
                f"branches.{name}: expected {size} finite numbers, got {array.dtype} of shape "
                f"{array.shape}"
            )
    episodes = int(arrays["episodes"][0])
    sums, squares = (arrays[name].astype(np.float64) for name in ("sums", "squares"))
    # Cauchy-Schwarz, with room for rounding.
    if (
        not 0 <= episodes <= MOST_EPISODES
        or (sums**2 > (1 + 1e-6) * episodes * squares + 1e-12).any()
    ):
        raise UpdateError(
            "branches: expected sums of so many episodes' scores and of their squares"
        )
    if (np.abs(sums) > LARGEST_SCORE * episodes).any():
        largest = float((np.abs(sums) / max(episodes, 1)).max())
        raise UpdateError(
            f"branches.sums: expected mean scores of at most {LARGEST_SCORE:g}, got {largest:.3g}: "
            f"the model was drowned by the noise of its masks, or diverged; a smaller detector, "
            f"more clients, a larger privacy.kappa or a smaller learning rate would help"
        )
    return SiteSums(member.site, BranchSums(episodes, sums, squares))
