"""Whose a span is, who called it, and who waits for it: read off the spans, never guessed."""

from collections.abc import Sequence

from fglguard.corpora.otlp.spans import Key, Span
from fglguard.errors import CorpusError, shown
from fglguard.traces import conventions as names


class AgentTree:
    """The spans of one episode by parent and by graph node.

    An agent is known by its name: `gen_ai.agent.name`, else `gen_ai.agent.id`, else `agent.name`
    on a span of any kind; `graph.node.id` on spans of agents and models.
    """

    def __init__(self, spans: Sequence[Span], agent: str | None = None) -> None:
        """Args: the episode's spans, and whose are those that no agent is known of."""
        self._agent = agent
        self._spans = {span.key: span for span in spans}
        self._nodes: dict[Key, list[Span]] = {}
        for span in spans:
            node = span.text(names.NODE)
            if node is not None:
                self._nodes.setdefault((span.trace, node), []).append(span)
        self._enclosing: dict[Key, Span | None] = {}
        self._outermost: dict[Key, Span | None] = {}
        self._awaiting: dict[Key, str | None] = {}

    def named(self, span: Span) -> str | None:
        """The agent that the span itself names."""
        for name in (names.GEN_AI_AGENT_NAME, names.GEN_AI_AGENT_ID, names.AGENT_NAME):
            if span.text(name):
                return span.text(name)
        node = span.text(names.NODE) if span.operation in ("agent", "model") else None
        return node or (self._agent if span.operation == "agent" else None)

    def agent(self, span: Span) -> str:
        """The agent that acts in the span.

        Raises:
            CorpusError: None is known, or a parent is missing or ambiguous.
        """
        own = self.named(span)
        if own is not None:
            return own
        if span.operation == "agent":
            raise _nameless(span)
        if span.operation == "tool" and span.text(names.NODE_PARENT):
            return self._by_node(span)
        above = self.enclosing(span)
        known = self.named(above) if above else self._agent
        if known is None:
            raise _nameless(span)
        return known

    def enclosing(self, span: Span) -> Span | None:
        """The nearest span above that names an agent; None where there is none up to the root.

        Raises:
            CorpusError: A parent on the way is missing, or the parents form a ring.
        """
        path: list[Key] = []
        passed: set[Key] = set()
        found: Span | None = None
        here = span
        while here.key not in self._enclosing:
            path.append(here.key)
            passed.add(here.key)
            if not here.parent:
                break
            above = self._spans.get((here.trace, here.parent))
            if above is None:
                raise CorpusError(
                    f"{here.where}: parentSpanId: expected a span of the trace, "
                    f"there is no {shown(here.parent)}"
                )
            if above.key in passed:
                raise CorpusError(f"{here.where}: parentSpanId: expected a tree, got a ring")
            if self.named(above) is not None:
                found = above
                break
            here = above
        else:
            found = self._enclosing[here.key]
        self._enclosing.update(dict.fromkeys(path, found))
        return found

    def outermost(self, span: Span) -> Span | None:
        """The agent's span that the span is part of, None if no such span encloses it.

        Spans of one agent within each other are one turn of it: the outermost stands for them.
        """
        agent = self.agent(span)
        path: list[Key] = []
        found: Span | None = None
        inside = 0
        here: Span | None = span
        while here is not None and (here is span or self.named(here) == agent):
            if here.key in self._outermost:
                found = self._outermost[here.key] or found
                inside = len(path) if self._outermost[here.key] else inside
                break
            path.append(here.key)
            if here.operation == "agent":
                found, inside = here, len(path)
            here = self.enclosing(here)
        for place, key in enumerate(path):
            self._outermost[key] = found if place < inside else None
        return found

    def awaiting(self, span: Span) -> str | None:
        """The agent that the span's result goes back to: the nearest other one above, or None."""
        agent = self.agent(span)
        path: list[Key] = []
        above = self.enclosing(span)
        while above is not None and self.named(above) == agent and above.key not in self._awaiting:
            path.append(above.key)
            above = self.enclosing(above)
        found = self.named(above) if above else None
        if above is not None and found == agent:
            found = self._awaiting[above.key]
        self._awaiting.update(dict.fromkeys(path, found))
        return found

    def calling(self, span: Span) -> str | None:
        """The agent that set the span off: by graph node if it names one, else who awaits it."""
        return self._by_node(span) if span.text(names.NODE_PARENT) else self.awaiting(span)

    def _by_node(self, span: Span) -> str:
        node = span.text(names.NODE_PARENT) or ""
        known = {self.named(one) for one in self._nodes.get((span.trace, node), [])} - {None}
        agents = sorted(name for name in known if name)
        if len(agents) != 1:
            raise CorpusError(
                f"{span.where}: {names.NODE_PARENT}: expected the node of one agent, "
                f"{shown(node)} is that of {', '.join(map(shown, agents)) or 'none'}"
            )
        return agents[0]


def _nameless(span: Span) -> CorpusError:
    return CorpusError(
        f"{span.where}: agent: expected {names.GEN_AI_AGENT_NAME} or {names.AGENT_NAME} on it or "
        f"on a span above it, there is none; {names.AGENT} names the agent of such spans"
    )
