"""Calendars that jobs may name: days on which fires are skipped."""

import json
from collections.abc import Set

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from orth.domain.calendars import Calendar
from orth.errors import Conflict, OrthError
from orth.store.engines import among, insert_returning_id
from orth.store.tables import calendars


def create_calendar(connection: Connection, name: str, calendar: Calendar, now: int) -> int:
    """Store a calendar and give its id; ``Conflict`` when the name is taken."""
    row = {"name": name, "definition": json.dumps(calendar.to_dict()), "update_time": now}
    try:
        with connection.begin_nested():
            return insert_returning_id(connection, calendars, row)
    except IntegrityError:
        raise Conflict.of("calendar_exists", name=name) from None


def list_calendars(connection: Connection, after: int, limit: int) -> list[tuple[int, str, Calendar]]:
    """Id, name and rule of calendars in order of id, those after ``after``."""
    rows = connection.execute(select(calendars).where(calendars.c.id > after).order_by(calendars.c.id).limit(limit))
    return [(row.id, row.name, Calendar.parse(json.loads(row.definition))) for row in rows]


def calendars_by_id(connection: Connection, ids: Set[int]) -> dict[int, Calendar]:
    """Those of these calendars that exist and can be read: one bad row must not keep the others from being used."""
    if not ids:
        return {}
    rows = connection.execute(select(calendars).where(among(connection, calendars.c.id, ids)))
    found = {row.id: _readable(row.definition) for row in rows}
    return {calendar_id: calendar for calendar_id, calendar in found.items() if calendar is not None}


def _readable(definition: str) -> Calendar | None:
    try:
        return Calendar.parse(json.loads(definition))
    except (OrthError, ValueError, TypeError):
        return None
