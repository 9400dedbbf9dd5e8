"""Under which names a coordinator answers.

A page on a name of its owner's choice can let that name lead to an address inside, such as 127.0.0.1, and then talks to
what answers there as to its own site. It cannot keep the browser from telling the name it asked for. So a request that
names a host we do not know is refused, with 421. An address is no such name. Whoever shows a credential in a header is
not asked: a page that came this way has none, and executors reach us by whatever their network calls us. Health tells
nothing.
"""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from orth.coordinator.http.problems import problem
from orth.settings import Settings
from orth.wire.dialects import TOKEN_HEADERS

_CREDENTIALS = frozenset(name.lower().encode() for name in ("Authorization", *TOKEN_HEADERS))
_HEALTH = ("/health/live", "/health/ready")


class KnownHosts:
    """Refuses requests that name a host which is none of ours."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = own_names(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._lets_in(scope):
            await self._app(scope, receive, send)
            return
        answer = problem(
            421,
            "misdirected",
            "This coordinator is not known by that name.",
            hint="Add the name to security.allowed_hosts, or set console.base_url.",
        )
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(answer)
        else:
            await answer(scope, receive, send)

    def _lets_in(self, scope: Scope) -> bool:
        if scope["path"] in _HEALTH or any(name in _CREDENTIALS and value for name, value in scope["headers"]):
            return True
        named = [value for name, value in scope["headers"] if name == b"host"]
        return len(named) == 1 and is_known(named[0].decode("latin-1"), self._names)


def own_names(settings: Settings) -> frozenset[str]:
    """The names this coordinator has been told it has."""
    urls = (settings.console.base_url, settings.coordinator.url)
    hosts = [urlsplit(url).hostname for url in urls if url is not None]
    names = [*hosts, settings.coordinator.listen.host, *settings.security.allowed_hosts]
    if settings.coordinator.listen.is_every_interface:
        names.append(socket.gethostname())  # which it tells others to reach it by
    return frozenset(name.lower().rstrip(".") for name in names if name)


def is_known(host: str, names: frozenset[str]) -> bool:
    """Whether a ``Host`` header names us: by address, by a name of this machine alone, or by one of ``names``."""
    try:
        bare = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if bare == "localhost" or bare.endswith(".localhost") or bare in names:
        return True
    try:
        ip_address(bare.partition("%")[0])
    except ValueError:
        return False
    return True
