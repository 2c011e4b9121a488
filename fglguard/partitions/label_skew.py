"""Kind `label_skew`: half of the clients train on mostly safe episodes, half on mostly unsafe."""

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.errors import SettingsError
from fglguard.partitions.corpus import LABELS, Corpus
from fglguard.partitions.dealing import deal_counts, round_to_sum
from fglguard.partitions.groups import Group, deal_groups, groups_of
from fglguard.partitions.share import Ownership
from fglguard.settings import PartitionSettings


def deal_by_purity(
    corpus: Corpus, settings: PartitionSettings, clients: int, rng: np.random.Generator
) -> Ownership:
    """Deal so that a share p (the purity) of each client's training episodes has one label.

    Majority labels alternate from client to client, beginning with the label that is commoner in
    training: half are majority-safe and half majority-unsafe, the odd one has the commoner label.

    All clients train on equally many episodes s, of which round(p s) have the majority label; s is
    the largest size that the labels allow, and those who can take one more do. p = 0.5 is balanced,
    p = 1 pure. With an even number of clients K, n0 safe and n1 unsafe training episodes
    s = 2 min(n0, n1) / K at every p: a sweep over p changes how episodes are arranged, not how many
    there are nor how large clients are. The surplus of the commoner label, |n0 - n1|, is left out
    of training. (Dealing it as well would take clients of sizes in the ratio
    (n0 - (1 - p) N) : (n1 - (1 - p) N), N = n0 + n1: far apart, and impossible for
    p <= max(n0, n1) / N.)

    Validation and test episodes are all dealt, so results at every p are on the same episodes:
    each label goes to clients in proportion to what they train on of it, unlabelled ones evenly.

    Raises:
        SettingsError: The number of clients does not fit the domains, a label is missing, or some
            client would have nothing to train on.
    """
    trains = corpus.trains
    common = int((corpus.label[trains] == 1).sum() > (corpus.label[trains] == 0).sum())
    groups = groups_of(corpus, settings.within_domains, clients)

    def deal(group: Group) -> NDArray[np.int64]:
        majority = (np.arange(group.clients) + group.first + common) % 2
        return _deal(corpus, group, majority, settings.purity, rng)

    return deal_groups(groups, len(corpus), deal)


def training_counts(
    available: tuple[int, int], majority: NDArray[np.int64], purity: float
) -> NDArray[np.int64]:
    """How many safe and unsafe episodes each client trains on.

    Args:
        available: How many safe and unsafe ones there are.
        majority: [clients] label that each client has most of.
        purity: Share of its episodes that have it.

    Returns:
        [2, clients]; sizes (columns' sums) differ by at most 1, and a client of size s has
        floor(purity s + 1/2) episodes of its majority label.
    """
    limits = np.array(available, dtype=np.int64)
    holds = np.array([[(majority == label).sum()] for label in (0, 1)])
    sizes = np.arange(limits.sum() // len(majority) + 1)
    most = _most(sizes, purity)
    needed = holds * most + holds[::-1] * (sizes - most)
    # Rounding makes some sizes fit that are larger than one that does not.
    size = int(np.flatnonzero((needed <= limits[:, None]).all(axis=0))[-1])
    counts = _counts(np.full(len(majority), size), majority, purity)
    larger = _counts(np.full(len(majority), size + 1), majority, purity)
    used = counts.sum(axis=1)
    for client in range(len(majority)):
        more = used - counts[:, client] + larger[:, client]
        if (more <= limits).all():
            counts[:, client], used = larger[:, client], more
    return counts


def _most(sizes: NDArray[np.int64], purity: float) -> NDArray[np.int64]:
    most: NDArray[np.int64] = np.floor(purity * sizes + 0.5).astype(np.int64)
    return most


def _counts(
    sizes: NDArray[np.int64], majority: NDArray[np.int64], purity: float
) -> NDArray[np.int64]:
    most = _most(sizes, purity)
    return np.where(majority == np.array([[0], [1]]), most, sizes - most)


def _deal(
    corpus: Corpus,
    group: Group,
    majority: NDArray[np.int64],
    purity: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    train = group.members & corpus.in_split("train")
    safe, unsafe = (int((train & (corpus.label == label)).sum()) for label in (0, 1))
    counts = training_counts((safe, unsafe), majority, purity)
    if counts.sum(axis=0).min() == 0:
        raise SettingsError(
            f"federation.clients: {group.clients} clients are more than {safe} safe and {unsafe} "
            f"unsafe training episodes (domain: {group.domain}) can feed at "
            f"partition.purity={purity:g}"
        )
    owners = np.full(len(corpus), -1, dtype=np.int64)
    for label in LABELS:
        labelled = group.members & (corpus.label == label)
        weights = counts[label] if label >= 0 else np.ones(group.clients)
        if not weights.any():
            weights = np.ones(group.clients)
        for split in SPLITS:
            eligible = labelled & corpus.in_split(split)
            total = int(eligible.sum())
            if split == "train" and label >= 0:
                # One more, who stands for nobody, takes what is left out.
                held = np.append(counts[label], total - int(counts[label].sum()))
            else:
                held = np.append(round_to_sum(weights, total), 0)
            dealt = deal_counts(corpus, eligible, held, rng)
            owners = np.where(eligible & (dealt < group.clients), dealt, owners)
    return owners
