"""What a left-out part leaves of the graphs: expected values are the product's own, by settings."""

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.flow import instruction
from fglguard.flow.features import POOLED, PROVENANCE
from fglguard.flow.instruction import instruction_likeness, prototypes
from fglguard.flow.phrases import DIRECTIVE, IMPERATIVE, INSTRUCTIONS
from fglguard.graph import GraphSettings
from fglguard.hashed_text import BLOCKS
from fglguard.silo import Silo
from scripts.reproducing.ablated_graphs import ABLATIONS, FEATURES, block_of
from tests.conftest import build_episode
from tests.fglguard.flow.conftest import MESSAGES, build

ENCODER = load_encoder("hashed-words")


@pytest.fixture(scope="module")
def silo(tmp_path_factory) -> Silo:
    """Ten plain episodes and one whose agents obey a page."""
    episodes = [build_episode(number, "a", unsafe=number % 2 == 0) for number in range(10)]
    return Silo.create(tmp_path_factory.mktemp("ablated") / "silo", [*episodes, build()])


@pytest.fixture(scope="module")
def packed(silo):
    return silo.prepare(ENCODER, GraphSettings(0, **FEATURES))


@pytest.fixture
def without(silo, packed):
    return lambda name: ABLATIONS[name](silo, ENCODER.fingerprint, packed)


def dense(packed, row: int, columns: int) -> np.ndarray:
    """One node's hashed text, [columns]."""
    own = slice(packed.text_offsets[row], packed.text_offsets[row + 1])
    found = np.zeros(columns, dtype=np.float32)
    found[packed.text_columns[own]] = packed.text_values[own]
    return found


def test_letters_left_out_leave_the_words_of_a_graph_without_letters(silo, packed, without) -> None:
    words = silo.prepare(ENCODER, GraphSettings(0, flow=True, word_bits=12))
    changed = without("no letters")
    size = len(BLOCKS) << 13
    for row in range(len(packed.x)):
        assert np.array_equal(dense(changed, row, size), dense(words, row, size))
    assert np.array_equal(changed.flow, packed.flow)


def test_words_and_letters_left_out_add_up_to_the_whole(packed, without) -> None:
    parts = without("no words").text_values + without("no letters").text_values
    assert np.array_equal(parts, packed.text_values)
    assert not without("no text").text_values.any()


def test_each_block_is_left_out_once(packed, without) -> None:
    missing = [packed.text_values - without(f"no text {name}").text_values for name in BLOCKS]
    assert all(one.any() for one in missing)
    assert np.array_equal(np.sum(missing, axis=0), packed.text_values)


def test_columns_belong_to_blocks_in_order() -> None:
    """Five blocks of 4096 words, then five of 4096 letter sequences."""
    columns = np.array([0, 4095, 4096, 5 * 4096 - 1, 5 * 4096, 6 * 4096, 10 * 4096 - 1], np.int32)
    assert block_of(columns).tolist() == [0, 0, 1, 4, 0, 1, 4]


def test_fewer_buckets_are_those_of_a_graph_with_fewer(silo, packed, without) -> None:
    few = silo.prepare(ENCODER, GraphSettings(0, flow=True, word_bits=10))
    changed = without("2^10 buckets")
    for row in range(len(packed.x)):
        wide = dense(changed, row, len(BLOCKS) << 13)[: len(BLOCKS) << 12]
        by_block = wide.reshape(len(BLOCKS), 1 << 12)
        assert not by_block[:, 1 << 10 :].any()
        assert np.array_equal(by_block[:, : 1 << 10].ravel(), dense(few, row, len(BLOCKS) << 10))


def test_flow_left_out_is_zero(packed, without) -> None:
    assert packed.flow.any()
    assert not without("no flow features").flow.any()
    refusal = POOLED.index(("refusal", "last"))
    changed = without("no phrases of refusal").flow
    assert not changed[:, refusal].any()
    assert np.array_equal(np.delete(changed, refusal, 1), np.delete(packed.flow, refusal, 1))


def test_without_phrases_of_instruction_a_span_counts_what_its_embedding_gives(
    silo, packed, without
) -> None:
    """The account stands in the page's span and in what the reader told the banker.

    Each counts what its embedding gives and, but for here, 0.25 for each of its directive phrases;
    the larger of both is the provenance.
    """
    changed = without("no phrases of instruction")
    before, after = packed.flow[:, PROVENANCE], changed.flow[:, PROVENANCE]
    texts = [MESSAGES[2].text, MESSAGES[3].text]
    models = np.split(ENCODER.encode(prototypes()), [len(INSTRUCTIONS)])
    whole = [instruction_likeness([t], ENCODER.encode([t]), *models)[0] for t in texts]
    counts = [min(3, DIRECTIVE.count(text) + IMPERATIVE.occur(text)) for text in texts]
    phrases = [instruction.LEXICON_WEIGHT * count for count in counts]
    assert all(phrases)
    assert before.max() == pytest.approx(max(whole))
    assert after.max() == pytest.approx(max(np.subtract(whole, phrases)))
    # The weight is as it was, so that what is packed next is the preset's.
    assert instruction.LEXICON_WEIGHT == 0.25
    again = silo.prepare(ENCODER, GraphSettings(0, **FEATURES), again=True)
    assert np.array_equal(again.flow, packed.flow)
