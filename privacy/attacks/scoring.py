"""How much an attack got: of texts, and of a bank of candidates."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.attacks.observation import Tokens


@dataclass(frozen=True)
class TextScore:
    """What was recovered of a batch of texts.

    Attributes:
        rouge1: F1 of the unigrams of each true text and the guess nearest to it, averaged.
        recall: Share of the batch's distinct tokens that any guess holds.
        precision: Share of the guesses' distinct tokens that the batch holds; 0 without guesses.
    """

    rouge1: float
    recall: float
    precision: float


@dataclass(frozen=True)
class CandidateScore:
    """How well members were told from others.

    Attributes:
        auc: Area under the ROC curve; .5 is chance.
        recall: Share of the members that score above every candidate that is none.
    """

    auc: float
    recall: float


def score_texts(
    true: Sequence[Tokens], guesses: Sequence[Tokens], special: Set[int] = frozenset()
) -> TextScore:
    """Compare guesses with a batch's true texts, `special` tokens left out of both.

    ROUGE-1 (Lin, 2004) over tokens: with c(w) the smaller of both counts of w, recall is
    sum c / |true|
    and precision sum c / |guess|, F1 their harmonic mean.
    """
    truths = [_without(text, special) for text in true]
    guessed = [_without(text, special) for text in guesses]
    nearest = [max((_rouge1(text, guess) for guess in guessed), default=0.0) for text in truths]
    wanted = {token for text in truths for token in text}
    found = {token for text in guessed for token in text}
    both = len(wanted & found)
    return TextScore(
        rouge1=float(np.mean(nearest)) if nearest else 0.0,
        recall=both / len(wanted) if wanted else 0.0,
        precision=both / len(found) if found else 0.0,
    )


def score_candidates(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> CandidateScore:
    """Compare scores [C] of candidates with which of them were in the batch, [C].

    A score that is not a number counts as the lowest. Ties are no success: a member must score
    strictly above every other candidate.
    """
    finite = np.nan_to_num(scores, nan=-np.inf, neginf=-np.inf)
    lowest = np.min(finite[np.isfinite(finite)], initial=0.0)
    ranked = np.where(np.isfinite(finite), finite, lowest - 1)
    best_other = ranked[~members].max()
    return CandidateScore(
        auc=_area(ranked, members),
        recall=float(np.mean(ranked[members] > best_other)),
    )


def _area(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: share of pairs in which the member scores higher, ties halved.

    By Mann and Whitney's (1947) sum of ranks; scikit-learn's checks of its arguments would take
    most of an audit's time.
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    inside = int(members.sum())
    pairs = inside * (len(scores) - inside)
    return float((ranks[members].sum() - inside * (inside + 1) / 2) / pairs)


def _without(text: Tokens, special: Set[int]) -> Tokens:
    return tuple(token for token in text if token not in special)


def _rouge1(text: Tokens, guess: Tokens) -> float:
    shared = sum((Counter(text) & Counter(guess)).values())
    return 2 * shared / (len(text) + len(guess)) if shared else 0.0
