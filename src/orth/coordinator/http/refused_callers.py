"""Callers of the API who may not do what they asked for: answered as any error, and told to the audit.

Who shows no good credential is a stranger there. Somebody known who asks for more than a role allows is told of by
name, also where the answer is that there is no such thing (``Hidden``). That one is told of aside: nobody may see by
how long the answer takes that there was something to tell of. Lists, which leave out what is hidden, refuse nobody. All
are bounded (``Refusals``): what is asked again within a minute is one entry.

A browser whose session has ended goes on reading until somebody looks at it: that is nobody knocking, and is left out,
if its cookie was really given by us. So is a page that asks whether somebody is signed in, and shows nothing; and a
wrong password or link, for trying those is counted and told of where it happens (``told_already``).
"""

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import HTTPConnection

from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.cookies import is_given_cookie, session_cookie
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.tools import Tools
from orth.domain.audit import Actor, ActorKind, Deed
from orth.errors import Forbidden, Hidden, OrthError, Unauthenticated

_ASKING = ("/api/", "/ws", "/metrics")
_WHO_AM_I = "/api/v1/auth/session"
_NAME_LIMIT = 200
_SAFE = ("GET", "HEAD")
_HIDDEN = "It may not be seen by who asked: the answer was that it is not there."


def audit_refusals(app: FastAPI) -> None:
    """Let the audit hear of everybody whom a route of ``app`` refuses."""
    app.add_exception_handler(Unauthenticated, _refused)
    app.add_exception_handler(Forbidden, _refused)
    app.add_exception_handler(Hidden, _refused)


def told_already(request: Request) -> None:
    """The refusal that follows is counted elsewhere, and told of there."""
    request.state.refusal_told = True


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OrthError)
    await tell_refused(request.app.state.tools, request, error)
    return problem_of(error)


async def tell_refused(tools: Tools, connection: HTTPConnection, error: OrthError) -> None:
    """Tell the audit, if it was for want of a credential or of a permission."""
    if not isinstance(error, Unauthenticated | Forbidden | Hidden) or not _matters(tools, connection, error):
        return
    stranger = Actor(ActorKind.STRANGER, "", client_address(connection, tools.settings))
    actor = getattr(connection.state, "actor", stranger)
    method = connection.scope.get("method", "WS")
    action = "api.unauthenticated" if isinstance(error, Unauthenticated) else "api.refused"
    told = {"path": connection.scope["path"], "reason": _HIDDEN if isinstance(error, Hidden) else error.message}
    deed = Deed(action, "route", f"{method} {_route(connection)}", after=told)
    if isinstance(error, Hidden):
        tools.refusals.note_aside(actor, deed)
    else:
        await tools.refusals.note_caller(actor, deed, error)


def _matters(tools: Tools, connection: HTTPConnection, error: OrthError) -> bool:
    scope, path = connection.scope, connection.scope["path"]
    if not path.startswith(_ASKING) or getattr(connection.state, "refusal_told", False):
        return False
    reads = scope["type"] == "websocket" or scope["method"] in _SAFE
    if not reads or not isinstance(error, Unauthenticated) or "authorization" in connection.headers:
        return True
    if session_cookie(connection, tools.settings) is None:
        return str(path) != _WHO_AM_I
    return not is_given_cookie(connection, tools.settings, tools.signing)


async def tell_misdirected(tools: Tools, connection: HTTPConnection) -> None:
    """Somebody asked under a name that is none of ours: the same for all paths, for they are the asker's to choose."""
    host = connection.headers.get("host", "")[:_NAME_LIMIT]
    shown = {"host": "".join(one for one in host if one.isprintable()), "path": connection.scope["path"][:_NAME_LIMIT]}
    stranger = Actor(ActorKind.STRANGER, "", client_address(connection, tools.settings))
    await tools.refusals.note(stranger, Deed("api.misdirected", "host", "unknown", after=shown))


def _route(connection: HTTPConnection) -> str:
    """The path as its route spells it, so that ids do not make entries of their own."""
    return str(getattr(connection.scope.get("route"), "path", connection.scope["path"]))
