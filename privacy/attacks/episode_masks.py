"""Attacks on episodes that know the mask: comparison through it, and the size of its noise."""

from privacy.attacks.episode_bank import LABELS, EpisodeBank, Scores
from privacy.attacks.masked_comparison import compare_masked
from privacy.attacks.noise_size import compare_sizes
from privacy.attacks.observation import Observation


def compare_through_mask(seen: Observation, bank: EpisodeBank) -> Scores:
    """Scores of `privacy.attacks.masked_comparison` for each way to compute candidates' updates."""
    return {
        f"{statistic} of {updates.kind} through the mask": scores
        for updates in bank.updates
        for statistic, scores in compare_masked(seen, updates.masked(seen), len(LABELS)).items()
    }


def compare_noise_sizes(seen: Observation, bank: EpisodeBank) -> Scores:
    """Scores of `privacy.attacks.noise_size`; none where nothing is hidden by noise."""
    found: Scores = {}
    for updates in bank.updates:
        scores = compare_sizes(seen, updates.masked(seen), len(LABELS))
        if scores is not None:
            found[f"noise size of {updates.kind}"] = scores
    return found
