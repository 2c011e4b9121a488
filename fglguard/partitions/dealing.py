"""Ways of dealing episodes out so that every client gets a like share of each stratum."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.partitions.corpus import LABELS, Corpus


def deal_in_turn(
    corpus: Corpus, eligible: NDArray[np.bool_], clients: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Shuffle within each (domain, split, label) and deal in turn, going on from the last client.

    Clients hold equally many of each stratum to within one. Episodes that no split holds are left
    out.

    Returns:
        [episodes] client numbers from 0; -1 where not dealt.
    """
    owners = np.full(len(corpus), -1, dtype=np.int64)
    turn = 0
    for domain in range(len(corpus.domains)):
        for split in range(len(SPLITS)):
            for label in LABELS:
                stratum = np.flatnonzero(
                    eligible
                    & (corpus.domain == domain)
                    & (corpus.split == split)
                    & (corpus.label == label)
                )
                rng.shuffle(stratum)
                owners[stratum] = (turn + np.arange(len(stratum))) % clients
                turn += len(stratum)
    return owners


def deal_evenly(
    corpus: Corpus, eligible: NDArray[np.bool_], clients: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Deal in turn; where that leaves a client nothing to train on, deal each split evenly.

    With hardly more training episodes than clients, turns that go on from a domain's test split to
    the next domain's training can pass a client by.

    Returns:
        [episodes] client numbers from 0; -1 where not dealt.
    """
    owners = deal_in_turn(corpus, eligible, clients, rng)
    if len(np.unique(owners[eligible & corpus.trains])) == clients:
        return owners
    for split in SPLITS:
        chosen = eligible & corpus.in_split(split)
        counts = round_to_sum(np.ones(clients), int(chosen.sum()))
        owners = np.where(chosen, deal_counts(corpus, chosen, counts, rng), owners)
    return owners


def round_to_sum(weights: ArrayLike, total: int) -> NDArray[np.int64]:
    """Whole numbers in proportion to weights that add up to `total`: largest remainders.

    Each is less than 1 away from weights / sum(weights) x total; equal remainders go to the first.

    Args:
        weights: [n] at least 0, not all 0 unless `total` is.
        total: What they add up to.
    """
    share = np.asarray(weights, dtype=np.float64)
    if not total:
        return np.zeros(len(share), dtype=np.int64)
    exact = share / share.sum() * total
    whole: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return whole


def deal_counts(
    corpus: Corpus,
    eligible: NDArray[np.bool_],
    counts: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Deal the eligible episodes so that client k gets exactly counts[k], spread over the strata.

    Episodes are shuffled within each (domain, label) and laid in a row, stratum after stratum.
    Client k takes its counts[k] places at even distances along the row, from a start of its own
    drawn at random (systematic sampling), so that each stratum is dealt in proportion to counts.

    Args:
        corpus: The episodes.
        eligible: [episodes] which of them are dealt.
        counts: [clients] whole numbers that add up to the eligible episodes.
        rng: Source of the shuffles and starts.

    Returns:
        [episodes] client numbers from 0; -1 where not eligible.
    """
    row = np.flatnonzero(eligible)
    rng.shuffle(row)
    row = row[np.lexsort((corpus.label[row], corpus.domain[row]))]
    start = rng.random(len(counts))
    client = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(client)) - np.repeat(np.cumsum(counts) - counts, counts)
    owners = np.full(len(corpus), -1, dtype=np.int64)
    owners[row] = client[np.argsort((nth + start[client]) / counts[client], kind="stable")]
    return owners
