"""Values people write in settings, and how they are read and written back: durations, addresses, URLs with passwords.

Each reader refuses with ``Invalid`` and says what would have been right; nothing is guessed, so a bare ``30`` is no
duration.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_address

from orth.errors import Invalid

HIDDEN = "********"

_UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_PART = re.compile(r"(\d+)(ms|[dhms])", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)

_URL_PASSWORD = re.compile(r"(://[^/?#@]*?:)(.*)(@)")
_QUERY_PASSWORD = re.compile(r"([?&](?:password|passwd|token)=)[^&]*", re.IGNORECASE)


def parse_duration(text: str) -> timedelta:
    """Read ``500ms``, ``30s``, ``5m``, ``1h30m``, ``10d``. A unit is always needed."""
    written = text.strip()
    if not _DURATION.fullmatch(written):
        raise Invalid(f"{text!r} is not a duration.", hint="Write a number and a unit: 500ms, 30s, 5m, 1h30m, 10d.")
    total = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(written))
    try:
        return timedelta(milliseconds=total)
    except OverflowError:
        raise Invalid(f"{text!r} is longer than any clock counts.") from None


def format_duration(span: timedelta) -> str:
    """``span`` as ``parse_duration`` reads it, to the millisecond: ``1h30m``."""
    left = span // timedelta(milliseconds=1)
    written = ""
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count:
            written += f"{count}{unit}"
    return written or "0s"


def hide_passwords(text: str) -> str:
    """``text`` with the password of a URL replaced, so that it may be shown."""
    return _QUERY_PASSWORD.sub(rf"\1{HIDDEN}", _URL_PASSWORD.sub(rf"\1{HIDDEN}\3", text))


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process listens: a host name or IP address, and a port (0: any free one)."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``host:port``; an IPv6 address stands in brackets, as in ``[::1]:5080``."""
        written = text.strip()
        host, colon, port = written.rpartition(":")
        if not colon or written.endswith("]"):
            raise Invalid(f"{text!r} names no port.", hint="Write HOST:PORT, such as 127.0.0.1:5080.")
        if not host:
            raise Invalid(
                f"{text!r} names no host.", hint=f"Write 127.0.0.1:{port}, or 0.0.0.0:{port} for every interface."
            )
        return cls(_host(host, text), _port(port, text))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            ip = ip_address(self.host)
        except ValueError:
            return False
        mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
        return (mapped or ip).is_loopback

    @property
    def is_every_interface(self) -> bool:
        """Whether it stands for all addresses of the machine, and so is none that others could call."""
        return self.host in ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(host: str, text: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise Invalid(f"{text!r} has no IPv6 address between its brackets.") from None
    if ":" in host:
        raise Invalid(f"{text!r} has too many colons.", hint="Put an IPv6 address in brackets: [::1]:5080.")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", host):
        raise Invalid(f"{text!r} has no host name or IP address before its port.", hint="Write HOST:PORT.")
    return host.lower()


def _port(port: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise Invalid(f"{text!r} has the port {port!r}.", hint="A port is a number from 0 to 65535.")
    return int(port)
