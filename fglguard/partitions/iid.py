"""Kind `iid`: every client a like share of everything."""

import numpy as np

from fglguard.partitions.corpus import Corpus
from fglguard.partitions.dealing import deal_evenly
from fglguard.partitions.groups import deal_groups, everyone
from fglguard.partitions.share import Ownership
from fglguard.settings import PartitionSettings


def deal_alike(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Deal all to all, equally many of each (domain, split, label) to within one."""
    return deal_groups(
        [everyone(corpus, clients)],
        len(corpus),
        lambda group: deal_evenly(corpus, group.members, group.clients, rng),
    )
