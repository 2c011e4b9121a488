"""Role maps of the transformer families that come with the package."""

from collections.abc import Mapping
from types import MappingProxyType

from fglguard.transformer_roles import BERT, Family, Role

_GPT2: Family = {
    Role.TOKEN_EMBEDDING: ["wte.weight"],
    Role.POSITION_EMBEDDING: ["wpe.weight"],
    Role.ATTENTION_PROJECTION: [
        "attn.c_attn.weight",
        "attn.c_attn.bias",
        "attn.c_proj.weight",
        "attn.c_proj.bias",
    ],
    Role.EXPANSION: ["mlp.c_fc.weight"],
    Role.CONTRACTION: ["mlp.c_proj.weight"],
    Role.BIAS: ["mlp.c_fc.bias", "mlp.c_proj.bias"],
    Role.NORMALISATION: [
        f"{norm}.{kind}" for norm in ("ln_1", "ln_2", "ln_f") for kind in ("weight", "bias")
    ],
    Role.HEAD: ["lm_head.weight", "score.weight"],
}


_LLAMA: Family = {
    Role.TOKEN_EMBEDDING: ["embed_tokens.weight"],
    Role.ATTENTION_PROJECTION: [
        f"self_attn.{part}_proj.{kind}" for part in "qkvo" for kind in ("weight", "bias")
    ],
    Role.EXPANSION: ["mlp.gate_proj.weight", "mlp.up_proj.weight"],
    Role.CONTRACTION: ["mlp.down_proj.weight"],
    Role.BIAS: ["mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias"],
    Role.NORMALISATION: [
        "input_layernorm.weight",
        "post_attention_layernorm.weight",
        "norm.weight",
    ],
    Role.HEAD: ["lm_head.weight", "score.weight"],
}

_OPT: Family = {
    Role.TOKEN_EMBEDDING: ["embed_tokens.weight"],
    Role.POSITION_EMBEDDING: ["embed_positions.weight"],
    Role.ATTENTION_PROJECTION: [
        f"self_attn.{part}_proj.{kind}"
        for part in ("q", "k", "v", "out")
        for kind in ("weight", "bias")
    ],
    Role.EXPANSION: ["fc1.weight"],
    Role.CONTRACTION: ["fc2.weight"],
    Role.BIAS: ["fc1.bias", "fc2.bias"],
    Role.NORMALISATION: [
        f"{norm}.{kind}"
        for norm in ("self_attn_layer_norm", "final_layer_norm")
        for kind in ("weight", "bias")
    ],
    Role.HEAD: ["lm_head.weight", "score.weight"],
}

_GPT_NEOX: Family = {
    Role.TOKEN_EMBEDDING: ["embed_in.weight"],
    Role.ATTENTION_PROJECTION: [
        f"attention.{part}.{kind}"
        for part in ("query_key_value", "dense")
        for kind in ("weight", "bias")
    ],
    Role.EXPANSION: ["mlp.dense_h_to_4h.weight"],
    Role.CONTRACTION: ["mlp.dense_4h_to_h.weight"],
    Role.BIAS: ["mlp.dense_h_to_4h.bias", "mlp.dense_4h_to_h.bias"],
    Role.NORMALISATION: [
        f"{norm}.{kind}"
        for norm in ("input_layernorm", "post_attention_layernorm", "final_layer_norm")
        for kind in ("weight", "bias")
    ],
    Role.HEAD: ["lm_head.weight", "embed_out.weight", "score.weight", "score.bias"],
}

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "gpt2": _GPT2,
        "bert": BERT,
        "llama": _LLAMA,
        "opt": _OPT,
        "gpt_neox": _GPT_NEOX,
    }
)
"""By what `model.config.model_type` says."""
