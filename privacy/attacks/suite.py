"""Which attacks on texts there are: those AEGIS was measured against, and all of the box."""

from privacy.attacks.channels import Kind
from privacy.attacks.embedding_rows import EmbeddingRows, HeadRows, RowNormRanking
from privacy.attacks.gradient_matching import GradientMatching
from privacy.attacks.matched_filter import MatchedFilter
from privacy.attacks.observation import TextAttack
from privacy.attacks.robust_pca import low_rank_part
from privacy.attacks.row_space import above_noise, by_rank
from privacy.attacks.span_check import Search, SpanCheck
from privacy.attacks.svd_truncation import SvdTruncation

_MASKED_KINDS: tuple[Kind, ...] = ("expansion", "contraction", "head")
"""Weights that a mask covers with noise; attention is frozen."""


def paper_attacks() -> list[TextAttack]:
    """Through the three channels that AEGIS closes: embedding rows, attention, MLP expansion."""
    return [EmbeddingRows(), SpanCheck("attention"), SpanCheck("output"), SpanCheck("expansion")]


def other_channels() -> list[TextAttack]:
    """Through those that the paper does not name, and Q and V by themselves."""
    kinds: tuple[Kind, ...] = ("query", "value", "contraction", "head")
    return [HeadRows(), *(SpanCheck(kind) for kind in kinds)]


def matching_attacks(length: int) -> list[TextAttack]:
    """By optimisation, without and with a language prior.

    Args:
        length: Tokens of a text where an update does not tell.
    """
    return [
        GradientMatching(length=length),
        GradientMatching(length=length, prior=0.05, name="gradient matching with a prior"),
    ]


def adaptive_attacks(length: int, rank: int | None = None) -> list[TextAttack]:
    """Those that know of the noise, its size included.

    Args:
        length: Tokens of a text where an update does not tell.
        rank: Of a span after robust PCA; `length` if None.
    """
    forced = Search(tolerance=None, longest=length, beam=2)
    basis = by_rank(rank or length)
    return [
        RowNormRanking(length),
        RowNormRanking(length, head=True),
        *(MatchedFilter(kind, forced) for kind in _MASKED_KINDS),
        *(SvdTruncation(kind, search=forced) for kind in _MASKED_KINDS),
        *(
            SpanCheck(kind, basis, forced, low_rank_part, "robust PCA and span check")
            for kind in _MASKED_KINDS
        ),
        *(
            SpanCheck(kind, above_noise, label="span check above the noise")
            for kind in _MASKED_KINDS
        ),
    ]
