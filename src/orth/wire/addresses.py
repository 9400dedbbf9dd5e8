"""The addresses of peers: which texts are one, and their one spelling."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated

from pydantic import AfterValidator

from orth.domain.nodes import normal_address
from orth.errors import Invalid, quotable
from orth.wire.fields import ADDRESS_LIMIT

_ADDRESS = re.compile(
    r"https?://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?(?P<path>(?:/[a-z0-9._~!$&'()*+,;=:%-]*)*)",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_ADDRESS_SHOWN = 100


def checked_address(text: str) -> str:
    """``text`` as the base URL of a peer, in its normal spelling; ``Invalid`` when it cannot be one.

    A registered address is one this process will connect to, so it is matched as a whole against what an address may
    be: no credentials, no query, no character that a URL parser or a header could read differently.
    """
    if len(text) > ADDRESS_LIMIT:
        raise _bad_address("address_too_long", text, limit=ADDRESS_LIMIT)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise _bad_address("address_not_base_url", text)
    if match["port"] is not None and not 1 <= int(match["port"]) <= 65_535:
        raise _bad_address("address_port", text)
    if ".." in match["path"].split("/"):
        raise _bad_address("address_climbs", text)
    _check_host(match["host"], text)
    return normal_address(text)


def _check_host(host: str, text: str) -> None:
    # Resolvers read 0x7f.1 and 2130706433 as addresses: whatever ends in a number must be one, written out.
    if host.startswith("[") or _NUMERIC.fullmatch(host.rsplit(".", 1)[-1]):
        try:
            ip = ip_address(host.strip("[]"))
        except ValueError:
            raise _bad_address("address_not_an_ip", text) from None
        _check_ip(ip, text)
    elif any(not 1 <= len(label) <= 63 or label.startswith("-") or label.endswith("-") for label in host.split(".")):
        raise _bad_address("address_not_a_name", text)


def _check_ip(ip: IPv4Address | IPv6Address, text: str) -> None:
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    broadcast = isinstance(ip, IPv4Address) and ip.is_reserved
    if ip.is_unspecified or ip.is_multicast or broadcast:
        raise _bad_address("address_of_nobody", text)


def _bad_address(code: str, text: str, **facts: int) -> Invalid:
    return Invalid.of(code, address=quotable(text, _ADDRESS_SHOWN), **facts, field="registryValue")


Address = Annotated[str, AfterValidator(checked_address)]
