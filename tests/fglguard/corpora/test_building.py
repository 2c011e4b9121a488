from hypothesis import given
from hypothesis import strategies as st

from fglguard.corpora.building import EpisodeBuilder, fitted
from fglguard.episode_rules import MAX_TEXT_BYTES


def test_short_texts_stay_as_they_are():
    assert fitted("é" * 10) == "é" * 10
    assert fitted("x" * MAX_TEXT_BYTES) == "x" * MAX_TEXT_BYTES


@given(st.sampled_from(["a", "é", "語", "😀"]), st.integers(1, 3), st.integers(0, 3))
def test_overlong_texts_keep_head_and_tail(character, extra, offset):
    """Whatever the width of a character and where it falls, the cut text fits and says so."""
    middle = character * (MAX_TEXT_BYTES // len(character.encode()) + extra)
    text = "H" * offset + "<head>" + middle + "<tail>"
    cut = fitted(text)
    assert MAX_TEXT_BYTES - 8 <= len(cut.encode()) <= MAX_TEXT_BYTES
    assert cut.startswith("H" * offset + "<head>" + character)
    assert cut.endswith(character + "<tail>")
    assert f"[... {len(text.encode())} bytes, cut ...]" in cut


def test_empty_utterances_are_skipped_and_surrogates_replaced():
    builder = EpisodeBuilder()
    agent = builder.agent(" a\ud800 ", "agent")
    builder.add(agent, [], " \n ")
    builder.add(agent, [], " x\ud800 ")
    assert agent == "a?"
    assert [m.text for m in builder._messages] == ["x?"]
    assert builder.agent("a?", "tool") == agent
    assert builder.agent("  ", "tool") == "tool"
