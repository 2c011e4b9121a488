"""What masks cost families of transformers, by hand and on a short training."""

import pytest

from privacy.audit.fine_tuning import FineTuning
from scripts.auditing.text_costs import each_and_worst, family_costs


def test_the_worst_family_stands_for_all():
    """Of ratios the largest, of differences the smallest."""
    assert each_and_worst(
        {
            "gpt2": {"aegis.perplexity_ratio": 1.01},
            "llama": {"aegis.perplexity_ratio": 1.03},
            "bert": {"aegis.accuracy_difference": -0.02},
        }
    ) == {
        "gpt2.aegis.perplexity_ratio": 1.01,
        "llama.aegis.perplexity_ratio": 1.03,
        "bert.aegis.accuracy_difference": -0.02,
        "aegis.perplexity_ratio": 1.03,
        "aegis.accuracy_difference": -0.02,
    }


@pytest.mark.long
def test_one_round_costs_a_decoder_little_and_the_same_twice():
    """One step at these rates moves a trained model little, so that every ratio is near 1."""
    once = family_costs("gpt2", FineTuning(rounds=1))
    assert once["aegis.perplexity_ratio"] == pytest.approx(1, abs=0.1)
    assert once == family_costs("gpt2", FineTuning(rounds=1))
