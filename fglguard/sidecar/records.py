"""What goes in and out over HTTP, as its schema says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fglguard.episode_rules import AgentKind, LabelSource, MessageKind
from fglguard.events import Event
from fglguard.verdict import Decision, Status

MOST_EVENTS = 256
"""In one request."""
MOST_EPISODES = 256
"""Likewise."""

Name = Annotated[str, Field(min_length=1, max_length=512)]


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class EventRecord(_Request):
    """What was said, or is about to be said."""

    sender: Name = Field(description="Id of who speaks.")
    text: str = Field(description="What is said; a call's tool and arguments, a result's content.")
    receivers: list[Name] = Field([], max_length=1000, description="Ids of those that hear it.")
    kind: MessageKind = "say"
    agents: dict[Name, AgentKind] = Field(
        {}, description="Kind of each id that is new to the episode."
    )
    round: int | None = Field(
        None, ge=0, description="Never falls within an episode; by default it is counted."
    )
    id: Name | None = Field(
        None, description="Yours, unique in the episode: sent twice, it is taken once."
    )
    tool: Name | None = Field(None, description="Name of the tool that a call is of.")

    def event(self, episode: str) -> Event:
        """It as an event of an episode."""
        return Event(
            episode,
            self.sender,
            self.text,
            tuple(self.receivers),
            self.kind,
            self.agents,
            self.round,
            self.id,
            self.tool,
        )


class CheckedEvent(EventRecord):
    """What is about to be said, and where."""

    episode: Name


class MessagesRequest(_Request):
    """What was said, in order."""

    events: list[EventRecord] = Field(min_length=1, max_length=MOST_EVENTS)
    begins: bool = Field(
        False,
        description="The episode begins with these: it must not run yet. Without, it must run, "
        "since what was said in one that was lost would be missing.",
    )
    instead_of: Name | None = Field(
        None,
        description="Name of a gap, from the answer to a request that was refused: the first event "
        "is what the agents read in the place of what could not be taken in.",
    )


class MessagesReply(BaseModel):
    """For each event whether it is new; false where its id was taken in before."""

    episode: str
    new: list[bool]


class CheckRequest(_Request):
    """An answer or a call that must not go out before its verdict."""

    event: CheckedEvent
    can_rewrite: bool = Field(
        False, description="The answer can be sent back once: it then gets `rewrite` before `block`"
    )


class AgentRecord(BaseModel):
    """Who speaks in a stored episode."""

    model_config = ConfigDict(strict=True)
    id: Name
    kind: AgentKind
    unsafe: bool | None = None


class MessageRecord(BaseModel):
    """A message of a stored episode."""

    model_config = ConfigDict(strict=True)
    round: int = Field(ge=0)
    sender: Name
    receivers: list[Name]
    text: str
    kind: MessageKind = "say"


class EpisodeRecord(BaseModel):
    """A stored episode, schema 1."""

    model_config = ConfigDict(strict=True)
    schema_: Literal[1] = Field(alias="schema")
    id: Name
    domain: Name
    task: Name | list[Name]
    agents: list[AgentRecord]
    messages: list[MessageRecord]
    final_agent: Name
    unsafe: bool | None = None
    label_source: LabelSource | None = None
    attributes: dict[str, str] = {}


class ScoreRequest(_Request):
    """Stored episodes, each whole."""

    episodes: list[EpisodeRecord] = Field(min_length=1, max_length=MOST_EPISODES)
    live: bool = Field(False, description="These are live traffic, and count for drift.")


class TaintRecord(BaseModel):
    """A value that came in by something untrusted and left by an agent's message."""

    value: str
    span: str
    likeness: float
    source: int
    message: int
    path: list[str]


class DriverRecord(BaseModel):
    """An edge that drove the score."""

    sender: str
    receiver: str
    change: float
    messages: list[int]


class VerdictRecord(BaseModel):
    """The guard's decision, and what it rests on."""

    episode_id: str
    decision: Decision
    status: Status
    score: float | None
    corroborated_score: float | None
    threshold: float | None = Field(description="null: nothing is blocked")
    reason: str
    model_id: str
    calibration_id: str
    latency_ms: float
    agents: dict[str, float]
    taints: list[TaintRecord]
    drivers: list[DriverRecord]
    agent: str | None
    kind: MessageKind | None
    content_hash: str | None
    enforced: bool


class ScoreReply(BaseModel):
    """One verdict an episode, in order."""

    verdicts: list[VerdictRecord]


class KnownAgent(BaseModel):
    """Somebody who has spoken or heard."""

    id: str
    kind: AgentKind


class EpisodeReply(BaseModel):
    """A running episode, without anything that was said."""

    episode: str
    messages: int
    bytes: int
    round: int
    agents: list[KnownAgent]
    model_id: str


class EndedReply(BaseModel):
    """An episode that was ended."""

    episode: str
    ended: bool


class LogState(BaseModel):
    """How the verdict log does."""

    failing: str | None
    lost: int
    required: bool


class HealthReply(BaseModel):
    """Whether checks are answered, and by what."""

    ready: bool
    status: Literal["ready", "closing", "log_failing"]
    model_id: str
    calibration_id: str
    domain: str | None
    blocks_nothing: bool
    mode: Literal["enforce", "shadow"]
    on_error: Literal["block", "allow"]
    drift_alert: bool
    log: LogState | None


class ReloadReply(BaseModel):
    """The guard that serves now."""

    model_id: str
    calibration_id: str
    number: int


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    message: str
    taken: int | None = Field(
        None, description="Of several events, how many before the one at fault were taken in."
    )
    gap: str | None = Field(
        None,
        description="What was said is missing now, and no check passes before it comes in under "
        "its id, or something else `instead_of` this.",
    )


class ErrorReply(BaseModel):
    """Any answer that is not a success."""

    error: ErrorDetail


def stored(record: EpisodeRecord) -> dict[str, Any]:
    """A stored episode's record as its reader wants it."""
    return record.model_dump(by_alias=True)
