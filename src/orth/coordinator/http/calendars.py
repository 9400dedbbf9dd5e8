"""Calendars jobs may name: days on which fires are skipped. They belong to no group: everybody may name them, and who
may edit everywhere makes them.
"""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.calendars import Calendar
from orth.store.audit import record
from orth.store.calendars import create_calendar, list_calendars
from orth.store.database import Connection

router = APIRouter(prefix="/api/v1", tags=["calendars"])


class CalendarBody(BaseModel):
    """A calendar: allowed weekdays (1 = Monday), dates added and dates taken out."""

    model_config = ConfigDict(extra="forbid")

    name: Line = Field(min_length=1, max_length=64)
    definition: dict[str, Any]


class CalendarShown(BaseModel):
    id: int
    name: str
    definition: dict[str, Any]


@router.get("/calendars", dependencies=[needs(Permission.VIEW)])
async def calendars(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[CalendarShown]:
    rows = await tools.db.read(list_calendars, position(cursor) or 0, limit + 1)
    return Page[CalendarShown].model_validate(page(rows, limit, lambda row: row[0], _calendar_shown))


@router.post("/calendars", status_code=201, dependencies=[needs(Permission.EDIT, everywhere=True)])
async def add_calendar(body: CalendarBody, tools: ToolsHere, caller: CallerHere) -> CalendarShown:
    calendar = Calendar.parse(body.definition)
    calendar_id = await tools.db.tx(_add, caller, body.name, calendar, tools.clock.now())
    return CalendarShown(id=calendar_id, name=body.name, definition=calendar.to_dict())


def _calendar_shown(row: tuple[int, str, Calendar]) -> dict[str, Any]:
    calendar_id, name, calendar = row
    return {"id": calendar_id, "name": name, "definition": calendar.to_dict()}


def _add(connection: Connection, caller: Caller, name: str, calendar: Calendar, now: int) -> int:
    calendar_id = create_calendar(connection, name, calendar, now)
    after = {"name": name, "definition": calendar.to_dict()}
    record(connection, caller.actor, Deed("calendar.create", "calendar", str(calendar_id), after=after), now)
    return calendar_id
