"""Runs: the spans of each conversation, session or trace, from all files together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fglguard.corpora.otlp.spans import Key, Span, Unreadable
from fglguard.episode import Problem
from fglguard.errors import shown
from fglguard.traces import conventions as names

RunKey = tuple[str, str]
"""What a run is known by (conversation, session or trace), and its id."""


@dataclass(slots=True)
class Run:
    """What becomes one episode.

    Attributes:
        key: What it is known by.
        spans: Its spans, in order of time.
        faults: Why it can't be read.
    """

    key: RunKey
    spans: list[Span] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)


def runs_of(found: Iterable[Span | Unreadable]) -> list[Run]:
    """Spans in any order, some of them perhaps twice, as runs in order of their first moment."""
    spans: dict[Key, Span] = {}
    faults: dict[str, list[Problem]] = {}
    runs: dict[RunKey, Run] = {}
    for one in found:
        if isinstance(one, Unreadable):
            problem = Problem(one.where, one.message)
            trace = one.trace if one.trace is not None else f"{one.where}: {one.message}"
            faults.setdefault(trace, []).append(problem)
        elif spans.setdefault(one.key, one) != one:
            faults.setdefault(one.trace, []).append(_twice(one, spans[one.key]))
    traces: dict[str, list[Span]] = {trace: [] for trace in faults}
    for span in spans.values():
        traces.setdefault(span.trace, []).append(span)
    for trace, members in traces.items():
        keys = _keys(members) or [("trace", trace)]
        problems = faults.get(trace, [])
        if len(keys) > 1:
            problems = [*problems, _ambiguous(members[0], keys)]
        for key in keys:
            run = runs.setdefault(key, Run(key))
            run.spans += members
            run.faults += problems
    for run in runs.values():
        run.spans.sort(key=lambda span: (span.start, -span.end, span.trace, span.id))
    return sorted(runs.values(), key=lambda run: (run.spans[0].start if run.spans else 0, run.key))


def _keys(spans: list[Span]) -> list[RunKey]:
    """Conversations of a trace, or where none is named, sessions."""
    for kind, name in (("conversation", names.GEN_AI_CONVERSATION), ("session", names.SESSION)):
        known = {
            value
            for span in spans
            for value in (span.attributes.get(name, span.resource.get(name)),)
            if isinstance(value, str) and value.strip()
        }
        if known:
            return [(kind, value) for value in sorted(known)]
    return []


def _twice(span: Span, first: Span) -> Problem:
    return Problem(
        span.where,
        f"spanId: expected one span of this id, {first.source} holds another with other contents",
    )


def _ambiguous(span: Span, keys: list[RunKey]) -> Problem:
    return Problem(
        f"{span.source}: trace {shown(span.trace)}",
        f"expected one {keys[0][0]} in a trace, got {', '.join(shown(name) for _, name in keys)}",
    )
