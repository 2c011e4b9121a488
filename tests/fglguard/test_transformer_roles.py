import pytest

from fglguard.transformer_roles import BERT, Role, role_in


@pytest.mark.parametrize(
    ("name", "role"),
    [
        # Both end in output.dense.weight: the longer suffix decides.
        ("layer.0.attention.output.dense.weight", Role.ATTENTION_PROJECTION),
        ("layer.0.output.dense.weight", Role.CONTRACTION),
        ("layer.0.intermediate.dense.bias", Role.BIAS),
        ("embeddings.word_embeddings.weight", Role.TOKEN_EMBEDDING),
        ("word_embeddings.weight", Role.TOKEN_EMBEDDING),
        ("other_word_embeddings.weight", None),
        ("layer.0.adapter.weight", None),
        # An adapter, and the weight beneath it, as the module they stand on.
        ("layer.0.attention.self.query.lora_A.default.weight", Role.ATTENTION_PROJECTION),
        ("layer.0.intermediate.dense.lora_B.default.weight", Role.EXPANSION),
        ("layer.0.output.dense.lora_A.other.weight", Role.CONTRACTION),
        ("layer.0.output.dense.base_layer.weight", Role.CONTRACTION),
        ("layer.0.output.dense.base_layer.bias", Role.BIAS),
        ("layer.0.output.dense.lora_magnitude_vector.default.weight", None),
    ],
)
def test_the_longest_suffix_that_starts_at_a_part_decides(name, role) -> None:
    assert role_in(BERT, name) is role
