"""How many GET requests of the admin API are answered at once.

A page of a list may have ten megabytes, several times over while it is made. So a few are made at once, few for one
caller, and the others wait for their turn: they would not be answered sooner beside each other. A turn ends when the
answer begins to be sent; what callers then do not read is bounded by ``orth.connections``. Logs have places of their
own (``orth.coordinator.logs.read_places``).
"""

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.fair_turns import FairTurns
from orth.coordinator.http.problems import problem_of
from orth.errors import OrthError

AT_ONCE = 8
OF_ONE_CALLER = 3
WAITING = 2_000
PATIENCE = 30.0
_PATHS = "/api/v1/"
_LOGS = "/log"


class Turns:
    """Middleware."""

    def __init__(
        self, app: ASGIApp, *, at_once: int = AT_ONCE, of_one_caller: int = OF_ONE_CALLER, waiting: int = WAITING
    ) -> None:
        self._app = app
        self._turns = FairTurns(at_once=at_once, of_one_caller=of_one_caller, waiting=waiting, patience=PATIENCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _is_bounded(scope["path"]):
            await self._app(scope, receive, send)
            return
        caller = _caller(scope)
        try:
            await self._turns.begin(caller)
        except OrthError as error:
            await problem_of(error)(scope, receive, send)
            return
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._turns.end(caller)

        async def send_on(message: Message) -> None:
            end()
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        finally:
            end()


def _is_bounded(path: str) -> bool:
    return path.startswith(_PATHS) and _LOGS not in path


def _caller(scope: Scope) -> str:
    """Whoever asks, as far as can be seen before anything is looked up."""
    headers = Headers(scope=scope)
    shown = headers.get("authorization") or headers.get("cookie")
    return shown or client_address(HTTPConnection(scope), scope["app"].state.tools.settings)
