"""Instants as callers write and read them."""

from datetime import UTC, datetime, timedelta

from orth.clock import iso
from orth.errors import Invalid, OrthError
from orth.settings import parse_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DURATION = (
    "How long it ran, in ms: as its executor measured, or where that is not known from its start until its result "
    "arrived. Null while it is open, and where it never ran."
)
LAST_SHOWN = 253_402_300_799_000  # the last second of the year 9999


def instant(text: str, now: int, field: str) -> int:
    """Epoch milliseconds of an RFC 3339 instant, or of ``now`` less an age such as ``2h``."""
    try:
        return now - parse_duration(text) // timedelta(milliseconds=1)
    except OrthError:
        pass
    try:
        # In a query string a plus sign arrives as a space.
        moment = datetime.fromisoformat(text.replace(" ", "+"))
        return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise Invalid.of("not_an_instant", said=text, field=field) from None


def shown_instant(moment: int | None) -> str | None:
    """``moment`` for reading. An executor's clock may say anything: what no calendar has is shown as not known."""
    return iso(moment) if moment is not None and 0 <= moment <= LAST_SHOWN else None
