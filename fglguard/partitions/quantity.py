"""Kind `quantity`: clients of very unequal size, each with a like mix of everything."""

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.errors import SettingsError
from fglguard.partitions.corpus import Corpus
from fglguard.partitions.dealing import deal_counts, round_to_sum
from fglguard.partitions.groups import Group, deal_groups, groups_of
from fglguard.partitions.share import Ownership
from fglguard.settings import PartitionSettings


def deal_by_size(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Deal in proportion to Zipf weights w_k = (k + 1)^-exponent.

    Of a split's n episodes client k gets w_k / sum(w) x n, rounded (largest remainders), in about
    the split's own mix of domains and labels. An exponent of 0 makes all clients equal. Within
    domains, k counts a domain's own clients.

    Raises:
        SettingsError: The number of clients does not fit the domains, or the smallest client
            would have nothing to train on.
    """
    groups = groups_of(corpus, settings.within_domains, clients)
    return deal_groups(
        groups, len(corpus), lambda group: _deal(corpus, group, settings.exponent, rng)
    )


def _deal(
    corpus: Corpus, group: Group, exponent: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    weights = np.arange(1, group.clients + 1, dtype=np.float64) ** -exponent
    owners = np.full(len(corpus), -1, dtype=np.int64)
    for split in SPLITS:
        eligible = group.members & corpus.in_split(split)
        counts = round_to_sum(weights, int(eligible.sum()))
        if split == "train" and counts.min() == 0:
            raise SettingsError(
                f"federation.clients: {group.clients} clients are more than {counts.sum()} "
                f"training episodes can feed at partition.exponent={exponent:g}; "
                f"{group.sites[int(np.argmin(counts))]} would get "
                f"{weights[-1] / weights.sum() * counts.sum():.2g} of an episode"
            )
        owners = np.where(eligible, deal_counts(corpus, eligible, counts, rng), owners)
    return owners
