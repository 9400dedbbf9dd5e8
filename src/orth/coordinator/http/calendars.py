"""Calendars jobs may name: days on which fires are skipped."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from orth.coordinator.http.auth import ToolsHere
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.domain.calendars import Calendar
from orth.store.calendars import create_calendar, list_calendars

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


@router.get("/calendars")
async def calendars(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[CalendarShown]:
    rows = await tools.db.read(list_calendars, position(cursor) or 0, limit + 1)
    return Page[CalendarShown].model_validate(page(rows, limit, lambda row: row[0], _calendar_shown))


@router.post("/calendars", status_code=201)
async def add_calendar(body: CalendarBody, tools: ToolsHere) -> CalendarShown:
    calendar = Calendar.parse(body.definition)
    calendar_id = await tools.db.tx(create_calendar, body.name, calendar, tools.clock.now())
    return CalendarShown(id=calendar_id, name=body.name, definition=calendar.to_dict())


def _calendar_shown(row: tuple[int, str, Calendar]) -> dict[str, Any]:
    calendar_id, name, calendar = row
    return {"id": calendar_id, "name": name, "definition": calendar.to_dict()}
