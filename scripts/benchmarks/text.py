"""What masks cost language models and text classifiers that sites fine-tune together."""

import torch

from privacy.audit.fine_tuning import FineTuning
from scripts.auditing.text_costs import FEDSGD, family_costs

FAMILIES = ("gpt2", "llama", "bert")
MODES = {"fedsgd": FEDSGD, "local4": FineTuning(rounds=15, local_steps=4)}


STARTS = (100, 1500)
"""Other numbers of steps on public texts that GPT-2 starts from: what masks cost depends on it."""


def text() -> dict[str, float]:
    """Perplexity ratios and accuracy differences of each family, by how sites train."""
    torch.set_num_threads(1)
    starts = {
        f"gpt2.fedsgd.start{steps}.{key}": value
        for steps in STARTS
        for key, value in family_costs("gpt2", FEDSGD, steps).items()
    }
    return starts | {
        f"{family}.{mode}.{key}": value
        for family in FAMILIES
        for mode, training in MODES.items()
        for key, value in family_costs(family, training).items()
    }
