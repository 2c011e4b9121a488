"""What masks cost language models and text classifiers that sites fine-tune together."""

import torch

from fglguard.settings import PrivacySettings, RunSettings
from privacy.audit.fine_tuning import FineTuning
from privacy.audit.sentences import sentences, topics
from privacy.audit.text_utility import cost_figures, split_texts, text_utility
from privacy.audit.victims import CLASSES, make_victim, train_victim
from privacy.plans import LADDER
from scripts.generate_flower_config import composed

FAMILIES = ("gpt2", "llama", "bert")
PUBLIC, PRIVATE = 600, 2400
WARM_STEPS = 400
"""On the public texts, before sites fine-tune: a model that is still learning its embeddings pays
more for having them masked (docs/audit.md)."""
MODES = {
    "fedsgd": FineTuning(rounds=60),
    "local4": FineTuning(rounds=15, local_steps=4),
}
RATES = {
    "none": (0.1, 0.2, 0.4),
    "aegis": (0.1, 0.2, 0.4, 0.8),
    "aegis_extended": (0.001, 0.003, 0.01),
}
"""Learning rates that are tried: with more noise, smaller ones."""


def text() -> dict[str, float]:
    """Perplexity ratios and accuracy differences of each family, by how sites train."""
    torch.set_num_threads(1)
    written = sentences(PUBLIC + PRIVATE)
    public, private = written[:PUBLIC], written[PUBLIC:]
    figures = {}
    for family in FAMILIES:
        victim = make_victim(family, written)
        train_victim(victim, public, steps=WARM_STEPS)
        texts = split_texts(victim, private, topics(private, CLASSES))
        for mode, training in MODES.items():
            costs = text_utility(victim, texts, training, _privacies(), RATES, _tell)
            found = cost_figures(victim, costs)
            figures |= {f"{family}.{mode}.{key}": value for key, value in found.items()}
    return figures


def _privacies() -> dict[str, PrivacySettings]:
    return {name: RunSettings.from_flat(composed(f"privacy={name}")).privacy for name in LADDER}


def _tell(line: str) -> None:
    print(line, flush=True)
