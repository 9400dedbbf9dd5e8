"""One row per day: how executions ended that day, and how many opened that day are still open.

For people who report on this table. Days are UTC, so that every node means the same day; an end counts for the day it
happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, literal, select

from orth.domain.executions import OPEN_PHASES, Status
from orth.store.engines import upsert
from orth.store.record_tables import daily_reports
from orth.store.statistics import HOUR, Count, Span, counts_by_time
from orth.store.tables import executions

DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class DailyReport:
    """What a day's row says; ``day`` is its first instant."""

    day: int
    running: int
    succeeded: int
    failed: int


def write_reports(connection: Connection, now: int, days: int) -> int:
    """Bring the rows of today and the days before it up to date, ``days`` in all; how many had to be written."""
    today = now - now % DAY
    first = today - (days - 1) * DAY
    ended = counts_by_time(connection, Span(since=first, until=today + DAY), DAY)
    still_open = _open_by_day(connection)
    reports = [_report(day, still_open.get(day, 0), ended.get(day, {})) for day in range(first, today + 1, DAY)]
    stored = {report.day: report for report in list_reports(connection, first)}
    changed = [report for report in reports if stored.get(report.day) != report]
    rows = [
        {
            "trigger_day": report.day,
            "running_count": report.running,
            "suc_count": report.succeeded,
            "fail_count": report.failed,
            "update_time": now,
        }
        for report in changed
    ]
    upsert(connection, daily_reports, rows, ("trigger_day",))
    return len(rows)


def list_reports(connection: Connection, since: int) -> list[DailyReport]:
    """The rows of days from ``since`` on, oldest first."""
    rows = select(daily_reports).where(daily_reports.c.trigger_day >= since).order_by(daily_reports.c.trigger_day)
    return [
        DailyReport(row.trigger_day, row.running_count, row.suc_count, row.fail_count)
        for row in connection.execute(rows)
    ]


def drop_reports(connection: Connection, before: int) -> int:
    """Remove the rows of days before ``before``; how many. There is one a day: they go at once."""
    return connection.execute(delete(daily_reports).where(daily_reports.c.trigger_day < before)).rowcount


def _open_by_day(connection: Connection) -> dict[int, int]:
    """How many executions are open, by the day they were opened."""
    day = (executions.c.trigger_time - executions.c.trigger_time % literal(DAY)).label("day")
    counted = select(day, func.count().label("n")).where(executions.c.phase.in_(OPEN_PHASES)).group_by(day)
    return {int(row.day): row.n for row in connection.execute(counted)}


def _report(day: int, still_open: int, ended: Mapping[Status, Count]) -> DailyReport:
    total = sum(count.executions for count in ended.values())
    succeeded = ended[Status.SUCCESS].executions if Status.SUCCESS in ended else 0
    return DailyReport(day, still_open, succeeded, total - succeeded)
