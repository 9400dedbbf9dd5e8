"""Statistics: how executions ended, over time and for one job, and how many are open.

All of it comes from counts by the hour, so a span is made of whole hours: the one in which it begins counts as a whole.
Only what the caller may see is counted.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.instants import instant
from orth.coordinator.http.object_checks import check_job
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.executions import OPEN_PHASES, UNSENT_PHASES, Phase, Status
from orth.errors import Invalid
from orth.store.daily_reports import DAY
from orth.store.database import Connection
from orth.store.statistics import HOUR, Count, Span, counts_by_status, counts_by_time, open_counts

router = APIRouter(prefix="/api/v1", tags=["stats"])

BUCKETS_LIMIT = 1000
_FIRST_INSTANT = 0
_LAST_INSTANT = 253_402_300_799_000  # of the year 9999

_Id = Annotated[int | None, Query(ge=1, le=2**31 - 1)]
_Instant = Annotated[str | None, Query(max_length=40, description="An instant (RFC 3339) or an age such as 2h.")]


class Bucket(StrEnum):
    """How long each part of a histogram is. Days are UTC."""

    HOUR = "hour"
    DAY = "day"

    @property
    def ms(self) -> int:
        return HOUR if self is Bucket.HOUR else DAY


class EndedShown(BaseModel):
    """How many executions ended how."""

    success: int = 0
    failed: int = 0
    timeout: int = 0
    trigger_failed: int = 0


class OpenShown(BaseModel):
    """How many executions have not ended; ``phases`` says where they are."""

    init: int
    pending: int
    phases: dict[str, int]


class StatsShown(BaseModel):
    """What ended between ``since`` and ``until``, and what is open now. ``success_rate`` is of all that ended; the
    times are of those that ran, and null when none did.
    """

    since: str
    until: str
    executions: int
    ended: EndedShown
    success_rate: float | None
    mean_ms: int | None
    longest_ms: int | None
    open: OpenShown


class BucketShown(EndedShown):
    """A part of a histogram; it begins at ``start``. The times are of those that ran, and null when none did."""

    start: str
    mean_ms: int | None
    longest_ms: int | None


class HistogramShown(BaseModel):
    """All parts of the span, oldest first, those in which nothing ended too."""

    bucket: Bucket
    items: list[BucketShown]


class JobStatsShown(StatsShown):
    """One job's, with a part for each day."""

    job_id: int
    days: list[BucketShown]


@router.get("/stats", dependencies=[needs(Permission.VIEW)])
async def stats(tools: ToolsHere, caller: CallerHere, since: _Instant = None, job_group: _Id = None) -> StatsShown:
    """How executions ended since then (24 hours unless said), of all jobs or those of a group."""
    now = tools.clock.now()
    span = Span(since=_start(since or "24h", now, HOUR), until=now + 1, job_group=job_group)
    return StatsShown(**await tools.db.read(_stats, span.within(caller.rights.groups(Permission.VIEW))))


@router.get("/stats/histogram", dependencies=[needs(Permission.VIEW)])
async def histogram(
    tools: ToolsHere,
    caller: CallerHere,
    since: _Instant = None,
    until: _Instant = None,
    bucket: Bucket = Bucket.HOUR,
    job_id: _Id = None,
    job_group: _Id = None,
) -> HistogramShown:
    """How executions ended, hour by hour or day by day; the last day or the last 30 unless said."""
    now = tools.clock.now()
    start = _start(since or ("24h" if bucket is Bucket.HOUR else "30d"), now, bucket.ms)
    end = now + 1 if until is None else instant(until, now, "until")
    if not start < end <= _LAST_INSTANT:
        raise Invalid.of("since_after_until", field="since")
    if (end - start) // bucket.ms >= BUCKETS_LIMIT:
        raise Invalid.of("too_many_bars", limit=BUCKETS_LIMIT, field="since")
    span = Span(since=start, until=end, job_id=job_id, job_group=job_group)
    seen = caller.rights.groups(Permission.VIEW)
    found = await tools.db.read(counts_by_time, span.within(seen), bucket.ms)
    return HistogramShown(bucket=bucket, items=_buckets(found, span, bucket.ms))


@router.get("/jobs/{job_id}/stats", dependencies=[needs(Permission.VIEW)])
async def job_stats(
    job_id: Annotated[int, Path(ge=1, le=2**31 - 1)],
    tools: ToolsHere,
    caller: CallerHere,
    days: Annotated[int, Query(ge=1, le=400, description="Today and so many days before, less one.")] = 7,
) -> JobStatsShown:
    """How the executions of a job ended in the last days."""
    now = tools.clock.now()
    span = Span(since=now - now % DAY - (days - 1) * DAY, until=now + 1, job_id=job_id)
    seen = caller.rights.groups(Permission.VIEW)
    return JobStatsShown(**await tools.db.read(_job_stats, caller, span.within(seen)))


def _stats(connection: Connection, span: Span) -> dict[str, object]:
    counts = counts_by_status(connection, span)
    total = sum(count.executions for count in counts.values())
    succeeded = counts[Status.SUCCESS].executions if Status.SUCCESS in counts else 0
    return {
        "since": iso(span.since),
        "until": iso(span.until - 1),
        "executions": total,
        "ended": _ended(counts),
        "success_rate": succeeded / total if total else None,
        **_times(counts),
        "open": _open(open_counts(connection, job_id=span.job_id, job_group=span.job_group, groups=span.groups)),
    }


def _job_stats(connection: Connection, caller: Caller, span: Span) -> dict[str, object]:
    assert span.job_id is not None
    check_job(connection, caller, Permission.VIEW, span.job_id)
    days = _buckets(counts_by_time(connection, span, DAY), span, DAY)
    return _stats(connection, span) | {"job_id": span.job_id, "days": days}


def _open(counts: Mapping[Phase, int]) -> OpenShown:
    init = sum(counts.get(phase, 0) for phase in UNSENT_PHASES)
    phases = {phase.value: counts.get(phase, 0) for phase in OPEN_PHASES}
    return OpenShown(init=init, pending=sum(counts.values()) - init, phases=phases)


def _ended(counts: Mapping[Status, Count]) -> dict[str, int]:
    return {status.value: count.executions for status, count in counts.items()}


def _buckets(found: Mapping[int, Mapping[Status, Count]], span: Span, size: int) -> list[BucketShown]:
    starts = range(span.since - span.since % size, span.until, size)
    parts = ((at, found.get(at, {})) for at in starts)
    return [BucketShown(start=iso(at), **_ended(counts), **_times(counts)) for at, counts in parts]


def _times(counts: Mapping[Status, Count]) -> dict[str, int | None]:
    """How long those took that ran."""
    all_ = sum(counts.values(), Count())
    return {
        "mean_ms": all_.total_ms // all_.ran if all_.ran else None,
        "longest_ms": all_.longest_ms if all_.ran else None,
    }


def _start(since: str, now: int, size: int) -> int:
    """The first instant of the hour or day that ``since`` falls into."""
    start = instant(since, now, "since")
    if not _FIRST_INSTANT <= start <= now:
        raise Invalid.of("since_not_past", field="since")
    return start - start % size
