"""Kind `dirichlet`: each label is dealt in proportions drawn from a Dirichlet distribution."""

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.errors import SettingsError
from fglguard.partitions.corpus import LABELS, Corpus
from fglguard.partitions.dealing import deal_counts, round_to_sum
from fglguard.partitions.groups import Group, deal_groups, groups_of
from fglguard.partitions.share import Ownership
from fglguard.settings import PartitionSettings

DRAWS = 1000
"""How often proportions are drawn before giving up."""


def deal_by_dirichlet(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Deal each label in proportions q ~ Dirichlet(concentration, ..., concentration).

    One q a label, over the clients, for all splits: a client validates and tests on the mix it
    trains on. Of a split's n episodes of the label client k gets q_k x n, rounded (largest
    remainders), in about the split's own mix of domains. With K clients q_k has mean 1 / K and
    variance (K - 1) / (K^2 (K concentration + 1)): small values deal unevenly, large ones alike.
    Where some client would have nothing to train on, all proportions are drawn anew.

    Source: Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks, 2019.

    Raises:
        SettingsError: The number of clients does not fit the domains, or some client has nothing
            to train on in any of `DRAWS` draws.
    """
    groups = groups_of(corpus, settings.within_domains, clients)
    return deal_groups(
        groups, len(corpus), lambda group: _deal(corpus, group, settings.concentration, rng)
    )


def _deal(
    corpus: Corpus, group: Group, concentration: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    proportions = _proportions(corpus, group, concentration, rng)
    owners = np.full(len(corpus), -1, dtype=np.int64)
    for split in SPLITS:
        for row, label in enumerate(LABELS):
            eligible = group.members & corpus.in_split(split) & (corpus.label == label)
            counts = round_to_sum(proportions[row], int(eligible.sum()))
            owners = np.where(eligible, deal_counts(corpus, eligible, counts, rng), owners)
    return owners


def _proportions(
    corpus: Corpus, group: Group, concentration: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """[labels, clients] such that each client gets an episode to train on."""
    trains = group.members & corpus.trains
    totals = [int((trains & (corpus.label == label)).sum()) for label in (0, 1)]
    for _ in range(DRAWS):
        drawn = rng.dirichlet(np.full(group.clients, concentration), size=len(LABELS))
        if not np.allclose(drawn.sum(axis=1), 1):
            raise SettingsError(
                f"partition.concentration: {concentration:g} is too extreme to draw proportions "
                f"for {group.clients} clients"
            )
        held = round_to_sum(drawn[0], totals[0]) + round_to_sum(drawn[1], totals[1])
        if held.min() > 0:
            return drawn
    raise SettingsError(
        f"federation.clients: {group.clients} clients are too many for {sum(totals)} labelled "
        f"training episodes at partition.concentration={concentration:g}: in each of {DRAWS} draws "
        f"some client had nothing to train on; ask for fewer clients or a larger concentration"
    )
