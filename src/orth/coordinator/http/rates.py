"""How often somebody may ask.

Every caller has a bucket that fills steadily; a request takes one drop, and another one for each 4 KiB of its body.
Whoever finds the bucket empty is told when to come back. Callers are known by their credential. Those without a good
one share the bucket of their address, and only pay for what turned out to be unauthenticated: whoever is let in is not
kept out by a stranger next door. Executors that proved the token of a group pay for registrations and for large
calls (``executor_rates``).
"""

import math
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from starlette.requests import HTTPConnection
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from orth.clock import Clock
from orth.connections import SCOPE_KEY
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.problems import problem_of
from orth.errors import TooBusy
from orth.sayings import SAYINGS
from orth.wire.dialects import TOKEN_HEADERS
from orth.wire.signatures import SIGNATURE_HEADER

BYTES_OF_A_DROP = 4 * 1024
"""Bytes of a body that cost as much as a request."""
_LIMIT = 20_000
"""Buckets kept; the one that was used least recently goes, and is full again when its caller comes back."""
_OPEN_TO_ALL = ("/health/", "/assets/")
"""What load balancers and monitoring ask, however often; and the files of the console, dozens for each page, which
browsers ask for without anybody looking at their cookie: people who share an address would keep each other out."""
_CREDENTIALS = frozenset(
    name.lower().encode() for name in ("Authorization", "Cookie", SIGNATURE_HEADER, *TOKEN_HEADERS)
)


class TooOften(TooBusy):
    """A caller who has to wait."""

    kind = "too-often"

    def __init__(self, seconds: float) -> None:
        self.retry_after = max(1, math.ceil(seconds))
        sentence, hint = SAYINGS["too_often"]
        super().__init__(sentence, hint=hint.format(seconds=self.retry_after))
        self.code, self.facts = "too_often", {"seconds": self.retry_after}


class Buckets:
    """One bucket for each key. ``rate`` drops flow in each second, up to ``burst``."""

    def __init__(self, rate: float, burst: float, clock: Clock) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str, cost: float = 1) -> None:
        """Take ``cost`` drops, or ``TooOften``. A full bucket pays for a body of any size, and for its request."""
        cost = min(cost, max(1, self._burst - 1))
        self.check(key, cost)
        level, now = self._level(key)
        self._keep(key, level - cost, now)

    def pay(self, key: str, cost: float) -> None:
        """Take ``cost`` drops for what was done, also those that are still to come: one full bucket of them at most."""
        level, now = self._level(key)
        self._keep(key, max(-self._burst, level - cost), now)

    def refusal(self, key: str, cost: float = 1) -> TooOften | None:
        """What to say when there are not as many drops to take."""
        wait = self._wait(key, cost)
        return TooOften(wait) if wait > 0 else None

    def check(self, key: str, cost: float = 1) -> None:
        """``TooOften`` when there are not as many drops to take."""
        wait = self._wait(key, cost)
        if wait > 0:
            # Bound to no name: a frame that names its own exception is a cycle with all frames up to the handler, and
            # keeps the bodies of refused requests until the collector looks, which it does seldom.
            raise TooOften(wait)

    def _wait(self, key: str, cost: float) -> float:
        """Seconds until there are as many drops."""
        level, _now = self._level(key)
        return (cost - level) / self._rate

    def _keep(self, key: str, level: float, now: float) -> None:
        self._levels.pop(key, None)
        self._levels[key] = (level, now)
        if len(self._levels) > _LIMIT:
            del self._levels[next(iter(self._levels))]

    def _level(self, key: str) -> tuple[float, float]:
        now = self._clock.monotonic()
        level, at = self._levels.get(key, (self._burst, now))
        return min(self._burst, level + (now - at) * self._rate), now


class StrangersLimit:
    """Middleware that bounds what is asked without a good credential, for each address."""

    def __init__(self, app: ASGIApp, open_paths: Iterable[str]) -> None:
        """``open_paths`` are those that answer anybody: there a credential makes nobody known."""
        self._app = app
        self._open = [compile_path(path)[0] for path in open_paths]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tools = scope["app"].state.tools if scope["type"] in ("http", "websocket") else None
        if tools is None or scope["path"].startswith(_OPEN_TO_ALL):
            await self._app(scope, receive, send)
            return
        address = client_address(HTTPConnection(scope), tools.settings)
        answer = _Answer(scope, receive, send, tools.strangers, address)
        if not self._may_be_known(scope) and (error := tools.strangers.refusal(address)) is not None:
            await answer.refuse(error)
            return
        await self._app(scope, receive, answer.send)

    def _may_be_known(self, scope: Scope) -> bool:
        """Whether the caller may turn out to be known, so that it has to be seen who it is."""
        is_open = scope["type"] == "http" and any(one.match(scope["path"]) for one in self._open)
        return not is_open and any(name in _CREDENTIALS for name, _value in scope["headers"])


class _Answer:
    """An answer on its way. Where it turns out that nobody knows who asked, it is paid for or replaced."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, strangers: Buckets, address: str) -> None:
        self._request = (scope, receive)
        self._send = send
        self._strangers = strangers
        self._address = address
        self._known = _Known(scope)
        self._begun = self._replaced = False

    async def send(self, message: Message) -> None:
        if not self._begun:
            self._begun = True
            error = None if self._known.yes else self._strangers.refusal(self._address)
            if error is not None:
                self._replaced = True
                await self.refuse(error)
            elif not self._known.yes:
                self._strangers.take(self._address)
        if not self._replaced:
            await self._send(message)

    async def refuse(self, error: TooOften) -> None:
        scope, receive = self._request
        if scope["type"] == "http":
            await problem_of(error)(scope, receive, self._send)
        else:
            await WebSocket(scope, receive, self._send).send_denial_response(problem_of(error))


class _Known:
    """Whether the caller of a request turned out to be known; hears it in place of whoever else wants to."""

    def __init__(self, scope: MutableMapping[str, Any]) -> None:
        self.yes = False
        self._others: Callable[[str], None] | None = scope.get(SCOPE_KEY)
        scope[SCOPE_KEY] = self._hear

    def _hear(self, owner: str) -> None:
        self.yes = True
        if self._others is not None:
            self._others(owner)
