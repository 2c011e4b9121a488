"""What masks cost language models and text classifiers that sites fine-tune together."""

import torch

from privacy.audit.fine_tuning import FineTuning
from scripts.auditing.text_costs import FEDSGD, family_costs

FAMILIES = ("gpt2", "llama", "bert")
MODES = {"fedsgd": FEDSGD, "local4": FineTuning(rounds=15, local_steps=4)}


def text() -> dict[str, float]:
    """Perplexity ratios and accuracy differences of each family, by how sites train."""
    torch.set_num_threads(1)
    return {
        f"{family}.{mode}.{key}": value
        for family in FAMILIES
        for mode, training in MODES.items()
        for key, value in family_costs(family, training).items()
    }
