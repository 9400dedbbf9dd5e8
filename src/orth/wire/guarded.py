"""aiohttp that connects only to where it may (``orth.wire.outbound``): for whatever a coordinator calls.

Names are resolved by a resolver that refuses them when one of their addresses is refused. It is the one of
``orth.wire.resolver``, also for its cache: aiohttp has none here. What is an address already is resolved by nobody, so
the socket is only made for an address that is good: that is the last moment, and nothing goes around it.
"""

import socket
import ssl
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from orth.wire.bounded_answers import bound
from orth.wire.outbound import Outbound


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses one that leads to where nothing may connect."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002  # aiohttp asks for every family here
    ) -> list[ResolveResult]:
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=one.ip, port=one.port, family=one.family, proto=0, flags=flags)
            for one in await self._outbound.resolve(host, port)
        ]

    async def close(self) -> None:
        return


def guarded_connector(outbound: Outbound, *, tls: ssl.SSLContext | None = None, **options: Any) -> aiohttp.TCPConnector:
    """A connector for these addresses only, whose answers end (``bounded_answers``); ``options`` are aiohttp's."""

    def opened(address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _name, to = address
        outbound.check(str(to[0]))
        return socket.socket(family, kind, protocol)

    resolver = GuardedResolver(outbound)
    trust = True if tls is None else tls
    connector = aiohttp.TCPConnector(
        resolver=resolver, use_dns_cache=False, socket_factory=opened, ssl=trust, **options
    )
    bound(connector)
    return connector


class GuardedCalls:
    """Whoever calls peers through one session; open it inside the event loop that uses it."""

    def __init__(self, outbound: Outbound | None, tls: ssl.SSLContext | None, timeout: float) -> None:
        self._outbound = outbound or Outbound()
        self._tls = tls
        self._timeout = timeout
        self._opened: aiohttp.ClientSession | None = None

    def _open_session(self) -> aiohttp.ClientSession:
        """Each call on a connection of its own, unless somebody knows better."""
        return self._session_over(force_close=True)

    def _session_over(
        self, *, tracing: aiohttp.TraceConfig | None = None, headers: dict[str, str] | None = None, **connections: Any
    ) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=guarded_connector(self._outbound, tls=self._tls, **connections),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": "orth", **(headers or {})},
            auto_decompress=False,  # nothing compressed was asked for, and a small answer must not become a large one
            trust_env=False,
            trace_configs=[tracing] if tracing else None,
        )

    @property
    def _session(self) -> aiohttp.ClientSession:
        assert self._opened is not None, "opened before it is used"
        return self._opened

    async def open(self) -> None:
        self._opened = self._open_session()

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
