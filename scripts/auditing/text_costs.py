"""What masks cost families of transformers that sites fine-tune together."""

import sys
from collections.abc import Mapping, Sequence

from fglguard.settings import PrivacySettings
from privacy.audit.fine_tuning import FineTuning
from privacy.audit.sentences import sentences, topics
from privacy.audit.text_utility import cost_figures, split_texts, text_utility
from privacy.audit.victims import CLASSES, make_victim, train_victim
from privacy.plans import LADDER
from scripts.auditing.masks import run_settings
from scripts.auditing.processes import in_processes

PUBLIC, PRIVATE = 600, 2400
WARM_STEPS = 400
"""On the public texts, before sites fine-tune: a model that is still learning its embeddings pays
more for having them masked (docs/audit.md)."""
FEDSGD = FineTuning(rounds=60)
RATES = {
    "none": (0.1, 0.2, 0.4),
    "aegis": (0.1, 0.2, 0.4, 0.8),
    "aegis_extended": (0.1,),
}
"""Learning rates that are tried. At `dp_scale` the noise follows `privacy.clip`, not the rate."""


def text_costs(families: Sequence[str], workers: int) -> dict[str, float]:
    """Each family's costs, the worst of them, and what a mask adds to a step of MiniLM.

    Returns:
        `FAMILY.MASK.perplexity_ratio` of decoders and `FAMILY.MASK.accuracy_difference` of
        encoders, and with `.same_rate`; over all families the largest ratio and the smallest
        difference without `FAMILY.`; `MASK.step_time_ratio`, of texts as long as real ones.

    Raises:
        PrivacyError: A mask refuses.
        UpdateError: Every learning rate diverged.
    """
    found = in_processes(_fedsgd_costs, {family: family for family in families}, workers)
    figures = each_and_worst(dict(zip(families, found, strict=True)))
    # Benchmarks import Flower: seconds that no other audit should wait for.
    from scripts.benchmarks.aegis import step_time_ratios

    return figures | step_time_ratios()


def each_and_worst(costs: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """`FAMILY.KEY` of every family, and `KEY`: the largest ratio, the smallest difference."""
    figures: dict[str, float] = {}
    for family, found in costs.items():
        for key, value in found.items():
            figures[f"{family}.{key}"] = value
            worse = max if "perplexity_ratio" in key else min
            figures[key] = worse(value, figures.get(key, value))
    return figures


def family_costs(
    family: str, training: FineTuning, warm_steps: int = WARM_STEPS
) -> dict[str, float]:
    """Perplexity ratios or accuracy differences of one family under each mask.

    Args:
        family: Of transformers.
        training: The sites'.
        warm_steps: On the public texts, before.

    Raises:
        PrivacyError: The family is unknown, or a mask refuses.
        UpdateError: Every learning rate diverged.
    """
    written = sentences(PUBLIC + PRIVATE)
    public, private = written[:PUBLIC], written[PUBLIC:]
    victim = make_victim(family, written)
    train_victim(victim, public, steps=warm_steps)
    texts = split_texts(victim, private, topics(private, CLASSES))
    return cost_figures(victim, text_utility(victim, texts, training, _privacies(), RATES, _tell))


def _fedsgd_costs(family: str) -> dict[str, float]:
    return family_costs(family, FEDSGD)


def _privacies() -> Mapping[str, PrivacySettings]:
    return {name: run_settings(name, 1).privacy for name in LADDER}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
