"""Callers of the API who may not do what they asked for: answered as any error, and told to the audit.

Who shows no good credential is a stranger there. Somebody known who asks for more than a role allows is told of by
name. Both are bounded (``Refusals``): what is asked again within a minute is one entry.

A browser whose session has ended goes on reading until somebody looks at it: that is nobody knocking, and is left out.
So is signing in, which tells of its failures itself.
"""

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import HTTPConnection

from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.cookies import session_cookie
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.tools import Tools
from orth.domain.audit import Actor, ActorKind, Deed
from orth.errors import Forbidden, OrthError, Unauthenticated

_API, _SIGNING_IN = ("/api/", "/ws"), "/api/v1/auth/"
_SAFE = ("GET", "HEAD")


def audit_refusals(app: FastAPI) -> None:
    """Let the audit hear of everybody whom a route of ``app`` refuses."""
    app.add_exception_handler(Unauthenticated, _refused)
    app.add_exception_handler(Forbidden, _refused)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OrthError)
    await tell_refused(request.app.state.tools, request, error)
    return problem_of(error)


async def tell_refused(tools: Tools, connection: HTTPConnection, error: OrthError) -> None:
    """Tell the audit, if it was for want of a credential or of a permission."""
    if not isinstance(error, Unauthenticated | Forbidden) or not _matters(tools, connection, error):
        return
    stranger = Actor(ActorKind.STRANGER, "", client_address(connection, tools.settings))
    actor = getattr(connection.state, "actor", stranger)
    method = connection.scope.get("method", "WS")
    action = "api.unauthenticated" if isinstance(error, Unauthenticated) else "api.refused"
    told = {"path": connection.scope["path"], "reason": error.message}
    await tools.refusals.note_caller(actor, Deed(action, "route", f"{method} {_route(connection)}", after=told), error)


def _matters(tools: Tools, connection: HTTPConnection, error: OrthError) -> bool:
    path = connection.scope["path"]
    if not path.startswith(_API) or path.startswith(_SIGNING_IN):
        return False
    reads = connection.scope["type"] == "websocket" or connection.scope["method"] in _SAFE
    ended = reads and session_cookie(connection, tools.settings) is not None
    return not (ended and isinstance(error, Unauthenticated))


def _route(connection: HTTPConnection) -> str:
    """The path as its route spells it, so that ids do not make entries of their own."""
    return str(getattr(connection.scope.get("route"), "path", connection.scope["path"]))
