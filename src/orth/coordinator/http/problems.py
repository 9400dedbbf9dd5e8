"""Errors as ``application/problem+json``: what is wrong, where, and what to do next. Never a stack trace or a
statement.
"""

import logging
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from orth.errors import InvalidSchedule, OrthError, Unauthenticated, Unavailable

log = logging.getLogger("orth.http")


def problem(
    status: int, kind: str, detail: str, *, hint: str | None = None, errors: list[dict[str, Any]] | None = None
) -> JSONResponse:
    body: dict[str, Any] = {"type": f"urn:orth:problem:{kind}", "title": kind.replace("-", " ").capitalize()}
    body |= {"status": status, "detail": detail}
    if hint:
        body["hint"] = hint
    if errors:
        body["errors"] = errors
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


def handle_problems(app: FastAPI) -> None:
    """Let every error of ``app`` leave in this form."""
    app.add_exception_handler(OrthError, _expected)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _by_framework)
    app.add_exception_handler(Exception, _bug)


async def _expected(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OrthError)
    errors: list[dict[str, Any]] | None = [{"field": error.field, "message": error.message}] if error.field else None
    if isinstance(error, InvalidSchedule) and error.text and errors:
        errors[0] |= {"position": error.position, "length": error.length, "text": error.text}
    answer = problem(error.status, error.kind, error.message, hint=error.hint, errors=errors)
    if isinstance(error, Unauthenticated):
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable):
        answer.headers["Retry-After"] = "5"
    return answer


async def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    errors = [{"field": _place(one["loc"]), "message": _sentence(one)} for one in found[:50]]
    status = 400 if any(one["type"] == "json_invalid" for one in found) else 422
    listed = "; ".join(f"{one['field']}: {one['message']}" for one in errors[:3])
    return problem(status, "invalid", f"The request cannot be accepted: {listed}.", errors=errors)


def _sentence(one: dict[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "there is no such field"
    return str(one["msg"]).removeprefix("Value error, ")


def _place(loc: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in loc if part not in ("body", "query", "path", "header")) or str(loc[0])


async def _by_framework(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kinds = {404: "not-found", 405: "method-not-allowed", 400: "invalid"}
    answer = problem(error.status_code, kinds.get(error.status_code, "error"), str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def _bug(request: Request, error: Exception) -> JSONResponse:
    reference = secrets.token_hex(4)
    log.error("error %s at %s %s", reference, request.method, request.url.path, exc_info=error)
    return problem(500, "error", f"Something is wrong on our side. The log of this node has it as error {reference}.")
