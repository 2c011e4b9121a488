"""What is remembered is what would be computed."""

import torch

from privacy.attacks.remembered_gradients import RememberedGradients
from privacy.audit.sentences import sentences
from privacy.text_task import gradient


def test_remembered_is_computed(victim_of):
    victim = victim_of("gpt2")
    batch = victim.batch(sentences(1), longest=6)
    known = RememberedGradients(victim.model)
    names = ["transformer.ln_f.weight", "transformer.h.0.mlp.c_fc.bias"]
    expected = gradient(victim.model, batch, names)
    for _ in range(2):
        found = known(victim.model, batch, names)
        assert found.keys() == expected.keys()
        assert all(torch.allclose(found[name], expected[name], atol=1e-7) for name in names)
