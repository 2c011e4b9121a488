"""OTLP JSON traces with the attributes of OpenTelemetry's GenAI conventions or OpenInference."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fglguard.corpora.annotations import Annotations, annotations_of
from fglguard.corpora.conversation import USER, Conversation
from fglguard.corpora.fields import digest
from fglguard.corpora.otlp.agents import AgentTree
from fglguard.corpora.otlp.runs import Run, runs_of
from fglguard.corpora.otlp.spans import Span, Unreadable, spans_of
from fglguard.corpora.otlp.tools import ToolCalls
from fglguard.corpora.otlp.turns import turns_of, utterances_of
from fglguard.corpora.otlp.utterances import Utterance
from fglguard.corpora.reading import Reader, Source
from fglguard.episode import Episode, Problem
from fglguard.errors import CorpusError, EpisodeError, shown
from fglguard.traces import conventions as names


class Otlp(Reader):
    """Files of `ExportTraceServiceRequest`, whole or as JSON Lines: one episode a run.

    A run is what shares `gen_ai.conversation.id`, else `session.id`, else the trace. It is read
    whole or not at all: a span that is malformed, ambiguous or without its parent or agent costs
    the episode and is reported. Runs without agents, models and tools are other services' traces
    and are left out.
    """

    def outcomes(self, path: Path, domain: str | None) -> Iterator[Episode | Problem]:
        """One outcome a run, in order of time, after those of records that are no OTLP."""
        problems: list[Problem] = []
        runs = runs_of(self._spans(path, problems))
        yield from problems
        for run in runs:
            outcome = self._outcome(run, path, domain)
            if outcome is not None:
                yield outcome

    def _spans(self, path: Path, problems: list[Problem]) -> Iterator[Span | Unreadable]:
        for file in self.files(path):
            try:
                for place, record in self.records(file):
                    source = Source(file, path, place, "")
                    try:
                        if isinstance(record, CorpusError):
                            raise record
                        yield from spans_of(record, source)
                    except CorpusError as error:
                        problems.append(Problem(str(source), str(error)))
                    except RecursionError:
                        problems.append(Problem(str(source), "it is nested too deeply"))
            except CorpusError as error:
                problems.append(Problem(str(file), str(error)))

    def _outcome(self, run: Run, path: Path, domain: str | None) -> Episode | Problem | None:
        if run.faults:
            more = f" (and {len(run.faults) - 1} more in this run)" if len(run.faults) > 1 else ""
            return Problem(run.faults[0].where, f"{run.faults[0].message}{more}")
        if all(span.operation == "other" for span in run.spans):
            return None
        try:
            return self._episode(run, domain)
        except (CorpusError, EpisodeError) as error:
            return Problem(f"{path}: {run.key[0]} {shown(run.key[1])}", str(error))
        except RecursionError:
            return Problem(f"{path}: {run.key[0]} {shown(run.key[1])}", "it is nested too deeply")

    def _episode(self, run: Run, domain: str | None) -> Episode:
        told = annotations_of(
            attributes for span in run.spans for attributes in (span.attributes, span.resource)
        )
        conversation = Conversation()
        for utterance in _utterances(run, told):
            _say(conversation, utterance)
        first = run.spans[0].source
        return conversation.finished(
            replace(first, domain=domain or told.domain or self.name),
            told,
            id=f"{self.name}-{digest(*run.key)}",
            attributes={"agent_model": _model(run), run.key[0]: run.key[1]},
        )


def _utterances(run: Run, told: Annotations) -> list[Utterance]:
    tree = AgentTree(run.spans, told.agent)
    tools = ToolCalls(run.spans, tree)
    said = list(tools.of_spans())
    turns = turns_of(run.spans, tree)
    for turn in turns:
        said += utterances_of(turn, tree, tools)
    agents = {turn.agent for turn in turns} | set(told.agents)
    return [
        replace(one, sender=one.author) if one.author in agents - {*one.receivers} else one
        for one in sorted(said, key=lambda one: one.moment)
    ]


def _say(conversation: Conversation, said: Utterance) -> None:
    def member(name: str | None) -> str:
        return USER if name is None else conversation.member(name)

    if not said.text.strip():
        return
    if said.kind == "call":
        receivers = [conversation.tool(name or "") for name in said.receivers]
    else:
        receivers = [member(name) for name in said.receivers]
    is_result = said.kind == "result"
    sender = conversation.tool(said.sender or "") if is_result else member(said.sender)
    conversation.say(sender, receivers, said.text, said.kind)


def _model(run: Run) -> str | None:
    """The model of every call, None where they differ or none is told."""
    models = {
        model
        for span in run.spans
        for model in (span.text(names.GEN_AI_MODEL) or span.text(names.LLM_MODEL),)
        if model is not None
    }
    return models.pop() if len(models) == 1 else None
