"""Addresses that services give us to connect to.

What an address spells out is judged when it is given, so that people learn at once; what its name leads to is judged
again at every connection (``orth.wire.outbound``). The name of an executor that is new here is looked up once before,
for a second at most.
"""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from orth.coordinator.outgoing import executors_outbound
from orth.errors import Invalid
from orth.settings import Settings
from orth.wire.outbound import AddressRefused

_LOOK_UP = 1.0
_PORTS = {"http": 80, "https": 443}


class NeverCalled(Invalid):
    """An address that would never be connected to."""


def check_address(settings: Settings, address: str, field: str) -> None:
    """Refuse an address that would never be connected to."""
    try:
        executors_outbound(settings).check_host(urlsplit(address).hostname or "")
    except AddressRefused as refused:
        raise NeverCalled(f"{refused}.", field=field) from None


async def check_name(settings: Settings, address: str, field: str) -> None:
    """Refuse an address whose name leads to where nothing is connected to. One that leads nowhere now is let be."""
    parts = urlsplit(address)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_UP):
                await executors_outbound(settings).resolve(parts.hostname or "", parts.port or _PORTS[parts.scheme])
    except AddressRefused as refused:
        raise NeverCalled(f"{refused}.", field=field) from None
    except OSError:
        return
