"""Executors as the registry knows them, and calendars jobs may name."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from orth.clock import iso
from orth.coordinator.http.auth import ToolsHere
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.domain.calendars import Calendar
from orth.domain.nodes import Liveness, liveness
from orth.store.calendars import create_calendar, list_calendars
from orth.store.registry import list_executors

router = APIRouter(prefix="/api/v1", tags=["executors"])


class ExecutorShown(BaseModel):
    app_name: str
    address: str
    state: Liveness
    last_beat: str
    incarnation: str | None
    extensions: list[str]


class ExecutorList(BaseModel):
    items: list[ExecutorShown]
    next_cursor: str | None = None


class CalendarBody(BaseModel):
    """A calendar: allowed weekdays (1 = Monday), dates added and dates taken out."""

    model_config = ConfigDict(extra="forbid")

    name: Line = Field(min_length=1, max_length=64)
    definition: dict[str, Any]


class CalendarShown(BaseModel):
    id: int
    name: str
    definition: dict[str, Any]


@router.get("/executors")
async def executors(tools: ToolsHere, app_name: Annotated[Line | None, Query(max_length=64)] = None) -> ExecutorList:
    """Every executor that beats, with what its beats say."""
    registry = tools.settings.registry
    beat, dead = (int(span.total_seconds() * 1000) for span in (registry.heartbeat, registry.dead_after))
    now = tools.clock.now()
    rows = await tools.db.read(list_executors, app_name)
    return ExecutorList(
        items=[
            ExecutorShown(
                app_name=row.app_name,
                address=row.address,
                state=liveness(now - row.last_beat, beat, dead),
                last_beat=iso(row.last_beat),
                incarnation=row.incarnation,
                extensions=sorted(row.extensions),
            )
            for row in rows
        ]
    )


@router.get("/calendars", tags=["calendars"])
async def calendars(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[CalendarShown]:
    rows = await tools.db.read(list_calendars, position(cursor) or 0, limit + 1)
    return Page[CalendarShown].model_validate(page(rows, limit, lambda row: row[0], _calendar_shown))


@router.post("/calendars", status_code=201, tags=["calendars"])
async def add_calendar(body: CalendarBody, tools: ToolsHere) -> CalendarShown:
    calendar = Calendar.parse(body.definition)
    calendar_id = await tools.db.tx(create_calendar, body.name, calendar, tools.clock.now())
    return CalendarShown(id=calendar_id, name=body.name, definition=calendar.to_dict())


def _calendar_shown(row: tuple[int, str, Calendar]) -> dict[str, Any]:
    calendar_id, name, calendar = row
    return {"id": calendar_id, "name": name, "definition": calendar.to_dict()}
