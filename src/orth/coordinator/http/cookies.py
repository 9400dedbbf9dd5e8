"""The cookie of a browser's session.

Scripts cannot read it, other sites' pages cannot make a browser send it, and it stays on this host. Over TLS its name
begins with ``__Host-``, which browsers accept only from us and for the whole host, or, where the console lies under a
path, ``__Secure-``. On a connection only the name that belongs there is read: what was set without TLS is worth nothing
with it.

It holds the id and the secret of the session, and a mark of ours. The mark opens nothing: it tells a browser whose
session has ended from somebody who made a cookie up.
"""

import hmac
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from orth.coordinator.http.client_addresses import is_secure
from orth.coordinator.signing import Signing
from orth.settings import Settings

_NAME = "orth-session"


def console_path(settings: Settings) -> str:
    """The path under which browsers find us: ``/``, unless the console's URL says otherwise."""
    return urlsplit(settings.console.base_url or "").path.rstrip("/") or "/"


def cookie_name(connection: HTTPConnection, settings: Settings) -> str:
    if not is_secure(connection, settings):
        return _NAME
    return f"__Host-{_NAME}" if console_path(settings) == "/" else f"__Secure-{_NAME}"


def session_cookie(connection: HTTPConnection, settings: Settings) -> tuple[str, str] | None:
    """Id and secret of the session a browser shows, if it shows one."""
    session_id, secret, _mark = _parts(connection, settings)
    return (session_id, secret) if session_id and secret else None


def is_given_cookie(connection: HTTPConnection, settings: Settings, signing: Signing) -> bool:
    """Whether the cookie a browser shows is one that we gave, for a session that may have ended."""
    session_id, secret, mark = _parts(connection, settings)
    return hmac.compare_digest(mark.encode(), signing.cookie_mark(session_id, secret).encode())


def _parts(connection: HTTPConnection, settings: Settings) -> tuple[str, str, str]:
    """Id, secret and mark; cookies of earlier versions have no mark."""
    session_id, _, rest = connection.cookies.get(cookie_name(connection, settings), "").partition(".")
    secret, _, mark = rest.partition(".")
    return session_id, secret, mark


def set_session_cookie(
    response: Response, connection: HTTPConnection, settings: Settings, signing: Signing, session: tuple[str, str]
) -> None:
    """Give a browser the id and the secret of its session, for as long as it is open; how long it is good the store
    knows.
    """
    session_id, secret = session
    response.set_cookie(
        cookie_name(connection, settings),
        f"{session_id}.{secret}.{signing.cookie_mark(session_id, secret)}",
        path=console_path(settings),
        secure=is_secure(connection, settings),
        httponly=True,
        samesite="strict",
    )


def drop_session_cookie(response: Response, connection: HTTPConnection, settings: Settings) -> None:
    response.delete_cookie(
        cookie_name(connection, settings),
        path=console_path(settings),
        secure=is_secure(connection, settings),
        httponly=True,
        samesite="strict",
    )
