"""Attacks on texts by kind: how many batches each kind is tried on, and what it is scored by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.attacks.embedding_rows import RowNormRanking
from privacy.attacks.gradient_comparison import (
    BIASES_AND_NORMS,
    POSITIONS,
    GradientComparison,
    GradientOf,
)
from privacy.attacks.masked_comparison import MaskedComparison, MaskedOf
from privacy.attacks.median_export import median_export
from privacy.attacks.noise_size import NoiseSize
from privacy.attacks.observation import CandidateAttack, Observation, TextAttack, Tokens
from privacy.attacks.scoring import score_candidates, score_texts
from privacy.attacks.sentence_bank import SentenceBank
from privacy.attacks.suite import (
    adaptive_attacks,
    matching_attacks,
    other_channels,
    paper_attacks,
)
from privacy.audit.vocabulary import SPECIAL
from privacy.text_task import TextBatch

Table = dict[str, dict[str, float]]
"""Of each attack, its figures by name."""

PAPER, MEDIAN = "paper", "median"


@dataclass(frozen=True)
class Target:
    """A batch to be found out, and the bank of texts that holds its own.

    Attributes:
        batch: The client's.
        length: Tokens of its longest text: attackers who need a length are told it.
        bank: Candidates.
        members: Which of them are in the batch, [C].
        gradient_of: Of candidates, at the global weights.
        masked_of: What a mask makes of candidates, at the global weights.
    """

    batch: TextBatch
    length: int
    bank: Sequence[Tokens]
    members: NDArray[np.bool_]
    gradient_of: GradientOf
    masked_of: MaskedOf


@dataclass(frozen=True)
class Group:
    """Attacks of one kind.

    Attributes:
        name: Of the kind.
        attack: Runs all of them on one observation.
        batches: How many batches of each size; sizes that it has none of are not attacked.
        nulls: Draws of pure noise for each batch.
        several: Whether it needs several exports, one by one; others get their mean.
    """

    name: str
    attack: Callable[[Observation, Target], Table]
    batches: Mapping[int, int]
    nulls: int = 1
    several: bool = False

    def trials(self, size: int, most: int) -> int:
        """Batches of a size: at most `most` where that is not 0."""
        own = self.batches.get(size, 0)
        return min(own, most) if most else own


def text_figures(attacks: Sequence[TextAttack], seen: Observation, target: Target) -> Table:
    """ROUGE-1, token recall and token precision of attacks that reconstruct."""
    figures: Table = {}
    for attack in attacks:
        score = score_texts(target.batch.texts, attack(seen), SPECIAL)
        figures[attack.name] = {
            "rouge1": score.rouge1,
            "token_recall": score.recall,
            "token_precision": score.precision,
        }
    return figures


def candidate_figures(
    attacks: Sequence[CandidateAttack[Sequence[Tokens]]], seen: Observation, target: Target
) -> Table:
    """AUC and recall at no false positive of attacks that rank the bank."""
    figures: Table = {}
    for attack in attacks:
        score = score_candidates(attack(seen, target.bank), target.members)
        figures[attack.name] = {"auc": score.auc, "recall": score.recall}
    return figures


def _paper(seen: Observation, target: Target) -> Table:
    return text_figures(paper_attacks(), seen, target)


def _channels(seen: Observation, target: Target) -> Table:
    return text_figures(other_channels(), seen, target)


def _adaptive(seen: Observation, target: Target) -> Table:
    together = len(target.batch.texts) * target.length
    return text_figures(adaptive_attacks(target.length, together), seen, target)


def _matching(seen: Observation, target: Target) -> Table:
    return text_figures(matching_attacks(target.length), seen, target)


def _median(seen: Observation, target: Target) -> Table:
    attacks = [*paper_attacks(), *other_channels(), RowNormRanking(target.length)]
    return text_figures(attacks, median_export(seen), target)


def _candidates(seen: Observation, target: Target) -> Table:
    known = target.gradient_of
    attacks: list[CandidateAttack[Sequence[Tokens]]] = [
        SentenceBank(),
        GradientComparison(gradient_of=known),
        GradientComparison(BIASES_AND_NORMS, "comparison of biases and norms", known),
        GradientComparison(POSITIONS, "comparison of positions", known),
        MaskedComparison("centred cosine", target.masked_of),
        MaskedComparison("likelihood ratio", target.masked_of),
        NoiseSize(target.masked_of),
    ]
    return candidate_figures(attacks, seen, target)


GROUPS: Mapping[str, Group] = {
    group.name: group
    for group in (
        Group(PAPER, _paper, {1: 20, 4: 5}, nulls=3),
        Group("channels", _channels, {1: 8, 4: 3}),
        Group("adaptive", _adaptive, {1: 3}),
        Group("matching", _matching, {1: 2}),
        Group(MEDIAN, _median, {1: 4}, several=True),
        Group("candidates", _candidates, {1: 24, 4: 8}),
    )
}
"""The more an attack costs, the fewer batches: the table says how many a figure is a mean over."""
