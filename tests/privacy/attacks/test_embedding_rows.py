"""Tokens from an embedding's rows."""

import pytest
import torch

from privacy.attacks.embedding_rows import EmbeddingRows, HeadRows, RowNormRanking, outlying_rows
from privacy.audit.observing import observe
from privacy.plans import plan_of
from privacy.signals import Strength


def test_rows_of_a_bag_of_words():
    """The gradient of w . sum_i E[t_i] is n_t w in row t: not zero where t occurs."""
    embedding = torch.nn.Embedding(20, 4)
    embedding(torch.tensor([7, 3, 7])).sum().backward()
    assert outlying_rows(embedding.weight.grad).tolist() == [7, 3]


def test_no_row_of_noise_stands_out():
    noise = torch.randn(2000, 32, generator=torch.Generator().manual_seed(0))
    assert not len(outlying_rows(noise))
    noise[5] *= 4
    assert outlying_rows(noise).tolist() == [5]


@pytest.mark.parametrize("family", ["bert", "llama", "gpt_neox"])
def test_untied_embedding_names_every_token(victim_of, family):
    """The last token of a decoder is no input of any prediction: it has no row."""
    victim = victim_of(family)
    batch = victim.batch(["the planner sent the final invoice to the bank 7"])
    seen = observe(victim.model, batch, plan_of("none"), Strength())
    tokens = batch.texts[0] if family == "bert" else batch.texts[0][:-1]
    assert set(EmbeddingRows()(seen)[0]) == set(tokens)
    assert len(RowNormRanking(5)(seen)[0]) == 5
    assert bool(HeadRows()(seen)) == (family != "bert")
