"""Which addresses are one caller's, as far as an address can tell. Pure."""

from ipaddress import IPv6Address, ip_address, ip_network

_ONE_CALLERS = 64
"""Bits of an IPv6 address that say whose it is; the rest anybody chooses for themselves."""


def network_of(address: str) -> str:
    """The address or, of IPv6, the network that one caller has to himself; what is no address stays as it is."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, _ONE_CALLERS), strict=False))
    return str(found)
