"""Inputs of a module, all candidates in one row, against a plain forward pass of each text."""

import pytest
import torch

from privacy.attacks.channels import channels
from privacy.attacks.layer_inputs import candidate_inputs, text_inputs

TEXT = (9, 30, 77, 12, 200, 41)


@pytest.mark.parametrize("family", ["gpt2", "llama", "opt", "gpt_neox"])
@pytest.mark.parametrize("kind", ["attention", "output", "expansion", "contraction", "head"])
def test_packed_candidates_read_the_same_as_texts(victim_of, family, kind):
    model = victim_of(family).model
    candidates = torch.tensor([5, 41, 300, 399])
    texts = [(*TEXT[:-1], token) for token in candidates.tolist()]
    for channel in channels(model, kind):
        whole, _ = text_inputs(model, channel.module, texts)
        packed = candidate_inputs(model, channel.module, TEXT[:-1], range(5), candidates, 5)
        torch.testing.assert_close(packed, whole[:, 5], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["attention", "output", "expansion", "contraction"])
def test_encoder_in_its_first_block(victim_of, kind):
    """Context on both sides; the true token reads what it reads in the whole text."""
    model = victim_of("bert").model
    channel = channels(model, kind)[0]
    whole, _ = text_inputs(model, channel.module, [TEXT])
    context, places = TEXT[:2] + TEXT[3:], (0, 1, 3, 4, 5)
    packed = candidate_inputs(model, channel.module, context, places, torch.tensor([77]), 2)
    torch.testing.assert_close(packed, whole[:, 2], atol=1e-5, rtol=1e-5)


def test_hook_is_removed(victim_of):
    model = victim_of("gpt2").model
    module = channels(model, "head")[0].module
    text_inputs(model, module, [TEXT])
    assert model(input_ids=torch.tensor([TEXT])).logits.shape[:2] == (1, 6)
