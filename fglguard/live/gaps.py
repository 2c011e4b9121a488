"""Gaps: what was said in a running episode and could not be taken in.

Without it nothing that follows can be judged, so that a gap must be closed, or the episode ended.
"""

from __future__ import annotations

from dataclasses import dataclass

from fglguard.errors import EpisodeError, shown

MOST_GAPS = 512
"""That are told apart in one episode; with more it can only be ended."""


@dataclass(frozen=True, slots=True)
class _Gap:
    event_id: str | None
    why: str


class Gaps:
    """An episode's gaps, by names of their own."""

    def __init__(self) -> None:
        """None yet."""
        self._open: dict[str, _Gap] = {}
        self._left = 0
        self._lost: str | None = None

    def leave(self, why: str, event_id: str | None = None) -> str:
        """The gap's name: a new one, or that of the gap that its event left before.

        Args:
            why: What is wrong, without texts.
            event_id: The gap closes by itself once the event of this id is taken in. None: it is
                closed by name alone.
        """
        for name, gap in self._open.items():
            if event_id is not None and gap.event_id == event_id:
                return name
        self._left += 1
        name = f"gap-{self._left}"
        if len(self._open) >= MOST_GAPS:
            self.give_up(f"over {MOST_GAPS} messages were not taken in, the last since {why}")
        else:
            self._open[name] = _Gap(event_id, why)
        return name

    def give_up(self, why: str) -> None:
        """From now on nothing makes the episode good."""
        self._lost = why

    def __contains__(self, name: str) -> bool:
        """Whether a gap is open."""
        return name in self._open

    def close(self, name: str) -> None:
        """Something was taken in in a gap's place."""
        del self._open[name]

    def close_of(self, event_id: str) -> None:
        """An event was taken in: the gaps that it left before are closed."""
        for name in [name for name, gap in self._open.items() if gap.event_id == event_id]:
            del self._open[name]

    def require_none(self) -> None:
        """Raise EpisodeError, which tells what is to be done, where there is a gap."""
        if self._lost is not None:
            raise EpisodeError(
                f"what was said before is not known as it should be ({self._lost}); end the episode"
            )
        if self._open:
            name, gap = next(iter(self._open.items()))
            again = f"send it again under its id {shown(gap.event_id)}, or " if gap.event_id else ""
            more = f"; and {len(self._open) - 1} more" if len(self._open) > 1 else ""
            raise EpisodeError(
                f"something that was said before could not be taken in ({gap.why}): {again}send "
                f"what stands in its place with instead_of {name!r}, or end the episode{more}"
            )
