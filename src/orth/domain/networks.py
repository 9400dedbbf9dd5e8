"""Which addresses are one caller's, as far as an address can tell, and which are in a network. Pure."""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address, ip_network

_ONE_CALLERS = 64
"""Bits of an IPv6 address that say whose it is; the rest anybody chooses for themselves."""

_SITE = {4: 24, 6: 48}
"""Bits of an address that say which network it is in."""


def network_of(address: str) -> str:
    """The address or, of IPv6, the network that one caller has to himself; what is no address stays as it is."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, _ONE_CALLERS), strict=False))
    return str(found)


def site_of(address: str) -> str:
    """The network of a customer or a provider's client, who may have very many addresses: /24 of IPv4, /48 of IPv6."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    return str(ip_network((found, _SITE[found.version]), strict=False))


def checked_network(text: str) -> str:
    """``text`` as a network in its usual spelling; ``ValueError`` when it is none, or has bits beyond its prefix."""
    return str(ip_network(text.strip()))


def is_within(address: str, networks: Iterable[str]) -> bool:
    """Whether an address is in one of ``networks``. A text that is no address is in none."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    return any(found in ip_network(one) for one in networks)
