"""Verdicts: what a guard says of one episode."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fglguard.errors import SettingsError
from fglguard.flow.taint import Taint

Decision = Literal["allow", "rewrite", "human_review", "block"]
Status = Literal["success", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The guard's decision on the final answer of one episode, and what it rests on.

    An error is neither an allow nor a violation: `status` is then `error`, there is no score, and
    `decision` is what the operator chose for that case.

    Attributes:
        episode_id: Whose verdict it is.
        decision: What to do with the answer. `Guard.score` gives `allow` or `block`.
        status: `success` exactly where the episode was scored.
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
        return self.decision != "allow"

    def to_record(self) -> dict[str, Any]:
        """A record that strict JSON can hold; an infinite threshold becomes null."""
        record = {name: getattr(self, name) for name in self.__slots__}
        record["agents"] = dict(self.agents)
        record["taints"] = [asdict(taint) for taint in self.taints]
        if self.threshold in (float("inf"), float("-inf")):
            record["threshold"] = None
        return record
