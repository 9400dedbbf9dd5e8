"""Who calls, and how, as far as the network knows.

Anybody may write ``X-Forwarded-For``. It is read only when the caller is one of ``security.trusted_proxies``, from its
end, and only as far as those proxies go.
"""

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from orth.settings import Settings

_NOBODY = ""
_SECURE = ("https", "wss")
_MOST_HOPS = 20


def client_address(connection: HTTPConnection, settings: Settings) -> str:
    """The address a request comes from: the first, from our side, that is none of our proxies."""
    here = connection.client.host if connection.client is not None else _NOBODY
    if not _is_proxy(here, settings):
        return here
    said = ",".join(connection.headers.getlist("x-forwarded-for")).split(",")
    for hop in reversed([part.strip() for part in said][-_MOST_HOPS:]):
        address = _plain(hop)
        if address is None:
            return here
        here = address
        if not _is_proxy(here, settings):
            return here
    return here


def is_secure(connection: HTTPConnection, settings: Settings) -> bool:
    """Whether the browser speaks TLS: to us, or to a proxy in front that we know of."""
    if connection.scope.get("scheme") in _SECURE:
        return True
    peer = connection.client.host if connection.client is not None else _NOBODY
    if _is_proxy(peer, settings) and connection.headers.get("x-forwarded-proto", "").strip().lower() == "https":
        return True
    console = urlsplit(settings.console.base_url or "")
    return console.scheme == "https" and console.netloc.lower() == connection.headers.get("host", "").lower()


def _is_proxy(text: str, settings: Settings) -> bool:
    networks = settings.security.trusted_proxies
    address = _plain(text) if networks else None
    return address is not None and any(ip_address(address) in network for network in networks)


def _plain(text: str) -> str | None:
    """An IP address as it is usually written, also where a port or brackets came with it."""
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
