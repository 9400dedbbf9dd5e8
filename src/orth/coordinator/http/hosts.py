"""Under which names a coordinator answers.

A page on a name of its owner's choice can let that name lead to an address inside, such as 127.0.0.1, and then talks to
what answers there as to its own site. It cannot keep the browser from telling the name it asked for. So a request that
names a host we do not know is refused, with 421. An address is no such name. Health tells nothing.

Executors and programs reach us by whatever their network calls us, and show a credential in a header. Whether it is a
good one is seen later, and a page can write a header too. So under a false name only those routes answer that ask for
a credential, and cookies are not among them: signing in is for our own names.
"""

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from orth.coordinator.http.from_executors import is_executor_call
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.refused_callers import tell_misdirected
from orth.errors import OrthError
from orth.settings import Settings
from orth.wire.dialects import TOKEN_HEADERS
from orth.wire.signatures import SIGNATURE_HEADER

_CREDENTIALS = frozenset(name.lower().encode() for name in ("Authorization", SIGNATURE_HEADER, *TOKEN_HEADERS))
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?")
"""A name or an address, and perhaps a port."""
_HEALTH = ("/health/live", "/health/ready")
_ASKING = ("/api/", "/metrics", "/ws")
"""Where a credential is asked for, but for the paths that are open; everything else is the console's files."""


class Misdirected(OrthError):
    """A request for somebody else, as far as we know."""

    status = 421
    kind = "misdirected"


class KnownHosts:
    """Refuses requests that name a host which is none of ours."""

    def __init__(self, app: ASGIApp, settings: Settings, open_paths: Iterable[str]) -> None:
        self._app = app
        self._names = own_names(settings)
        self._open = [compile_path(path)[0] for path in open_paths]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_ours(scope):
            await self._app(scope, receive, send)
            return
        if self._asks_for_credential(scope):
            await self._app(_without_cookies(scope), receive, send)
            return
        await tell_misdirected(scope["app"].state.tools, HTTPConnection(scope))
        answer = problem_of(Misdirected.of("unknown_host"))
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(answer)
        else:
            await answer(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        if scope["path"] in _HEALTH:
            return True
        named = [value for name, value in scope["headers"] if name == b"host"]
        return len(named) == 1 and is_known(named[0].decode("latin-1"), self._names)

    def _asks_for_credential(self, scope: Scope) -> bool:
        """Whether one is shown in a header, and whoever answers looks whether it is good."""
        path = scope["path"]
        if not any(name in _CREDENTIALS and value for name, value in scope["headers"]):
            return False
        asked = path.startswith(_ASKING) or is_executor_call(path)
        return asked and (scope["type"] == "websocket" or not any(one.match(path) for one in self._open))


def _without_cookies(scope: Scope) -> Scope:
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"cookie"]}


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
    if not _HOST.fullmatch(host):
        return False
    try:
        bare = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if bare == "localhost" or bare.endswith(".localhost") or bare in names:
        return True
    try:
        ip_address(bare)
    except ValueError:
        return False
    return True
