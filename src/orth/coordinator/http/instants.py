"""Instants as callers write them."""

from datetime import UTC, datetime

from orth.errors import Invalid, OrthError
from orth.settings import parse_duration


def instant(text: str, now: int, field: str) -> int:
    """Epoch milliseconds of an RFC 3339 instant, or of ``now`` less an age such as ``2h``."""
    try:
        return now - int(parse_duration(text).total_seconds() * 1000)
    except (OrthError, ValueError):
        pass
    try:
        # In a query string a plus sign arrives as a space.
        moment = datetime.fromisoformat(text.replace(" ", "+"))
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{text!r} is not an instant.", hint="Write 2026-01-30T10:00:00Z, or an age such as 2h.", field=field
        ) from None
