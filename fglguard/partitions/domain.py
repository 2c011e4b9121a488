"""Kind `domain`: equally many clients a domain, each with a like share of it."""

import numpy as np

from fglguard.partitions.corpus import Corpus
from fglguard.partitions.dealing import deal_evenly
from fglguard.partitions.groups import deal_groups, each_domain
from fglguard.partitions.share import Ownership
from fglguard.settings import PartitionSettings


def deal_by_domain(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Deal each domain to its own clients, equally many of each (split, label) to within one.

    Raises:
        SettingsError: `clients` is not a multiple of the domains.
    """
    groups = each_domain(corpus, clients, f"partition.kind={settings.kind}")
    return deal_groups(
        groups, len(corpus), lambda group: deal_evenly(corpus, group.members, group.clients, rng)
    )
