"""One tiny model a family of transformers: two blocks of width 16, 50 tokens."""

import functools

import numpy as np
import pytest
import torch
import transformers

from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import pack
from fglguard.settings import PrivacySettings
from privacy.audit.sentences import sentences
from privacy.audit.victims import Size, make_victim

_SIZES = {"vocab_size": 50, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
_BLOCKS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_MODELS = {
    "gpt2": (
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config(**_SIZES, n_embd=16, n_layer=2, n_head=2, n_positions=32),
    ),
    "bert": (
        transformers.BertForSequenceClassification,
        transformers.BertConfig(**_SIZES, **_BLOCKS, intermediate_size=32),
    ),
    "llama": (
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig(**_SIZES, **_BLOCKS, intermediate_size=32),
    ),
    "opt": (
        transformers.OPTForCausalLM,
        transformers.OPTConfig(**_SIZES, **_BLOCKS, ffn_dim=32, word_embed_proj_dim=16),
    ),
    "gpt_neox": (
        transformers.GPTNeoXForCausalLM,
        transformers.GPTNeoXConfig(**_SIZES, **_BLOCKS, intermediate_size=32),
    ),
}
FAMILIES = tuple(_MODELS)


@pytest.fixture
def make_model():
    def make(family):
        build, config = _MODELS[family]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return build(config)

    return make


SIZE = Size(width=64, vocabulary=400, positions=32)


@functools.cache
def _victim(family):
    return make_victim(family, sentences(200), size=SIZE)


@pytest.fixture
def victim_of():
    """Victims of five families, untrained, of width 64; one is made once for all tests."""
    return _victim


def random_graph(rng, dimension):
    """Two agents that talk to each other, with random features."""
    return EpisodeGraph(
        x=rng.standard_normal((2, dimension)).astype(np.float32),
        kind=np.ones(2, dtype=np.uint8),
        agent_ids=("first", "second"),
        src=np.array([0, 1], dtype=np.int32),
        dst=np.array([1, 0], dtype=np.int32),
        final=1,
    )


@pytest.fixture
def make_graphs():
    """`count` packed graphs of two agents each, labels in turn."""

    def make(count, dimension=24, seed=0):
        rng = np.random.default_rng(seed)
        graphs = [random_graph(rng, dimension) for _ in range(count)]
        return pack(graphs, [number % 2 == 0 for number in range(count)])

    return make


def privacy_settings(name="none", level="bbp"):
    """A mask by itself: one export, the whole of a signal-to-noise ratio of 1, batches of one."""
    return PrivacySettings(
        name=name,
        mode="delta",
        level=level,
        exports=1,
        kappa=1.0,
        clip=1.0,
        kept=1.0,
        minimum_graphs=1,
    )
