"""Schedules that nobody has saved yet: what they would do, for a form that shows it while somebody types."""

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from orth.coordinator.defining import schedule_asked
from orth.coordinator.http.callers import needs
from orth.coordinator.http.coming_fires import ComingFire, coming_fires
from orth.coordinator.http.job_body import Schedule as ScheduleKind
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.cron.zones import zone_names
from orth.domain.jobs import DstPolicy, Job, ScheduleType
from orth.store.database import Connection

router = APIRouter(prefix="/api/v1/schedules", tags=["schedules"])

DAY_LIMIT = 10_000
"""Fires of a day are counted up to this."""
_DAY = 86_400_000
_KEPT = "private, max-age=86400"


class ScheduleBody(BaseModel):
    """A schedule, in the fields a job has for it."""

    model_config = ConfigDict(extra="forbid")

    schedule_type: ScheduleKind = ScheduleType.NONE
    schedule_conf: Line = Field("", max_length=255)
    timezone: str | None = Field(None, max_length=64, description="Unset: the server's default.")
    dst_policy: DstPolicy = DstPolicy.AUTO
    jitter: StrictInt = Field(0, ge=0, le=3_600_000)
    calendar_id: StrictInt | None = Field(None, ge=1, le=2**31 - 1)
    n: StrictInt = Field(10, ge=1, le=100, description="How many fires to show.")


class SchedulePreview(BaseModel):
    """What a schedule would do from now on."""

    timezone: str
    per_day: int | None = Field(
        description=f"Fires in the next 24 hours, counted up to {DAY_LIMIT:,}; null where the clock does not decide."
    )
    items: list[ComingFire]


class ZoneNames(BaseModel):
    items: list[str]


@router.get("/zones", dependencies=[needs(None)])
async def zones(response: Response) -> ZoneNames:
    """The names of time zones that schedules take, old ones and new ones, in order. They change with the zone database
    of the coordinator's machine only, so browsers may keep them for a day.
    """
    response.headers["Cache-Control"] = _KEPT
    return ZoneNames(items=list(zone_names()))


@router.post("/preview", dependencies=[needs(Permission.VIEW)])
async def preview(body: ScheduleBody, tools: ToolsHere) -> SchedulePreview:
    """The coming fires of a schedule. One that could not be saved is refused as saving it would be."""
    zone = body.timezone or tools.settings.coordinator.default_timezone
    fields = body.model_dump(exclude={"n", "timezone"})
    job = Job(id=0, job_group=0, job_desc="", timezone=zone, **fields)
    return await tools.db.read(_preview, job, tools.clock.now(), body.n)


def _preview(connection: Connection, job: Job, now: int, n: int) -> SchedulePreview:
    schedule = schedule_asked(connection, job, now)
    per_day = schedule.count_between(now, now + _DAY, DAY_LIMIT) if schedule.repeats_by_clock else None
    return SchedulePreview(timezone=job.timezone, per_day=per_day, items=coming_fires(schedule, now, n))
