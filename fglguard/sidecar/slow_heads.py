"""Connections that send no request within a bounded time are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol(seconds: float) -> type[H11Protocol]:
    """HTTP/1.1 where a request's head must be whole so soon after a connection, or an answer.

    uvicorn by itself waits without a bound for a head of which a part has come, or nothing yet.
    """

    class Bounded(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._stop()
            # A pipelined request may be on its way already.
            if self.cycle is None or self.cycle.response_complete:
                self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _expect(self) -> None:
            self._deadline = self.loop.call_later(seconds, self._late)

        def _stop(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _late(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return Bounded
