"""What every request passes before anything looks at its body: keys, rates, sizes, time."""

from __future__ import annotations

import asyncio
import math

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fglguard.sidecar.keys import Keys
from fglguard.sidecar.problems import Problem, answer
from fglguard.sidecar.rates import Rates
from fglguard.sidecar.refusals import BROKEN, Refusals
from fglguard.sidecar.service import Service
from fglguard.sidecar.settings import SidecarSettings

OPEN = frozenset({"/healthz", "/openapi.json"})
"""Asked by probes and tools, which have no key; neither tells of episodes."""
ANYBODY = -1
"""Whose rate it is where there are no keys."""


class Door:
    """ASGI middleware that refuses what must not come in, and bounds what may.

    Args:
        app: What is behind it.
        service: Its settings and queue.
        refusals: Are told of what is refused.
    """

    def __init__(self, app: ASGIApp, service: Service, refusals: Refusals) -> None:
        self._app = app
        self._service = service
        self._refusals = refusals
        self._keys = Keys(service.settings.keys)
        self._rates = Rates(service.settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passing = _Passing(self._service.settings, receive, send)
        try:
            self._admit(Request(scope))
        except Problem as problem:
            refused = await self._refusals.tell(scope, problem)
            await answer(refused)(scope, receive, passing.send)
            return
        await self._app(scope, passing.receive, passing.send)

    def _admit(self, request: Request) -> None:
        """Raise Problem for a request that is refused by its head alone."""
        if request.url.path in OPEN and request.method in ("GET", "HEAD"):
            return
        if self._service.queue.closed:
            raise Problem(503, "closing", "the sidecar stops", {"Connection": "close"})
        wait = self._rates.wait(self._who(request))
        if wait:
            seconds = str(math.ceil(wait))
            raise Problem(429, "rate", "too many requests a second", {"Retry-After": seconds})
        if request.method == "POST":
            self._check_body(request)

    def _who(self, request: Request) -> int:
        if not self._keys:
            if "origin" in request.headers:
                raise Problem(403, "browser", "web pages may not use a sidecar without keys")
            return ANYBODY
        header = request.headers.get("authorization")
        number = self._keys.number(None if header is None else header.encode("latin-1"))
        if number is None:
            raise Problem(
                401,
                "unauthorised",
                "expected the header `Authorization: Bearer KEY` with one of the sidecar's keys",
                {"WWW-Authenticate": "Bearer"},
            )
        return number

    def _check_body(self, request: Request) -> None:
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._service.settings.max_body:
            raise _too_large(self._service.settings.max_body)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        empty = length in ("", "0") and "transfer-encoding" not in request.headers
        if kind != "application/json" and not (empty and not kind):
            raise Problem(415, "media_type", "expected the content type application/json")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Problem(415, "media_type", "expected a body without content encoding")


class _Passing:
    """One request's body and answer on their way through."""

    def __init__(self, settings: SidecarSettings, receive: Receive, send: Send) -> None:
        self._settings = settings
        self._receive = receive
        self._send = send
        self._size = 0
        self._until = asyncio.get_running_loop().time() + self._settings.slow_seconds
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            problem = Problem(
                408,
                "slow",
                f"the request was not there within {self._settings.slow_seconds:g} s",
                {"Connection": "close"},
            )
            raise problem from None
        if message["type"] == "http.disconnect":
            raise Problem(400, BROKEN, "the connection ended before the body did")
        self._size += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._size > self._settings.max_body:
            raise _too_large(self._settings.max_body)
        return message

    async def send(self, message: Message) -> None:
        async with asyncio.timeout(self._settings.slow_seconds):
            await self._send(message)


def _too_large(most: int) -> Problem:
    # The connection is left open: a client that is still sending would not see why it was closed.
    return Problem(413, "too_large", f"expected a body of at most {most} bytes")
