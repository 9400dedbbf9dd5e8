"""aiohttp that connects only to where it may (``orth.wire.outbound``): for whatever a coordinator calls.

Names are resolved by a resolver that refuses them when one of their addresses is refused. What is an address already is
resolved by nobody, so the socket is only made for an address that is good: that is the last moment, and nothing goes
around it.
"""

import socket
import ssl
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from orth.wire.outbound import Outbound


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses one that leads to where nothing may connect."""

    def __init__(self, outbound: Outbound) -> None:
        self._resolver = ThreadedResolver()
        self._outbound = outbound

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        self._outbound.check_all(one["host"] for one in found)
        return found

    async def close(self) -> None:
        await self._resolver.close()


def guarded_connector(outbound: Outbound, *, tls: ssl.SSLContext | None = None, **options: Any) -> aiohttp.TCPConnector:
    """A connector for these addresses only; ``options`` are aiohttp's."""

    def opened(address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _name, to = address
        outbound.check(str(to[0]))
        return socket.socket(family, kind, protocol)

    resolver = GuardedResolver(outbound)
    return aiohttp.TCPConnector(resolver=resolver, socket_factory=opened, ssl=True if tls is None else tls, **options)
