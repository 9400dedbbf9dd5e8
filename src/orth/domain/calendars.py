"""Calendars: days on which a job's fires are skipped.

A calendar does not move or hide fires. A fire on a day it refuses is still a fire, which planning records as skipped
with the reason given here, so that nobody wonders in January why nothing ran at Christmas.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from orth.domain.cron.days import FIRST_YEAR, LAST_YEAR, date_of
from orth.domain.cron.zones import DAY, zone_named
from orth.errors import Invalid, InvalidSchedule, quotable

EVERY_WEEKDAY = frozenset(range(1, 8))
DATES_LIMIT = 5000

_NAMES = ("", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MEMBERS = ("weekdays", "dates_in", "dates_out", "zone")


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which days are admitted: those in ``dates_in``; of the others, not those in ``dates_out``; of the rest, those
    whose ISO weekday (Monday = 1) is in ``weekdays``.

    ``zone`` is where a day begins and ends; without one, the job's zone decides.
    """

    weekdays: frozenset[int] = EVERY_WEEKDAY
    dates_in: frozenset[date] = frozenset()
    dates_out: frozenset[date] = frozenset()
    zone: str | None = None

    def __post_init__(self) -> None:
        if not self.weekdays <= EVERY_WEEKDAY:
            wrong = sorted(self.weekdays - EVERY_WEEKDAY)[0]
            raise Invalid.of("weekday_unknown", number=wrong, field="weekdays")
        if not self.weekdays and not self.dates_in:
            raise Invalid.of("calendar_empty", field="weekdays")
        if self.zone is not None:
            try:
                zone_named(self.zone)
            except InvalidSchedule as error:
                raise Invalid.like(error, field="zone") from None

    def admits(self, instant: int, zone: str = "UTC") -> bool:
        """Whether ``instant`` (UTC epoch milliseconds) falls on an admitted day; ``zone`` is the job's."""
        return self.refusal(instant, zone) is None

    def refusal(self, instant: int, zone: str = "UTC") -> str | None:
        """Why ``instant`` is not admitted, in words for the ledger; None if it is."""
        day = date_of(zone_named(self.zone or zone).local(instant // 1000) // DAY)
        if day in self.dates_in:
            return None
        if day in self.dates_out:
            return f"the calendar leaves out {day}"
        if day.isoweekday() not in self.weekdays:
            return f"the calendar leaves out {_NAMES[day.isoweekday()]}s, and {day} is one"
        return None

    @staticmethod
    def parse(raw: Mapping[str, object]) -> "Calendar":
        """A calendar from its JSON form, as ``to_dict`` makes it. Members may be left out."""
        if not isinstance(raw, Mapping):
            raise Invalid.of("calendar_not_object", names=", ".join(_MEMBERS))
        for member in raw:
            if member not in _MEMBERS:
                told = quotable(member, 40)
                raise Invalid.of("calendar_member", name=told, names=", ".join(_MEMBERS), field=str(member)[:40])
        zone = raw.get("zone")
        if zone is not None and not isinstance(zone, str):
            raise Invalid.of("calendar_zone", field="zone")
        return Calendar(_weekdays(raw.get("weekdays")), _dates(raw, "dates_in"), _dates(raw, "dates_out"), zone)

    def to_dict(self) -> dict[str, object]:
        """The JSON form, in a stable order."""
        return {
            "weekdays": sorted(self.weekdays),
            "dates_in": [day.isoformat() for day in sorted(self.dates_in)],
            "dates_out": [day.isoformat() for day in sorted(self.dates_out)],
            "zone": self.zone,
        }


def _weekdays(raw: object) -> frozenset[int]:
    if raw is None:
        return EVERY_WEEKDAY
    # JSON's true is Python's True, which is also an int.
    if not isinstance(raw, list) or any(type(member) is not int for member in raw):
        raise Invalid.of("weekdays_not_numbers", field="weekdays")
    return frozenset(raw)


def _dates(raw: Mapping[str, object], member: str) -> frozenset[date]:
    listed = raw.get(member) or []
    if not isinstance(listed, list):
        raise Invalid.of("dates_not_list", name=member, field=member)
    if len(listed) > DATES_LIMIT:
        raise Invalid.of("dates_too_many", name=member, limit=DATES_LIMIT, field=member)
    days = set()
    for text in listed:
        day = _date(text)
        if day is None:
            raise Invalid.of("not_a_date", said=quotable(text, 40), name=member, field=member)
        days.add(day)
    return frozenset(days)


def _date(text: object) -> date | None:
    if not isinstance(text, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if FIRST_YEAR <= day.year <= LAST_YEAR else None
