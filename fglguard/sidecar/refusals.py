"""Refused requests: counted, and not forgotten where they would have told what was said."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.types import Scope

from fglguard.sidecar.problems import Problem, code_of
from fglguard.sidecar.service import Service

_SAID = re.compile(r"(?s)/v1/episodes/(.+)/messages\n?")
"""Of paths, as the router finds an episode's id in them."""
_READ = frozenset({400, 408, 409, 413, 415, 422, 500})
"""Statuses of requests that would be refused again. Others say that it is to be sent again."""
BROKEN = "broken"
"""Code of a request whose connection ended: whoever sent it knows, and sends it again."""


class Refusals:
    """What the sidecar does of every request that it refuses.

    Args:
        service: Its counts and episodes.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def tell(self, scope: Scope, problem: HTTPException) -> HTTPException:
        """Count a refusal, and leave a gap where its request would have told what was said.

        Whoever has a tool return a page that is too long, or gives it a name that breaks a rule,
        must not choose thereby what the guard gets to see.

        Returns:
            What the request is answered with: the problem, with the gap's name.
        """
        code = code_of(problem)
        self._service.metrics.refused(code)
        said = _SAID.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        left = isinstance(problem, Problem) and problem.gap is not None
        if said is None or left or problem.status_code not in _READ or code == BROKEN:
            return problem
        gap = await self._service.leave_gap(said[1], f"a request was refused: {code}")
        taken = problem.taken if isinstance(problem, Problem) else None
        return Problem(problem.status_code, code, str(problem.detail), problem.headers, taken, gap)
