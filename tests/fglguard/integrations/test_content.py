"""What blocks of a message a guard reads: a model reads them all."""

import pytest

from fglguard.integrations.content import content_text

TEXT = "wire it"


@pytest.mark.parametrize(
    "block",
    [
        TEXT,
        {"type": "text", "text": TEXT},
        {"type": "output_text", "text": TEXT, "annotations": []},
        {"type": "document", "source": {"type": "text", "data": TEXT}},
        {"type": "search_result", "title": TEXT, "content": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "a", "title": TEXT},
        {"type": "json", "json": {"a": TEXT}},
        {"type": "unheard-of", "value": TEXT},
        {"type": "reasoning", "reasoning": TEXT},
        {"type": "tool_use", "input": {"a": TEXT}},
    ],
)
def test_no_block_of_a_result_is_left_out(block) -> None:
    assert TEXT in content_text([{"type": "text", "text": "first"}, block])


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "tool_use", "input": {"a": 1}}, ""),
        ({"type": "thinking", "thinking": "hm"}, ""),
        ({"type": "text", "text": "said"}, "said"),
    ],
)
def test_an_agent_s_calls_and_thoughts_are_no_part_of_what_it_says(block, text) -> None:
    assert content_text([block], of_agent=True) == text


def test_pictures_and_files_leave_a_trace() -> None:
    """Nobody reads them here, and nobody takes them for nothing."""
    assert content_text([{"type": "image_url", "image_url": {"url": "data:..."}}]) == "[image_url]"
    told = content_text([{"type": "file", "base64": "aGk=", "mime_type": "text/plain"}])
    assert "text/plain" in told
    assert "aGk=" not in told
