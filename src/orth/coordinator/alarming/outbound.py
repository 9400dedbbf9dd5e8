"""Which addresses a channel may lead to.

Whoever may define a channel could otherwise make a coordinator call its own machine, or the address at which a cloud
hands out credentials. So the address is looked at when the connection is made, after the name was resolved: the address
that was judged is the one that is connected to, and a name that resolves differently the second time gains nothing.
Private networks are allowed, because that is where most receivers are.
"""

import socket
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from ssl import SSLContext, create_default_context

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from orth.errors import Unavailable

# Where clouds keep credentials outside of the link-local range.
_METADATA = frozenset({IPv4Address("100.100.100.200"), IPv4Address("192.0.0.192"), IPv6Address("fd00:ec2::254")})


class NotDelivered(Unavailable):
    """The receiver did not take a message, as far as is known. The sentence never holds the URL: it is a secret."""

    kind = "not-delivered"


class AddressRefused(OSError):
    """The name leads to where channels may not."""


def check_address(text: str, *, allow_local: bool) -> None:
    """Refuse an IP address that channels may not lead to."""
    address: IPv4Address | IPv6Address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or address
    local = address.is_loopback or address.is_link_local or address.is_unspecified or address in _METADATA
    if (local and not allow_local) or address.is_multicast:
        raise AddressRefused(f"{text} is an address that channels may not lead to (see alarms.allow_local)")


def is_literal(host: str) -> bool:
    """Whether ``host`` is an IP address already, and so is resolved by nobody."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses one with an address that channels may not lead to."""

    def __init__(self, *, allow_local: bool) -> None:
        self._resolver = ThreadedResolver()
        self._allow_local = allow_local

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            check_address(one["host"], allow_local=self._allow_local)
        return found

    async def close(self) -> None:
        await self._resolver.close()


def connect(host: str, port: int, timeout: float, *, allow_local: bool) -> socket.socket:
    """A connection to the first address of ``host`` that answers, for code that waits in a thread of its own."""
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        check_address(str(address[0]), allow_local=allow_local)
        line = socket.socket(family, kind, protocol)
        try:
            line.settimeout(timeout)
            line.connect(address)
        except OSError as error:
            line.close()
            failure = error
        else:
            return line
    raise failure


@cache  # reading them takes longer than sending a message
def trusted(ca_file: Path | None) -> SSLContext:
    """The system's certificates, and those of ``ca_file``."""
    context = create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
