"""Verdicts: what a guard says of one episode."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fglguard.episode_rules import MessageKind
from fglguard.errors import SettingsError
from fglguard.flow.taint import Taint

_INFINITE = (float("inf"), float("-inf"))
Decision = Literal["allow", "rewrite", "human_review", "block"]
Status = Literal["success", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Driver:
    """An edge of the episode's graph, and what it added to the score.

    Attributes:
        sender: Id of who spoke along it.
        receiver: Id of who heard.
        change: Logit of the score with it minus without it; positive where it made the answer more
            suspect.
        messages: Numbers of the messages along it, from 0, in the order they came in.
    """

    sender: str
    receiver: str
    change: float
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The guard's decision on an answer or a tool call of one episode, and what it rests on.

    An error is neither an allow nor a violation: `status` is then `error`, there is no score, and
    `decision` is what the operator chose for that case.

    Attributes:
        episode_id: Whose verdict it is.
        decision: What to do with the answer. `rewrite` is only given to a caller that can.
        status: `success` exactly where the episode was scored; `skipped` where nothing was to be
            checked, or an allow-list let it through.
        score: Final agent's raw score s in [0, 1]; None unless scored.
        corroborated_score: s^ = max of s and the scores of those it hears; blocks at or above tau.
        threshold: tau; +inf blocks nothing.
        reason: In words, for a log or a person; never an agent's text.
        agents: Raw score of each agent in the window, by id.
        model_id: Which weights scored.
        calibration_id: Which calibration gave tau.
        latency_ms: Wall time of the batch that this episode was scored in.
        taints: Where the guard follows information flow, the most suspicious values that came in
            by something untrusted and left by an agent's message, the most instruction-like span
            first. They quote the episode.
        drivers: The edges that changed the score most, the largest change first; where the
            operator asked for them.
        agent: Whose answer or call it is; None of a whole stored episode.
        kind: `say` or `call`, likewise.
        content_hash: SHA-256 of the text, likewise.
        enforced: False in shadow mode: the decision is recorded, and nothing is held back.
    """

    episode_id: str
    decision: Decision
    status: Status
    score: float | None
    corroborated_score: float | None
    threshold: float
    reason: str
    model_id: str
    calibration_id: str
    latency_ms: float
    agents: Mapping[str, float] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    drivers: tuple[Driver, ...] = ()
    agent: str | None = None
    kind: MessageKind | None = None
    content_hash: str | None = None
    enforced: bool = True

    def __post_init__(self) -> None:
        """Raise SettingsError for a score without success, or success without one."""
        scored = self.score is not None and self.corroborated_score is not None
        if scored != (self.status == "success"):
            raise SettingsError(
                f"verdict: status {self.status!r} with score {self.score!r} does not hold together"
            )

    @property
    def blocked(self) -> bool:
        """Whether the answer must not go out."""
        return self.enforced and self.decision != "allow"

    def to_record(self) -> dict[str, Any]:
        """A record that strict JSON can hold; an infinite threshold becomes null."""
        record = _fields(self)
        record["agents"] = dict(self.agents)
        record["taints"] = [_fields(taint) for taint in self.taints]
        record["drivers"] = [_fields(driver) for driver in self.drivers]
        if self.threshold in _INFINITE:
            record["threshold"] = None
        return record


def _fields(one: Verdict | Taint | Driver) -> dict[str, Any]:
    """As `dataclasses.asdict` of a flat one, which copies every text."""
    return {name: getattr(one, name) for name in one.__slots__}
