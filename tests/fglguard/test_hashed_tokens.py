"""Buckets against those of scikit-learn's vectorizer."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from fglguard.hashed_tokens import LONGEST_KEPT, bucket_counts


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@given(st.text(max_size=60))
@example("The the THE account, a b c; \u0130stanbul \u00df \u03a3\u03a3 \u6f22\u5b57 x_1")
@example("longest " + "ab" * LONGEST_KEPT + " longest")
@example("\x1c\x85 \u00a0 \u2028a")
def test_counts_are_those_of_scikit_learn(analyzer, text) -> None:
    counted = HashingVectorizer(
        n_features=2**5,
        norm=None,
        analyzer=analyzer,
        ngram_range=(1, 1) if analyzer == "word" else (4, 4),
    ).transform([text])
    buckets, counts = bucket_counts(text, 5, analyzer)
    expected = counted.toarray()[0]
    assert buckets.tolist() == np.flatnonzero(expected).tolist()
    assert counts.tolist() == expected[buckets].tolist()
