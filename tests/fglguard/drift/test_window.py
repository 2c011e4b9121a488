"""The window against counting its scores."""

from hypothesis import given
from hypothesis import strategies as st

from fglguard.drift.window import Window


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 10))
def test_it_counts_the_latest(codes, size) -> None:
    window = Window(4, size)
    for code in codes:
        window.add(code)
    kept = codes[-size:]
    assert len(window) == len(kept)
    assert window.counts == tuple(kept.count(code) for code in range(4))
