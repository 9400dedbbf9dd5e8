"""How many GET requests of the admin API are answered at once.

A page of a list may have ten megabytes, several times over while it is made. So a few are made at once, few for one
caller, and the others wait for their turn: they would not be answered sooner beside each other. A turn ends when the
answer begins to be sent; what callers then do not read is bounded by ``orth.connections``. Logs have places of their
own (``orth.coordinator.logs.read_places``).
"""

import asyncio
from collections import Counter

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.problems import problem_of
from orth.errors import OrthError, TooBusy

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
        self._at_once = at_once
        self._of_one_caller = of_one_caller
        self._most_waiting = waiting
        self._running: Counter[str] = Counter()
        self._waiting: dict[asyncio.Future[None], str] = {}
        """Whose turns are waited for, the first comer first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _is_bounded(scope["path"]):
            await self._app(scope, receive, send)
            return
        caller = _caller(scope)
        try:
            await self._begin(caller)
        except OrthError as error:
            await problem_of(error)(scope, receive, send)
            return
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._end(caller)

        async def send_on(message: Message) -> None:
            end()
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        finally:
            end()

    def _is_free(self, caller: str) -> bool:
        return self._running.total() < self._at_once and self._running[caller] < self._of_one_caller

    async def _begin(self, caller: str) -> None:
        if self._is_free(caller):
            self._running[caller] += 1
            return
        if len(self._waiting) >= self._most_waiting:
            raise TooBusy.of("requests_full")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = caller
        try:
            async with asyncio.timeout(PATIENCE):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._end(caller)  # it came at the last moment
            self._waiting.pop(turn, None)
            if isinstance(error, TimeoutError):
                raise TooBusy.of("requests_full") from None
            raise

    def _end(self, caller: str) -> None:
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        for turn, whose in self._waiting.items():
            if self._is_free(whose) and not turn.done():
                del self._waiting[turn]
                self._running[whose] += 1
                turn.set_result(None)
                return


def _is_bounded(path: str) -> bool:
    return path.startswith(_PATHS) and _LOGS not in path


def _caller(scope: Scope) -> str:
    """Whoever asks, as far as can be seen before anything is looked up."""
    headers = Headers(scope=scope)
    shown = headers.get("authorization") or headers.get("cookie")
    return shown or client_address(HTTPConnection(scope), scope["app"].state.tools.settings)
