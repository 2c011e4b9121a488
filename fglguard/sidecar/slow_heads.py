"""Connections whose requests do not begin within a bounded time and length are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 64 * 1024
"""Bytes of a request's head."""


def protocol(seconds: float) -> type[HttpToolsProtocol]:
    """HTTP/1.1 where a request's head must be whole so soon after a connection, or an answer.

    uvicorn by itself waits without a bound for a head of which a part has come, or nothing yet,
    and keeps all that has come of it.
    """

    class Bounded(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None
        _head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect()

        def data_received(self, data: bytes) -> None:
            before, in_body = self.cycle, self.cycle is not None and self.cycle.more_body
            super().data_received(data)
            self._head = 0 if in_body or self.cycle is not before else self._head + len(data)
            if self._head > MOST_HEAD and not self.transport.is_closing():
                self.send_400_response(f"expected a head of at most {MOST_HEAD} bytes")
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
