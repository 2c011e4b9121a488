"""One agent that serves a user with tools: the shape of most agent logs."""

from collections.abc import Callable, Mapping
from typing import Any

from fglguard.corpora.building import EpisodeBuilder
from fglguard.corpora.fields import as_kind, call_text, required, text_of
from fglguard.errors import CorpusError


class Dialogue(EpisodeBuilder):
    """User, agent, one node a tool, and an environment where results have no tool.

    The user speaks in round 0; each turn of the agent begins a round.
    """

    def __init__(self) -> None:
        super().__init__()
        self.user = self.agent("user", "user")
        self.main = self.agent("agent", "agent")

    def turn(self) -> None:
        """The agent's next turn begins."""
        self.round += 1

    def ask(self, text: str) -> None:
        """The user speaks to the agent."""
        self.add(self.user, [self.main], text)

    def think(self, text: str) -> None:
        """The agent says something that nobody hears."""
        self.add(self.main, [], text)

    def answer(self, text: str) -> None:
        """The agent speaks to the user."""
        self.add(self.main, [self.user], text)

    def call(self, function: str, arguments: Any) -> str:
        """The agent calls a tool; returns the tool's id."""
        tool = self.tool(function)
        self.add(self.main, [tool], call_text(function, arguments), "call")
        return tool

    def result(self, sender: str, text: str) -> None:
        """A tool or the environment answers the agent."""
        self.add(sender, [self.main], text, "result")

    def tool(self, function: str) -> str:
        """Id of a tool."""
        return self.agent(f"tool:{function.strip() or 'unnamed'}", "tool")

    def environment(self) -> str:
        """Id of the environment."""
        return self.agent("environment", "environment")


def _as_it_is(text: str) -> str:
    return text


def add_chat(
    dialogue: Dialogue,
    messages: list[Any],
    clean: Callable[[str], str] = _as_it_is,
    clean_user: Callable[[str], str] = _as_it_is,
) -> None:
    """Add chat-completion messages (roles system, user, assistant, tool) to a dialogue.

    System prompts are left out: they tell the setting, not what happened in it.

    Args:
        dialogue: Receives the messages.
        messages: `{role, content, tool_calls?, ...}`; a tool call is `{function: {name,
            arguments}}` (OpenAI) or `{function, args}` (AgentDojo).
        clean: Applied to every text.
        clean_user: Applied to the user's texts before that.

    Raises:
        CorpusError: A message is malformed.
    """
    functions: dict[str, str] = {}
    for index, value in enumerate(messages):
        where = f"messages[{index}]"
        message = as_kind(value, dict, where)
        role = required(message, "role", str, f"{where}.")
        text = text_of(message.get("content"))
        if role == "user":
            dialogue.ask(clean(clean_user(text)))
        elif role == "assistant":
            dialogue.turn()
            dialogue.answer(clean(text))
            calls = as_kind(message.get("tool_calls") or [], list, f"{where}.tool_calls")
            for number, call in enumerate(calls):
                place = f"{where}.tool_calls[{number}]"
                function, arguments = _call(as_kind(call, dict, place), place)
                functions[str(call.get("id"))] = function
                dialogue.call(function, _cleaned(arguments, clean))
        elif role == "tool":
            answered = _answered(message, functions)
            sender = dialogue.tool(answered) if answered else dialogue.environment()
            text = text if text.strip() else text_of(message.get("error"))
            dialogue.result(sender, clean(text))
        elif role not in ("system", "developer"):
            raise CorpusError(
                f"{where}.role: expected system, developer, user, assistant or tool, "
                "got another one"
            )


def _call(call: Mapping[str, Any], where: str) -> tuple[str, Any]:
    function = call.get("function")
    if isinstance(function, dict):
        return required(function, "name", str, f"{where}.function."), function.get("arguments")
    return required(call, "function", str, f"{where}."), call.get("args")


def _answered(message: Mapping[str, Any], functions: Mapping[str, str]) -> str | None:
    """Name of the function whose result the message is."""
    name = message.get("name")
    if isinstance(name, str) and name.strip():
        return name
    call = message.get("tool_call")
    if isinstance(call, dict) and call.get("function"):
        return _call(call, "tool_call")[0]
    return functions.get(str(message.get("tool_call_id")))


def _cleaned(arguments: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(arguments, str):
        return clean(arguments)
    if isinstance(arguments, dict):
        return {key: _cleaned(value, clean) for key, value in arguments.items()}
    if isinstance(arguments, list):
        return [_cleaned(value, clean) for value in arguments]
    return arguments
