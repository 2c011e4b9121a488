"""A chat model that says what it is told to: the examples need no network."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage


class ScriptedChatModel(FakeMessagesListChatModel):
    """Says one message after the other, whatever it is asked and whatever tools it has."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Nothing to do: the script says which tools are called."""
        return self


def scripted(*messages: AIMessage | str) -> ScriptedChatModel:
    """A model that says these messages."""
    replies = [AIMessage(one) if isinstance(one, str) else one for one in messages]
    return ScriptedChatModel(responses=list(replies))


def calling(tool: str, arguments: dict[str, Any]) -> AIMessage:
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{tool}"}])
