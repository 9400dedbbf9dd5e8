"""Errors as ``application/problem+json``: what is wrong, where, and what to do next. Never a stack trace or a
statement.
"""

import logging
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError, ValidationException, WebSocketRequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from orth.coordinator.field_troubles import WrongField, kind_of, sentence_of
from orth.coordinator.http.sending import Departed, answer_departed
from orth.errors import InvalidSchedule, OrthError, StoreUnavailable, TooBusy, Unauthenticated, Unavailable
from orth.sayings import SAYINGS
from orth.wire.signatures import BadSignature

log = logging.getLogger("orth.http")

MEDIA_TYPE = "application/problem+json"


class Trouble(BaseModel):
    """One thing that is wrong with a request. Schedules also say where in the text."""

    field: str
    message: str
    code: str | None = Field(None, description="What is wrong, for programs; the facts are those of its sentence.")
    facts: dict[str, str | int] | None = None
    position: int | None = None
    length: int | None = None
    text: str | None = None


class Problem(BaseModel):
    """Why a request was not carried out (RFC 9457). ``hint`` says what to do next. What people can meet has a
    ``code``, with the facts of the sentence beside it.
    """

    type: str
    title: str
    status: int
    detail: str
    hint: str | None = None
    code: str | None = None
    facts: dict[str, str | int] | None = None
    errors: list[Trouble] | None = None


DOCUMENTED: dict[int | str, dict[str, Any]] = {
    kinds: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}},
    }
    for kinds, description in {"4XX": "The request is refused.", "5XX": "It cannot be carried out now."}.items()
}
"""What every operation may answer besides what it is for."""


def problem(
    status: int,
    kind: str,
    detail: str,
    *,
    hint: str | None = None,
    errors: list[dict[str, Any]] | None = None,
    **more: object,
) -> JSONResponse:
    body: dict[str, Any] = {"type": f"urn:orth:problem:{kind}", "title": kind.replace("-", " ").capitalize()}
    body |= {"status": status, "detail": detail}
    if hint:
        body["hint"] = hint
    body |= more
    if errors:
        body["errors"] = errors
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def problem_of(error: OrthError) -> JSONResponse:
    """An expected failure as its caller sees it."""
    own = {"field": error.field, "message": error.message, **coded(error)}
    if isinstance(error, WrongField):
        own |= error.trouble
    errors: list[dict[str, Any]] | None = [own] if error.field else None
    if isinstance(error, InvalidSchedule) and error.text and errors:
        errors[0] |= {"position": error.position, "length": error.length, "text": error.text}
    answer = problem(error.status, error.kind, told(error), hint=error.hint, errors=errors, **coded(error))
    if isinstance(error, Unauthenticated):
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, BadSignature):
        answer.headers.update(error.headers)
    if isinstance(error, Unavailable | TooBusy):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def coded(error: OrthError) -> dict[str, Any]:
    """The code of ``error`` and its facts, if it has one."""
    if isinstance(error, StoreUnavailable):
        return {"code": "store_unavailable", "facts": {}}
    return {} if error.code is None else {"code": error.code, "facts": dict(error.facts)}


def told(error: OrthError) -> str:
    """What a caller may read of ``error``. A driver's words name hosts, users and tables: those stay in our log."""
    if isinstance(error, StoreUnavailable):
        log.warning("%s", error)
        return SAYINGS["store_unavailable"][0]
    return error.message


def reported(method: str, path: str, bug: Exception) -> OrthError:
    """Write ``bug`` to the log; what leads from the answer to it."""
    reference = secrets.token_hex(4)
    log.error("error %s at %s %s", reference, method, path, exc_info=bug)
    return OrthError.of("bug_here", reference=reference)


def handle_problems(app: FastAPI) -> None:
    """Let every error of ``app`` leave in this form."""
    app.add_exception_handler(OrthError, _expected)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(WebSocketRequestValidationError, _unreadable_socket)
    app.add_exception_handler(HTTPException, _by_framework)
    app.add_exception_handler(Departed, answer_departed)


class Bugs:
    """Answers what nobody expected with a problem, and keeps the connection: the next request on it may be fine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as bug:
            if scope["type"] != "http" or begun:
                raise  # half an answer cannot be mended
            await problem_of(reported(scope["method"], scope["path"], bug))(scope, receive, send)


async def _expected(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OrthError)
    return problem_of(error)


async def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _wrong(error)


async def _unreadable_socket(websocket: WebSocket, error: Exception) -> None:
    assert isinstance(error, WebSocketRequestValidationError)
    await websocket.send_denial_response(_wrong(error))


def _wrong(error: ValidationException) -> JSONResponse:
    errors = [{"field": _place(one["loc"]), "message": sentence_of(one), **kind_of(one)} for one in error.errors()[:50]]
    listed = "; ".join(f"{one['field']}: {one['message'].rstrip('.')}" for one in errors[:3])
    detail = f"The request cannot be accepted: {listed}."
    return problem(422, "invalid", detail, errors=errors, code="invalid_request", facts={})


def _place(loc: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in loc if part not in ("body", "query", "path", "header")) or "body"


async def _by_framework(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kinds = {404: "not-found", 405: "method-not-allowed", 400: "invalid"}
    answer = problem(error.status_code, kinds.get(error.status_code, "error"), str(error.detail))
    answer.headers.update(error.headers or {})
    return answer
