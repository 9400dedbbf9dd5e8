"""Who calls: believed from proxies that are trusted, and from nobody else."""

from typing import Any

import pytest
from starlette.requests import HTTPConnection

from orth.coordinator.http.client_addresses import client_address, is_secure
from orth.settings import Settings
from orth.settings.sections import ConsoleSection, SecuritySection

BEHIND = Settings(security=SecuritySection(trusted_proxies=("10.0.0.0/8", "fd00::/8")))


def connection(peer: str | None, scheme: str = "http", **headers: str | list[str]) -> HTTPConnection:
    listed = [
        (name.replace("_", "-").lower().encode(), one.encode("latin-1"))
        for name, value in headers.items()
        for one in ([value] if isinstance(value, str) else value)
    ]
    scope: dict[str, Any] = {"type": "http", "scheme": scheme, "headers": listed, "client": peer and (peer, 1)}
    return HTTPConnection(scope)


@pytest.mark.parametrize(
    ("peer", "said", "found"),
    [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.9.9.9", "203.0.113.9"),
        ("10.0.0.1", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("10.0.0.1", ["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "x" * 5000, "10.0.0.1"),
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("fd00::1", "198.51.100.1", "198.51.100.1"),
        (None, "198.51.100.1", ""),
        ("not an address", "198.51.100.1", "not an address"),
    ],
)
def test_the_address_is_the_first_that_is_no_proxy_of_ours(peer: str, said: str | list[str], found: str) -> None:
    assert client_address(connection(peer, X_Forwarded_For=said), BEHIND) == found


def test_nobody_is_trusted_unless_set() -> None:
    assert client_address(connection("127.0.0.1", X_Forwarded_For="198.51.100.1"), Settings()) == "127.0.0.1"
    assert not is_secure(connection("127.0.0.1", X_Forwarded_Proto="https"), Settings())


def test_tls_is_ours_the_proxys_or_the_consoles() -> None:
    console = Settings(console=ConsoleSection(base_url="https://orth.example"))
    assert is_secure(connection("203.0.113.7", "https"), Settings())
    assert is_secure(connection("203.0.113.7", "wss"), Settings())
    assert is_secure(connection("10.0.0.1", X_Forwarded_Proto="https"), BEHIND)
    assert not is_secure(connection("203.0.113.7", X_Forwarded_Proto="https"), BEHIND)
    assert is_secure(connection("203.0.113.7", Host="orth.example"), console)
    assert not is_secure(connection("203.0.113.7", Host="127.0.0.1:5080"), console)
