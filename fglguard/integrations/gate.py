"""What stands between a framework and a guard: nothing goes out that was not asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from fglguard.errors import EpisodeError, ReusedIdError
from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.integrations.rewriting import Rewriter
from fglguard.live.episodes import Begins
from fglguard.live.intervention import Outcome, settled
from fglguard.verdict import Verdict

OnVerdict = Callable[[Verdict], None]

CALL_REFUSED = "This call was not made: it did not pass this system's safety check."
"""What an agent reads in the place of a tool's result."""

WITHHELD = "This was withheld: it could not be taken into this system's safety check."
"""What stands in an episode, or is read, in the place of what could not be taken in."""


class Gate:
    """Takes what was said into an episode, then asks about what is about to be said.

    What can't be taken in, such as a tool result that is too long, is not left out in silence: all
    that would come after it becomes an error, and the guard's `on_error` decides.

    Args:
        guard: The guard.
        on_verdict: Told of every verdict, for a log or a count. What it raises stops the run.
        whole: What came before an event is always told whole, from the conversation's first
            message on. One that the guard has lost then begins anew by itself, and a message that
            was changed under its id counts as said in both forms.
    """

    def __init__(
        self, guard: Guard, on_verdict: OnVerdict | None = None, *, whole: bool = False
    ) -> None:
        self.guard = guard
        self._on_verdict = on_verdict
        self._whole = whole

    def observe(self, said: Iterable[Event]) -> Exception | None:
        """Take in what was said; returns the error of the first event that can't be."""
        begins: Begins = "anew" if self._whole else "once"
        try:
            for event in said:
                runs = begins == "anew" and event.episode in self.guard.episodes
                self._observe(event, "once" if runs else begins)
                begins = "once"
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes the next verdict
            return error
        return None

    def _observe(self, event: Event, begins: Begins) -> None:
        try:
            self.guard.observe(event, begins=begins)
        except ReusedIdError as error:
            if not self._whole:
                raise
            changed = replace(event, id=f"{event.id}:{event.content_hash[:16]}")
            self.guard.observe(changed, instead_of=error.gap)

    async def aobserve(self, said: Iterable[Event]) -> Exception | None:
        """`observe`, without holding up the event loop."""
        return await asyncio.to_thread(self.observe, said)

    async def awithheld(self, event: Event, error: Exception) -> None:
        """Close the gap of what could not be taken in and was then withheld from everybody.

        Args:
            event: What was withheld.
            error: What taking it in raised.
        """
        gap = error.gap if isinstance(error, EpisodeError) else None
        if gap is not None:
            stand_in = replace(event, text=WITHHELD, id=f"{gap}:withheld")
            await self.guard.aobserve(stand_in, instead_of=gap)

    def check(self, said: Iterable[Event], event: Event) -> Verdict:
        """The verdict on a tool call, or on an answer that is not rewritten.

        Args:
            said: What came before it; what was taken in already is not taken in twice.
            event: What is about to be said.
        """
        error = self.observe(said)
        return self.failure(event, error) if error else self._told(self.guard.check(event))

    async def acheck(self, said: Iterable[Event], event: Event) -> Verdict:
        """`check`, without holding up the event loop."""
        error = await self.aobserve(said)
        return self.failure(event, error) if error else self._told(await self.guard.acheck(event))

    def answer(self, said: Iterable[Event], event: Event, rewriter: Rewriter | None) -> Outcome:
        """What may go out in the place of an answer, after one rewrite at most."""
        error = self.observe(said)
        if error is not None:
            outcome = self._failed(event, error)
        else:
            outcome = self.guard.answer(event, rewriter)
        return self._settled(outcome)

    async def aanswer(
        self, said: Iterable[Event], event: Event, rewriter: Rewriter | None
    ) -> Outcome:
        """`answer`, without holding up the event loop."""
        error = await self.aobserve(said)
        if error is not None:
            outcome = self._failed(event, error)
        else:
            outcome = await self.guard.aanswer(event, rewriter.ask if rewriter else None)
        return self._settled(outcome)

    def failure(self, event: Event, error: Exception) -> Verdict:
        """The verdict on what can't be checked, or can't be taken in."""
        return self._told(self.guard.failure(event, error))

    def _failed(self, event: Event, error: Exception) -> Outcome:
        verdict = self.guard.failure(event, error)
        return settled(event, (verdict,), self.guard.policy.safe_message)

    def _settled(self, outcome: Outcome) -> Outcome:
        for verdict in outcome.verdicts:
            self._told(verdict)
        return outcome

    def _told(self, verdict: Verdict) -> Verdict:
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        return verdict
