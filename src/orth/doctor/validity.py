"""From when until when a certificate is good: the one thing of it that Python does not tell without trusting it.

A certificate is nested records of a tag, a length and contents. The way to the two instants is fixed: certificate, its
signed part, then past version, serial number, algorithm and issuer.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

_SEQUENCE, _VERSION, _UTC_TIME, _GENERAL_TIME = 0x30, 0xA0, 0x17, 0x18


@dataclass(frozen=True, slots=True)
class Validity:
    """Both in UTC epoch milliseconds."""

    begins: int
    ends: int


class NoCertificate(ValueError):
    """These bytes are not a certificate."""


def validity(der: bytes) -> Validity:
    """When the certificate in ``der`` is good; ``NoCertificate`` if it is none."""
    try:
        signed = _contents(_contents(der, _SEQUENCE), _SEQUENCE)
        if signed[0] == _VERSION:
            signed = _after(signed)
        for _ in ("serial number", "algorithm", "issuer"):
            signed = _after(signed)
        times = _contents(signed, _SEQUENCE)
        return Validity(_instant(times), _instant(_after(times)))
    except (IndexError, ValueError):
        raise NoCertificate("it is not a certificate") from None


def _span(data: bytes) -> tuple[int, int]:
    """Where the contents of the first record begin and end."""
    length, start = data[1], 2
    if length >= 0x80:
        count = length & 0x7F
        length, start = int.from_bytes(data[2 : 2 + count]), 2 + count
    if start + length > len(data):
        raise ValueError("cut short")
    return start, start + length


def _contents(data: bytes, tag: int) -> bytes:
    if data[0] != tag:
        raise ValueError(f"tag {data[0]:#x}")
    start, end = _span(data)
    return data[start:end]


def _after(data: bytes) -> bytes:
    return data[_span(data)[1] :]


def _instant(data: bytes) -> int:
    text = data[slice(*_span(data))].decode("ascii")
    if data[0] == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    elif data[0] != _GENERAL_TIME:
        raise ValueError(f"tag {data[0]:#x}")
    return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp() * 1000)
