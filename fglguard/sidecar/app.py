"""The sidecar's HTTP interface."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from fglguard import __version__
from fglguard.sidecar import problems
from fglguard.sidecar.door import Door
from fglguard.sidecar.problems import as_json
from fglguard.sidecar.records import (
    CheckRequest,
    EndedReply,
    EpisodeReply,
    ErrorReply,
    HealthReply,
    MessagesReply,
    MessagesRequest,
    ReloadReply,
    ScoreReply,
    ScoreRequest,
    VerdictRecord,
)
from fglguard.sidecar.refusals import Refusals
from fglguard.sidecar.service import Service

_ERRORS = {
    400: "The body is not JSON.",
    401: "No key, or a wrong one.",
    403: "A web page, and the sidecar has no keys.",
    404: "No such episode runs.",
    408: "The request came too slowly.",
    409: "It contradicts what was sent before, or what is going on.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The body breaks a rule; the message names the key.",
    429: "Too many requests, of this key or at one time; `Retry-After` says when to try again.",
    500: "An error of the sidecar. It is no verdict.",
    503: "The sidecar stops, or could not do it in time.",
}
_ALWAYS = (401, 403, 429, 500, 503)
_BODY = (400, 408, 413, 415, 422)


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {one: {"model": ErrorReply, "description": _ERRORS[one]} for one in sorted(statuses)}


# Both are async although they wait for nothing: FastAPI runs others on threads, which takes longer.
async def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


# Only for the description: the door has looked at the key before a body is read.
_bearer = HTTPBearer(auto_error=False, description="One of the keys that the sidecar was given.")


async def _described(
    _key: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> None:
    """Makes the description say that a key is wanted."""


class _Anything(StringConvertor):
    """An episode's id may hold slashes and line breaks, which other convertors stop at."""

    regex = "(?s:.*)"


register_url_convertor("anything", _Anything())

Its = Annotated[Service, Depends(_service)]
EpisodeId = Annotated[
    str, Path(min_length=1, max_length=512, description="The episode's id, yours.")
]
keyed = APIRouter(dependencies=[Depends(_described)])
free = APIRouter()


@keyed.post(
    "/v1/episodes/{episode:anything}/messages",
    response_model=MessagesReply,
    responses=_errors(*_ALWAYS, *_BODY, 404, 409),
)
async def observe(episode: EpisodeId, body: MessagesRequest, service: Its) -> Response:
    """Take in what was said, in order; an episode's first request says that it `begins`.

    An event whose id was taken in before is passed over, so that a request may be sent again.
    What is refused leaves a gap in its episode: nothing passes a check before it is closed.
    """
    events = [one.event(episode) for one in body.events]
    new = await service.observe(episode, events, body.begins, body.instead_of)
    return as_json({"episode": episode, "new": new})


@keyed.post(
    "/v1/check",
    response_model=VerdictRecord,
    responses=_errors(*_ALWAYS, *_BODY, 404),
)
async def check(body: CheckRequest, service: Its) -> Response:
    """The verdict on what is about to be said; what may go out counts as said.

    An event that can't be scored gets status `error` and the decision that the operator chose.
    """
    event = body.event.event(body.event.episode)
    verdict = await service.check(event, body.can_rewrite)
    return as_json(verdict.to_record())


@keyed.post(
    "/v1/score",
    response_model=ScoreReply,
    responses=_errors(*_ALWAYS, *_BODY),
)
async def score(body: ScoreRequest, service: Its) -> Response:
    """The verdicts on whole stored episodes."""
    verdicts = await service.score(body.episodes, body.live)
    return as_json({"verdicts": [verdict.to_record() for verdict in verdicts]})


@keyed.get(
    "/v1/episodes/{episode:anything}",
    response_model=EpisodeReply,
    responses=_errors(*_ALWAYS, 404, 422),
)
async def look(episode: EpisodeId, service: Its) -> Response:
    """What is known of a running episode, without anything that was said."""
    return _modelled(await service.look(episode))


@keyed.delete(
    "/v1/episodes/{episode:anything}",
    response_model=EndedReply,
    responses=_errors(*_ALWAYS, 404, 422),
)
async def end(episode: EpisodeId, service: Its) -> Response:
    """End a running episode: its text is forgotten, and its last score counts for drift."""
    service.end(episode)
    return as_json({"episode": episode, "ended": True})


@keyed.post(
    "/v1/admin/reload",
    response_model=ReloadReply,
    responses=_errors(*_ALWAYS, 408, 409, 413, 415),
)
async def reload(service: Its) -> Response:
    """Read the bundle's folder again, the one that the sidecar was started with."""
    return _modelled(await service.reload())


@keyed.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **_errors(*_ALWAYS),
    },
)
async def metrics(service: Its) -> Response:
    """Counts for Prometheus."""
    return Response(service.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})


@free.get(
    "/healthz",
    response_model=HealthReply,
    responses={503: {"model": HealthReply, "description": "Checks are not answered now."}},
)
async def health(service: Its) -> Response:
    """Whether checks are answered, and by which model and calibration."""
    told = service.health()
    return _modelled(told, 200 if told.ready else 503)


def make_app(service: Service) -> FastAPI:
    """The app of a service."""
    app = FastAPI(
        title="fglguard sidecar",
        version=__version__,
        description="A guard at run time: what was said is observed, what is about to be said is "
        "checked. Nothing but a verdict with decision `allow` lets an answer out.",
        docs_url=None,  # They load scripts from elsewhere.
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.include_router(keyed)
    app.include_router(free)
    refusals = Refusals(service)
    problems.install(app, refusals.tell)
    app.add_middleware(Door, service=service, refusals=refusals)
    return app


def _modelled(told: BaseModel, status: int = 200) -> Response:
    return Response(told.model_dump_json(), status, media_type="application/json")
