"""Answers that are not a success: all of one form, none of them quoting what was said."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

Refused = Callable[[Scope, HTTPException], Awaitable[HTTPException]]
"""Counts a refused request, given what it is refused by; returns what it is answered with."""
_CODES = {400: "malformed", 404: "not_found", 405: "method_not_allowed"}


class Problem(HTTPException):
    """A request that is refused.

    Attributes:
        code: For programs.
        taken: Of several events, how many were taken in.
        gap: The gap that is left in the episode.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        taken: int | None = None,
        gap: str | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.code = code
        self.taken = taken
        self.gap = gap


def as_json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response of strict JSON in ASCII, which holds any text, lone surrogates too."""
    body = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers, "application/json")


def answer(problem: HTTPException) -> Response:
    """The response that a problem is told with."""
    detail: dict[str, Any] = {"code": code_of(problem), "message": str(problem.detail)}
    detail |= {name: getattr(problem, name, None) for name in ("taken", "gap")}
    return as_json({"error": detail}, problem.status_code, problem.headers)


def install(app: FastAPI, refused: Refused) -> None:
    """Make an app answer every error in this form.

    Args:
        app: The app.
        refused: Is told of each, and of the request that it is the answer to.
    """

    async def told(request: Request, problem: HTTPException) -> Response:
        return answer(await refused(request.scope, problem))

    async def known(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        return await told(request, error)

    async def invalid(request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        return await told(request, _invalid(error))

    async def failed(request: Request, error: Exception) -> Response:
        problem = Problem(500, "internal", "an error of the sidecar; its log tells more")
        return await told(request, problem)

    app.add_exception_handler(HTTPException, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, failed)


def code_of(problem: HTTPException) -> str:
    """What a program knows it by."""
    if isinstance(problem, Problem):
        return problem.code
    return _CODES.get(problem.status_code, "http")


def _invalid(error: RequestValidationError) -> Problem:
    """What is wrong with a body, and where, without its values."""
    found = error.errors()
    first = found[0]
    if first["type"] == "json_invalid":
        place = first["loc"][-1]
        return Problem(400, "malformed", f"body: expected JSON, got none from character {place} on")
    where = ".".join(str(part)[:60] for part in first["loc"])[:300]
    more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
    return Problem(422, "invalid", f"{where}: {first['msg']}{more}")
