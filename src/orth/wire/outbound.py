"""Where a process may connect to when somebody else has said where.

Executors register their addresses and people write down receivers of alarms. Whoever does could make a coordinator
call the address at which a cloud hands out credentials, or its own machine. So an address is judged when the connection
is made: the name is resolved once, every address it has is looked at, and the connection goes to one that was. A name
that leads elsewhere the second time gains nothing.

Names are resolved by ``orth.wire.resolver``, in threads of its own. It keeps answers, and they are judged at each use.

The ranges are written down here: what the standard library calls private or reserved differs between its versions.
``orth.wire.guarded`` puts this in front of aiohttp.
"""

import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from orth.wire.resolver import Resolver, is_localhost, system_resolver

Network = IPv4Network | IPv6Network
Ip = IPv4Address | IPv6Address


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


_NO_MACHINE = _networks("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/128", "ff00::/8")
NEVER: tuple[tuple[str, tuple[Network, ...]], ...] = (
    ("no single machine", _NO_MACHINE),
    ("link-local", _networks("169.254.0.0/16", "fe80::/10")),
    (
        "where clouds keep credentials",  # outside of the link-local ranges
        _networks("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
    ),
)
"""What nothing ever connects to, and what it is."""
LOOPBACK = _networks("127.0.0.0/8", "::1/128")
_TEREDO = IPv6Network("2001::/32")
_LAST_32_BITS = tuple(IPv6Network(one) for one in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
"""Ranges whose addresses are IPv4 addresses in another dress: compatible, mapped, translated by SIIT and NAT64."""
_SIX_TO_FOUR = IPv6Network("2002::/16")
_LOCALLY_TRANSLATED = IPv6Network("64:ff9b:1::/48")
"""For NAT64 inside of a network, which chooses how much of it is the prefix (RFC 8215)."""
_ISATAP = (0x00005EFE, 0x02005EFE)
"""What an interface identifier of ISATAP begins with, in whatever network (RFC 5214)."""


class AddressRefused(OSError):
    """An address that may not be connected to."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.strerror = sentence


class Resolved(NamedTuple):
    """An address that was judged."""

    family: int
    ip: str
    port: int


@dataclass(frozen=True, slots=True)
class Outbound:
    """What may be connected to. ``allow`` are the only networks, if there are any; ``deny`` comes before it."""

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()
    loopback: bool = True
    loopback_setting: str = "security.outbound_loopback"
    """What people would set to allow it."""
    allow_setting: str = "security.outbound_allow"
    """Where ``allow`` is set."""
    resolver: Resolver = field(default_factory=system_resolver, repr=False, compare=False)

    def refusal(self, text: str) -> str | None:
        """Why this IP address may not be connected to; None when it may."""
        ip = plain_ip(text)
        if ip is None:
            return f"{text[:64]} is no address"
        meant = (ip, *_perhaps_meant(ip))
        for what, networks in NEVER:
            if _any_within(meant, networks):
                return f"{text} is {what}"
        if _any_within(meant, self.deny):
            return f"{text} is in security.outbound_deny"
        if _any_within(meant, LOOPBACK) and not self.loopback:
            return f"{text} is this machine itself (set {self.loopback_setting} = true if that is meant)"
        if self.allow and not _within(ip, self.allow):
            return f"{text} is not in {self.allow_setting}"
        return None

    def check(self, text: str) -> None:
        """``AddressRefused`` for an IP address that may not be connected to."""
        why = self.refusal(text)
        if why is not None:
            raise AddressRefused(f"{why}, and may not be connected to")

    def check_host(self, host: str) -> None:
        """The same for a host that may be a name: those are judged when they are resolved, but for the one that means
        this machine everywhere.
        """
        if plain_ip(host) is not None:
            self.check(host.strip("[]"))
        elif is_localhost(host):
            self.check("127.0.0.1")

    def check_all(self, found: Iterable[str]) -> None:
        """Of a name with several addresses each must be good: which of them is used is nobody's choice."""
        for text in found:
            self.check(text)

    async def resolve(self, host: str, port: int) -> list[Resolved]:
        """The addresses of ``host``, all of them judged, in the order in which to try them."""
        found = await self.resolver.resolve(host)
        if is_localhost(host):  # both addresses are this machine, and a network of the settings may be of one family
            found = tuple(one for one in found if self.refusal(one.ip) is None) or found
        self.check_all(one.ip for one in found)
        return [Resolved(one.family, one.ip, port) for one in found]


def connect_first(found: Iterable[Resolved], timeout: float) -> socket.socket:
    """A connection to the first of the addresses that answers, for code that waits in a thread of its own."""
    failure: OSError = OSError("it has no address")
    for family, ip, port in found:
        try:
            line = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # this machine has no IPv6, or may open no more files
            failure = error
            continue
        try:
            line.settimeout(timeout)
            line.connect((ip, port))
        except OSError as error:
            line.close()
            failure = error
        else:
            return line
    raise failure


def plain_ip(text: str) -> Ip | None:
    """The address that ``text`` spells, IPv4 where it is one in the dress of IPv6; None when it spells none."""
    try:
        ip = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if isinstance(ip, IPv4Address):
        return ip
    if int(ip) > 1 and any(ip in network for network in _LAST_32_BITS):  # :: and ::1 are themselves
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _SIX_TO_FOUR:
        return IPv4Address(int(ip) >> 80 & 0xFFFFFFFF)
    if ip in _TEREDO:
        return IPv4Address(~int(ip) & 0xFFFFFFFF)
    return ip


def _perhaps_meant(ip: Ip) -> list[IPv4Address]:
    """IPv4 addresses to which this one leads in some networks: which, only they know, so it must not lead to a bad one
    in any. A reading that is no machine's address is none.
    """
    number, found = int(ip), list[int]()
    if ip.version == 6 and ip in _LOCALLY_TRANSLATED:
        # The prefix may have 48, 56, 64 or 96 bits, and bits 64 to 71 are left out (RFC 6052).
        found.append((number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF)
        found.append((number >> 64 & 0xFF) << 24 | number >> 32 & 0xFFFFFF)
        found += [number >> 24 & 0xFFFFFFFF, number & 0xFFFFFFFF]
    elif ip.version == 6 and number >> 32 & 0xFFFFFFFF in _ISATAP:
        found.append(number & 0xFFFFFFFF)
    return [one for one in map(IPv4Address, found) if not _within(one, _NO_MACHINE)]


def _any_within(meant: Iterable[Ip], networks: Iterable[Network]) -> bool:
    return any(_within(ip, networks) for ip in meant)


def _within(ip: Ip, networks: Iterable[Network]) -> bool:
    return any(ip.version == network.version and ip in network for network in networks)
