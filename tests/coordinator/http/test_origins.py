"""Of which sites pages are let in: the scheme counts as well as the name."""

from contextlib import nullcontext

import pytest
from starlette.requests import HTTPConnection

from orth.coordinator.http.origins import check_origin
from orth.errors import Forbidden
from orth.settings import Settings
from orth.settings.sections import ConsoleSection

BEHIND_TLS = Settings(console=ConsoleSection(base_url="https://orth.example.com/orth"))
IN_THE_OPEN = Settings(console=ConsoleSection(base_url="http://orth.example.com"))
LISTED = Settings(console=ConsoleSection(origins=("http://other.example:80",)))


def asked(origin: str, host: str, scheme: str = "http") -> HTTPConnection:
    headers = [(b"origin", origin.encode()), (b"host", host.encode())]
    return HTTPConnection({"type": "http", "scheme": scheme, "headers": headers, "client": ("10.0.0.7", 1)})


@pytest.mark.parametrize(
    ("settings", "scheme", "origin", "host", "allowed"),
    [
        (BEHIND_TLS, "http", "https://orth.example.com", "orth.example.com", True),
        (BEHIND_TLS, "http", "HTTPS://ORTH.example.com:443", "orth.example.com", True),
        (BEHIND_TLS, "http", "http://orth.example.com", "orth.example.com", False),
        (BEHIND_TLS, "http", "http://orth.example.com:443", "orth.example.com", False),
        (BEHIND_TLS, "http", "https://orth.example.com:444", "orth.example.com", False),
        (BEHIND_TLS, "http", "http://orth.example.com", "10.0.0.1:5080", False),
        (BEHIND_TLS, "http", "http://10.0.0.1:5080", "10.0.0.1:5080", True),
        (BEHIND_TLS, "http", "https://evil.orth.example.com", "orth.example.com", False),
        (IN_THE_OPEN, "http", "http://orth.example.com", "orth.example.com", True),
        (Settings(), "https", "https://10.0.0.1:5080", "10.0.0.1:5080", True),
        (Settings(), "https", "http://10.0.0.1:5080", "10.0.0.1:5080", False),
        (Settings(), "wss", "http://10.0.0.1:5080", "10.0.0.1:5080", False),
        (Settings(), "http", "https://10.0.0.1:5080", "10.0.0.1:5080", True),
        (LISTED, "http", "http://other.example", "10.0.0.1:5080", True),
        (LISTED, "http", "https://other.example", "10.0.0.1:5080", False),
        (Settings(), "http", "null", "", False),
        (Settings(), "http", "http://", "", False),
        (Settings(), "http", "http://a:b", "a:b", False),
    ],
)
def test_an_origin_is_a_scheme_a_name_and_a_port(
    settings: Settings, scheme: str, origin: str, host: str, allowed: bool
) -> None:
    with nullcontext() if allowed else pytest.raises(Forbidden):
        check_origin(asked(origin, host, scheme), settings)
