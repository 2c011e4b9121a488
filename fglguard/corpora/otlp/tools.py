"""Tool calls and results: those of tools' spans, and those that only models' messages tell of."""

from collections.abc import Iterable, Sequence

from fglguard.corpora.fields import call_text, text_of
from fglguard.corpora.otlp.agents import AgentTree
from fglguard.corpora.otlp.messages import Call, Result, input_messages, newest, output_messages
from fglguard.corpora.otlp.spans import Span
from fglguard.corpora.otlp.utterances import Utterance, at_end, at_start
from fglguard.errors import CorpusError, shown
from fglguard.traces import conventions as names


class ToolCalls:
    """The tool calls of one episode, each told once.

    A tool's span tells of its call. What models' messages say of calls is used for those without
    a span: of another id than every tool's span, and of another tool than every span of the same
    agent that has no id.
    """

    def __init__(self, spans: Sequence[Span], tree: AgentTree) -> None:
        """Raise CorpusError where a tool's span names no tool, or its agent is not known."""
        self._tree = tree
        self._spans = [span for span in spans if span.operation == "tool"]
        self._ids = {_call_id(span) for span in self._spans} - {None}
        self._without_id = {
            (tree.agent(span), _name(span)) for span in self._spans if _call_id(span) is None
        }
        self._asked: dict[str, Call] = {}
        self._given: dict[str, Result] = {}
        self._told: set[str] = set()
        for span in spans:
            if span.operation == "model":
                self._read(span)

    def of_spans(self) -> Iterable[Utterance]:
        """Call and result of each tool's span."""
        for span in self._spans:
            agent, tool, identity = self._tree.agent(span), _name(span), _call_id(span) or ""
            arguments = span.attributes.get(names.GEN_AI_TOOL_ARGUMENTS)
            if arguments is None:
                arguments = span.attributes.get(names.INPUT_VALUE)
            if arguments is None and identity in self._asked:
                arguments = self._asked[identity].arguments
            result = span.attributes.get(names.GEN_AI_TOOL_RESULT)
            if result is None:
                result = span.attributes.get(names.OUTPUT_VALUE)
            if result is None and identity in self._given:
                result = self._given[identity].text
            yield Utterance(at_start(span), agent, (tool,), call_text(tool, arguments), "call")
            yield Utterance(at_end(span), tool, (agent,), text_of(result), "result")

    def of_model(self, span: Span, agent: str) -> Iterable[Utterance]:
        """Results that a model was given and calls that it asked for, where no span tells of them.

        Raises:
            CorpusError: A result is of a tool that can't be told.
        """
        for result in _results(span):
            name = self._tool_of(result)
            if self._has_span(result.id, name, agent) or result.id in self._told:
                continue
            if name is None:
                raise CorpusError(
                    f"{span.where}: tool result: expected the id of a call or a tool's name, "
                    f"got {shown(result.id)}"
                )
            if result.id is not None:
                self._told.add(result.id)
            yield Utterance(at_start(span), name, (agent,), result.text, "result")
        for call in _calls(span):
            if not self._has_span(call.id, call.name, agent):
                text = call_text(call.name, call.arguments)
                yield Utterance(at_end(span), agent, (call.name,), text, "call")

    def _read(self, span: Span) -> None:
        for message in (*input_messages(span), *output_messages(span)):
            self._asked |= {call.id: call for call in message.calls if call.id is not None}
            self._given |= {one.id: one for one in message.results if one.id is not None}

    def _tool_of(self, result: Result) -> str | None:
        asked = self._asked.get(result.id or "")
        return asked.name if asked else result.name

    def _has_span(self, identity: str | None, name: str | None, agent: str) -> bool:
        if identity in self._ids:
            return True
        if name is None:
            # Nothing tells whose result it is; the agent's spans without id tell of theirs.
            return identity is None and any(agent == owner for owner, _ in self._without_id)
        return (agent, name) in self._without_id


def _calls(span: Span) -> Iterable[Call]:
    return (call for message in output_messages(span) for call in message.calls)


def _results(span: Span) -> Iterable[Result]:
    new = newest(input_messages(span))
    return (result for message in new for result in message.results)


def _name(span: Span) -> str:
    name = span.text(names.GEN_AI_TOOL_NAME) or span.text(names.TOOL_NAME)
    if name is None:
        raise CorpusError(
            f"{span.where}: tool: expected {names.GEN_AI_TOOL_NAME} or {names.TOOL_NAME}, "
            "there is none"
        )
    return name


def _call_id(span: Span) -> str | None:
    for name in (names.GEN_AI_TOOL_CALL_ID, *names.TOOL_CALL_IDS):
        if span.text(name):
            return span.text(name)
    return None
