"""Asking a service how it is.

One GET without any credential, on a connection of its own: it is asked every few seconds at most, and a connection that
was good before says nothing about now. A redirect is not followed: the request goes only to what was registered.
"""

from ssl import SSLContext
from types import TracebackType
from typing import Protocol, Self

import aiohttp
from yarl import URL

from orth.errors import Invalid
from orth.wire.guarded import guarded_connector
from orth.wire.messages import SMALL_BODY_LIMIT, checked_address
from orth.wire.outbound import Outbound

_FAULTS = 500
"""Answers from here on say that a service is not well. Below, it is there: perhaps it has no such page."""


class HealthLink(Protocol):
    """The way to the health of services."""

    async def ask(self, url: str, path: str) -> str | None:
        """What is wrong with the service at ``url``; None when nothing is."""
        ...


class HealthCalls:
    """The same over HTTP; open it inside the event loop that uses it."""

    def __init__(
        self, *, timeout: float, connections: int, outbound: Outbound | None = None, tls: SSLContext | None = None
    ) -> None:
        self._outbound = outbound or Outbound()
        self._tls = tls
        self._timeout = timeout
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=guarded_connector(self._outbound, tls=self._tls, limit=self._connections, force_close=True),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": "orth"},
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, url: str, path: str) -> str | None:
        assert self._session is not None, "opened before it is used"
        try:
            asked = URL(checked_address(url) + path, encoded=True)
            async with self._session.get(asked, allow_redirects=False) as response:
                await response.content.read(SMALL_BODY_LIMIT)
                return f"HTTP {response.status}" if response.status >= _FAULTS else None
        except Invalid as error:
            return error.message
        except TimeoutError:
            return f"no answer within {self._timeout:g} s"
        except (aiohttp.ClientError, OSError) as error:
            return str(error) or type(error).__name__
