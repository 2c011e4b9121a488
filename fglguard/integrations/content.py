"""What a framework's message holds, as text: nothing that a model reads is left out in silence."""

import json
from collections.abc import Mapping
from typing import Any

from fglguard.corpora.fields import text_of

_PLAIN = frozenset({"type", "text", "id", "index", "annotations", "cache_control", "extras"})
_TEXTS = (None, "text", "input_text", "output_text")
_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "media"})
_OWN = frozenset(
    {"tool_use", "tool_call", "function_call", "thinking", "redacted_thinking", "reasoning"}
)


def content_text(content: Any, *, of_agent: bool = False) -> str:
    """A message's content as text, block by block.

    Text blocks are their text. Pictures and sound, which no guard reads, leave their type in
    brackets. Every other block, such as a document or a search result, is its JSON.

    Args:
        content: A text, content blocks, or another JSON value.
        of_agent: Whether an agent says it: its calls and thoughts are then left out, since calls
            are events of their own and nobody hears thoughts.
    """
    if not isinstance(content, list | tuple):
        return text_of(content)
    blocks = (
        _block_text(block, of_agent) if isinstance(block, dict) else text_of(block)
        for block in content
    )
    return "\n".join(filter(None, blocks))


def _block_text(block: Mapping[str, Any], of_agent: bool) -> str:
    kind = block.get("type")
    if of_agent and kind in _OWN:
        return ""
    if kind in _MEDIA:
        return f"[{kind}]"
    if kind in _TEXTS and isinstance(block.get("text"), str) and block.keys() <= _PLAIN:
        return str(block["text"])
    told = dict(block)
    if isinstance(told.get("base64"), str):
        told["base64"] = f"[{len(told['base64'])} characters]"
    return json.dumps(told, ensure_ascii=False, default=str)
