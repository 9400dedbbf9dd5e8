"""Calendars by name and by id."""

from datetime import date

import pytest

from orth.domain.calendars import Calendar
from orth.errors import Conflict
from orth.store.calendars import calendars_by_id, create_calendar, list_calendars
from orth.store.database import Database
from tests.store.builders import NOW

WORKDAYS = Calendar(
    frozenset(range(1, 6)), frozenset({date(2027, 5, 1)}), frozenset({date(2027, 12, 24)}), "Asia/Tokyo"
)


async def test_a_calendar_comes_back_as_it_was_stored(db: Database) -> None:
    number = await db.tx(create_calendar, "Werktage 🗓", WORKDAYS, NOW)
    assert await db.read(list_calendars, 0, 10) == [(number, "Werktage 🗓", WORKDAYS)]
    assert await db.read(calendars_by_id, {number, 404}) == {number: WORKDAYS}
    assert await db.read(calendars_by_id, set()) == {}


async def test_a_name_is_taken_once_and_the_transaction_goes_on(db: Database) -> None:
    number = await db.tx(create_calendar, "work", WORKDAYS, NOW)
    with pytest.raises(Conflict, match="'work'"):
        await db.tx(create_calendar, "work", Calendar(), NOW)
    assert await db.read(calendars_by_id, {number}) == {number: WORKDAYS}


async def test_calendars_are_listed_by_id_page_by_page(db: Database) -> None:
    ids = [await db.tx(create_calendar, f"c{number}", Calendar(), NOW) for number in range(4)]
    assert [row[0] for row in await db.read(list_calendars, 0, 3)] == ids[:3]
    assert [row[0] for row in await db.read(list_calendars, ids[2], 3)] == ids[3:]


async def test_the_largest_calendar_fits(db: Database) -> None:
    largest = Calendar(dates_out=frozenset(date.fromordinal(date(2027, 1, 1).toordinal() + n) for n in range(5000)))
    number = await db.tx(create_calendar, "large", largest, NOW)
    assert (await db.read(calendars_by_id, {number}))[number] == largest
