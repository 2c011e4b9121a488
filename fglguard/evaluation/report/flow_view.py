"""Values that came in by something untrusted and left by an agent's call, for a person to read."""

from dataclasses import dataclass

from fglguard.episode import Episode
from fglguard.flow.calls import Lookup, message_flows
from fglguard.flow.taint import Taint, most_suspicious


@dataclass(frozen=True)
class TaintView:
    """One value that no user gave.

    Attributes:
        value: The value, lower case.
        sender: Whose call it left by.
        kind: `call`, or `say` where the episode has no calls.
        round: Of that call.
        likeness: How much the span sounds like an instruction; the provenance feature.
        path: Ids of whom it passed through: the span's sender, agents between, and `sender`.
        before: The span it came in by, up to the value.
        marked: The value as it stands in the span.
        after: The rest of the span.
    """

    value: str
    sender: str
    kind: str
    round: int
    likeness: float
    path: tuple[str, ...]
    before: str
    marked: str
    after: str


@dataclass(frozen=True)
class FlowView:
    """The values that flowed through an episode.

    Attributes:
        calls: Whether they are those of calls; of all agents' messages where there is no call.
        values: Tainted values, each counted in every message it left by.
        messages: Messages with such a value.
        relayed: Values that passed through several agents.
        shown: The most instruction-like; None where text stays out.
    """

    calls: bool
    values: int
    messages: int
    relayed: int
    shown: tuple[TaintView, ...] | None


def view_flow(episode: Episode, lookup: Lookup) -> FlowView:
    """What flowed into an episode's calls; into all agents' messages where there is no call.

    Args:
        episode: The episode.
        lookup: Embeddings of its messages and of `flow_texts`.
    """
    flows = message_flows(episode, lookup(episode.texts), lookup)
    calls = [flow for flow in flows if flow.call]
    taints = [taint for flow in calls or flows for taint in flow.taints]
    kinds = episode.kinds
    return FlowView(
        calls=bool(calls),
        values=len(taints),
        messages=len({taint.message for taint in taints}),
        relayed=sum(sum(kinds[one] == "agent" for one in taint.path) > 1 for taint in taints),
        shown=tuple(_view(episode, taint) for taint in most_suspicious(taints)),
    )


def _view(episode: Episode, taint: Taint) -> TaintView:
    message = episode.messages[taint.message]
    before, marked, after = _around(taint.span, taint.value)
    return TaintView(
        value=taint.value,
        sender=message.sender,
        kind=message.kind,
        round=message.round,
        likeness=taint.likeness,
        path=taint.path,
        before=before,
        marked=marked,
        after=after,
    )


def _around(span: str, value: str) -> tuple[str, str, str]:
    lower = span.lower()
    if len(lower) != len(span):  # a few letters have lower cases of two: places would be off
        return span, "", ""
    start = lower.find(value)
    if start < 0:  # spelled otherwise there
        return span, "", ""
    end = start + len(value)
    return span[:start], span[start:end], span[end:]
