"""Asking a service how it is.

One GET without any credential, on a connection of its own: it is asked every few seconds at most, and a connection that
was good before says nothing about now. A redirect is not followed: the request goes only to what was registered.
"""

from ssl import SSLContext
from typing import Protocol

import aiohttp
from yarl import URL

from orth.errors import Invalid
from orth.wire.addresses import checked_address
from orth.wire.fields import SMALL_BODY_LIMIT
from orth.wire.guarded import GuardedCalls
from orth.wire.network_reasons import network_reason
from orth.wire.outbound import AddressRefused, Outbound

_FAULTS = 500
"""Answers from here on say that a service is not well. Below, it is there: perhaps it has no such page."""


class HealthLink(Protocol):
    """The way to the health of services."""

    async def ask(self, url: str, path: str) -> str | None:
        """What is wrong with the service at ``url``; None when nothing is."""
        ...


class HealthCalls(GuardedCalls):
    """The same over HTTP; open it inside the event loop that uses it."""

    def __init__(
        self, *, timeout: float, connections: int, outbound: Outbound | None = None, tls: SSLContext | None = None
    ) -> None:
        super().__init__(outbound, tls, timeout)
        self._connections = connections

    def _open_session(self) -> aiohttp.ClientSession:
        return self._session_over(limit=self._connections, force_close=True)

    async def ask(self, url: str, path: str) -> str | None:
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
            if isinstance(getattr(error, "os_error", error), AddressRefused):
                return None  # one that is not called cannot be asked: its beats alone tell how it is
            return network_reason(error)
