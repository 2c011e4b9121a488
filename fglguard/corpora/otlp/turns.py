"""Turns: what an agent was asked, thought, called, was told by tools, and answered.

A turn is an agent's span and what runs in it. Spans of models that no agent's span encloses are
a turn where they share agent and parent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fglguard.corpora.otlp.agents import AgentTree
from fglguard.corpora.otlp.messages import ChatMessage, input_messages, newest, output_messages
from fglguard.corpora.otlp.spans import Span
from fglguard.corpora.otlp.tools import ToolCalls
from fglguard.corpora.otlp.utterances import Utterance, at_end, at_start
from fglguard.traces import conventions as names


@dataclass(slots=True)
class Turn:
    """One turn of an agent.

    Attributes:
        agent: Whose it is.
        span: The agent's own span; None where only models' spans tell of it.
        models: Spans of models in it, in order of time.
    """

    agent: str
    span: Span | None
    models: list[Span] = field(default_factory=list)


def turns_of(spans: Sequence[Span], tree: AgentTree) -> list[Turn]:
    """The turns of an episode.

    Raises:
        CorpusError: A span's agent or parent is missing or ambiguous.
    """
    turns: dict[tuple[str, ...], Turn] = {}
    for span in spans:
        if span.operation not in ("agent", "model"):
            continue
        agent = tree.agent(span)
        owner = tree.outermost(span)
        key = owner.key if owner else (span.trace, span.parent, agent)
        turn = turns.setdefault(key, Turn(agent, owner))
        if span.operation == "model":
            turn.models.append(span)
    return list(turns.values())


def utterances_of(turn: Turn, tree: AgentTree, tools: ToolCalls) -> Iterable[Utterance]:
    """What was said in a turn, tools' spans excepted.

    Raises:
        CorpusError: An attribute is malformed, or a parent is missing or ambiguous.
    """
    if turn.span is None:
        for model in turn.models:
            yield from _alone(model, turn.agent, tree)
    else:
        yield from _enclosed(turn, turn.span, tree)
    for model in turn.models:
        yield from tools.of_model(model, turn.agent)


def _enclosed(turn: Turn, span: Span, tree: AgentTree) -> Iterable[Utterance]:
    """An agent's span: what it was asked and answered; what its models say besides is thought."""
    asked = _asked(span) or [message for model in turn.models[:1] for message in _requests(model)]
    yield from _questions(asked, at_start(span), turn.agent, tree.calling(span))
    answer = _said(output_messages(span)) or span.text(names.OUTPUT_VALUE)
    if not answer and turn.models:
        answer = _said(output_messages(turn.models[-1]))
    for model in turn.models:
        given = output_messages(model)
        yield Utterance(at_end(model), turn.agent, (), _thought(given))
        said = _said(given)
        if not answer or said.strip() != answer.strip():
            yield Utterance(at_end(model), turn.agent, (), said)
    if answer:
        yield Utterance(at_end(span), turn.agent, (tree.awaiting(span),), answer)


def _alone(model: Span, agent: str, tree: AgentTree) -> Iterable[Utterance]:
    """A model's span of its own: what comes with tool calls is thought, the rest is an answer."""
    yield from _questions(_requests(model), at_start(model), agent, tree.calling(model))
    given = output_messages(model)
    yield Utterance(at_end(model), agent, (), _thought(given))
    for message in given:
        receivers = () if message.calls else (tree.awaiting(model),)
        yield Utterance(at_end(model), agent, receivers, message.text)


def _questions(
    asked: list[ChatMessage], key: tuple[int, ...], agent: str, caller: str | None
) -> Iterable[Utterance]:
    for message in asked:
        yield Utterance(key, caller, (agent,), message.text, author=message.name)


def _asked(span: Span) -> list[ChatMessage]:
    """What an agent's span says that it was asked."""
    requests = _requests(span)
    value = span.text(names.INPUT_VALUE)
    return requests or ([ChatMessage("user", text=value)] if value else [])


def _requests(span: Span) -> list[ChatMessage]:
    new = newest(input_messages(span))
    return [message for message in new if message.role == "user" and message.text.strip()]


def _said(messages: list[ChatMessage]) -> str:
    return "\n".join(one.text for one in messages if one.role == "assistant" and one.text.strip())


def _thought(messages: list[ChatMessage]) -> str:
    return "\n".join(message.thought for message in messages if message.thought.strip())
