"""What the first page shows of everything: jobs, executors, what comes next, what fails and what takes long.

Nothing here reads the history from end to end: jobs and executors are few, what fails or takes long is found in the
counts by the hour, and only those jobs are then looked up one by one. ``seen`` are the groups that the caller may see;
None stands for all. A job is shown where it is now, with what happened there: one that was moved into a group that may
not be seen is not shown, nor is anything that it did in another one before it came.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, case, func, or_, select, union_all

from orth.domain.executions import OUTCOMES, Status
from orth.domain.jobs import ScheduleType, TriggerCause
from orth.store.engines import among
from orth.store.fires import planned_after
from orth.store.group_scopes import of_jobs_in_groups
from orth.store.jobs import stored_tags
from orth.store.record_tables import statistics, statistics_deltas
from orth.store.statistics import ran_in
from orth.store.tables import UNEXPECTED, executions, groups, has_outcome, jobs, registry

Groups = Collection[int] | None

STREAK_LIMIT = 100
"""Failures in a row are counted up to this."""
LATE_LIMIT = 500
"""How late executions began is looked up in so many of them, the newest."""
_CANDIDATES = 50
_FAILURES = tuple(OUTCOMES[status] for status in (Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED))
_SUCCESS = OUTCOMES[Status.SUCCESS]


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A job and its next fire."""

    job_id: int
    job_group: int
    job_desc: str
    schedule_type: str
    schedule_conf: str
    due_time: int


@dataclass(frozen=True, slots=True)
class Failing:
    """A job whose last run was none of success. ``streak`` of them in a row, counted up to a limit; what was tried
    again counts once, and so do the shards of a broadcast.
    """

    job_id: int
    job_group: int
    job_desc: str
    execution_id: int
    trigger_code: int
    handle_code: int
    ended_at: int
    streak: int


@dataclass(frozen=True, slots=True)
class Slow:
    """A job and how long its executions took in a span."""

    job_id: int
    job_group: int
    job_desc: str
    ran: int
    total_ms: int
    longest_ms: int


def count_jobs(connection: Connection, seen: Groups) -> tuple[int, int, int]:
    """How many jobs are started, how many are not, and how many of those have a schedule all the same."""
    scheduled = func.sum(case((jobs.c.schedule_type != ScheduleType.NONE, 1), else_=0))
    counted = select(jobs.c.trigger_status, func.count(), scheduled).group_by(jobs.c.trigger_status)
    rows = connection.execute(_within(counted, jobs.c.job_group, seen)).all()
    started = sum(int(count) for status, count, _ in rows if status == 1)
    stopped = [(int(count), int(timed)) for status, count, timed in rows if status != 1]
    return started, sum(count for count, _ in stopped), sum(timed for _, timed in stopped)


def count_executors(connection: Connection, heard_since: int, seen: Groups) -> tuple[int, int]:
    """How many executors have beaten since then, and how many are registered."""
    lively = func.sum(case((registry.c.update_time >= heard_since, 1), else_=0))
    counted = select(func.coalesce(lively, 0), func.count()).select_from(registry)
    counted = counted.where(registry.c.registry_group == "EXECUTOR")
    if seen is not None:
        names = select(groups.c.app_name).where(among(connection, groups.c.id, seen))
        counted = counted.where(registry.c.registry_key.in_(names))
    alive, total = connection.execute(counted).one()
    return int(alive), int(total)


def list_upcoming(connection: Connection, limit: int, seen: Groups, now: int) -> list[Upcoming]:
    """Started jobs by their next fire, the soonest first. Each is there once, however often it fires."""
    columns = (
        jobs.c.id,
        jobs.c.job_group,
        jobs.c.job_desc,
        jobs.c.schedule_type,
        jobs.c.schedule_conf,
        jobs.c.due_time,
        jobs.c.jitter,
    )
    soonest = select(*columns).where(jobs.c.trigger_status == 1, jobs.c.due_time > 0)
    soonest = soonest.order_by(jobs.c.due_time, jobs.c.id).limit(limit)
    found = connection.execute(_within(soonest, jobs.c.job_group, seen)).all()
    planned = planned_after(connection, [row.id for row in found if not row.jitter], now)
    coming = [
        Upcoming(id_, group, desc, type_, conf, min([due, *planned.get(id_, ())]))
        for id_, group, desc, type_, conf, due, _jitter in found
    ]
    return sorted(coming, key=lambda one: one.due_time)


def list_failing(connection: Connection, since: int, limit: int, seen: Groups) -> list[Failing]:
    """Jobs that failed since then and have not succeeded after it, the latest failure first."""
    counted = _counted(since, seen, _FAILURES)
    latest = func.max(counted.c.hour)
    candidates = select(counted.c.job_id).group_by(counted.c.job_id).order_by(latest.desc()).limit(_CANDIDATES)
    names = names_of(connection, [row.job_id for row in connection.execute(candidates)], seen)
    found = [failing_now(connection, job_id, named) for job_id, named in names.items()]
    failing = sorted((one for one in found if one is not None), key=lambda one: one.ended_at, reverse=True)
    return failing[:limit]


def list_slowest(connection: Connection, since: int, limit: int, seen: Groups) -> list[Slow]:
    """Jobs by their longest execution since then, the longest first."""
    counted = _counted(since, seen, tuple(OUTCOMES[status] for status in Status if status.terminal))
    longest = func.max(counted.c.longest_ms)
    sums = select(counted.c.job_id, func.sum(counted.c.ran), func.sum(counted.c.total_ms), longest)
    sums = sums.group_by(counted.c.job_id).having(longest > 0).order_by(longest.desc()).limit(limit)
    rows = connection.execute(sums).all()
    names = names_of(connection, [row[0] for row in rows], seen)
    return [
        Slow(job_id, names[job_id].job_group, names[job_id].job_desc, int(count), int(total), int(most))
        for job_id, count, total, most in rows
        if job_id in names
    ]


def list_lateness(connection: Connection, since: int, seen: Groups) -> list[int]:
    """Of the newest executions that a schedule opened since then: how many ms after they were due they began, the least
    late first. What a job puts off itself is not late.
    """
    names = ("trigger_key", "trigger_time", "schedule_time", "not_before", "dispatch_time", "start_time", "job_group")
    newest = select(*(executions.c[name] for name in names)).order_by(executions.c.id.desc()).limit(LATE_LIMIT)
    found = []
    for row in connection.execute(newest):
        begun = row.start_time or row.dispatch_time  # an executor may have it early, and hold it until it is due
        planned = row.trigger_key.startswith("fire:") and row.trigger_time >= since
        if planned and begun and row.schedule_time and (seen is None or row.job_group in seen):
            found.append(max(0, begun - max(row.schedule_time, row.not_before or 0)))
    return sorted(found)


class Known(NamedTuple):
    """What people know a job by."""

    job_group: int
    job_desc: str
    tags: tuple[str, ...] = ()


def names_of(connection: Connection, ids: Collection[int], seen: Groups) -> Mapping[int, Known]:
    """What those jobs are known by that still exist and are in the groups ``seen`` now, in the order of ``ids``."""
    columns = (jobs.c.id, jobs.c.job_group, jobs.c.job_desc, jobs.c.tags)
    named = select(*columns).where(among(connection, jobs.c.id, ids))
    rows = connection.execute(_within(named, jobs.c.job_group, seen))
    found = {row.id: Known(row.job_group, row.job_desc, stored_tags(row.tags)) for row in rows}
    return {job_id: found[job_id] for job_id in ids if job_id in found}


def failing_now(connection: Connection, job_id: int, named: Known, *, in_a_row: bool = True) -> Failing | None:
    """The job as failing, if it ended in a failure in the group where it is now and no later trigger has succeeded: the
    shards of a broadcast end as one, so that those that succeed do not end the failure of another. Not ``in_a_row``: of
    a broadcast the failures before it are not counted, which spares reading all that is between them.
    """
    newest = _newest_failures(connection, job_id, named.job_group)
    if not newest:
        return None
    if not in_a_row and newest[0].broadcast_id is not None:
        newest = [row for row in newest if row.broadcast_id == newest[0].broadcast_id]
    # From the newest on, and not beyond these failures: a job that only fails is not read to its beginning.
    oldest = newest[-1].id
    touched = {row.broadcast_id for row in newest if row.broadcast_id is not None}
    last_success = _last_success(connection, job_id, named.job_group, oldest, touched)
    again = _tried_again(connection, job_id, max(last_success, oldest))
    failures = [row for row in newest if row.id > last_success and row.id not in again]
    broken = {row.broadcast_id for row in failures if row.broadcast_id is not None}
    if touched - broken:  # with later attempts all shards of some have succeeded
        last_success = _last_success(connection, job_id, named.job_group, max(last_success, oldest), broken)
        failures = [row for row in failures if row.id > last_success]
    if not failures:
        return None
    last = failures[0]
    ended_at = last.handle_time or last.phase_time
    codes = (last.trigger_code, last.handle_code)
    streak = len({(row.broadcast_id, None if row.broadcast_id else row.id) for row in failures})
    return Failing(job_id, named.job_group, named.job_desc, last.id, *codes, ended_at, streak)


def _newest_failures(connection: Connection, job_id: int, job_group: int) -> list[Row[Any]]:
    names = ("id", "trigger_code", "handle_code", "handle_time", "phase_time", "job_group", "broadcast_id")
    found = [
        row
        for outcome in _FAILURES  # one by one: each is a short walk along the index
        for row in connection.execute(
            select(*(executions.c[name] for name in names))
            .where(executions.c.job_id == job_id, has_outcome(outcome), UNEXPECTED)
            .order_by(executions.c.id.desc())
            .limit(STREAK_LIMIT)
        )
    ]
    # What it did here is newer than what it did elsewhere before, so that hides nothing from this walk.
    here = [row for row in found if row.job_group == job_group]
    return sorted(here, key=lambda row: int(row.id), reverse=True)[:STREAK_LIMIT]


def _last_success(connection: Connection, job_id: int, job_group: int, after: int, broadcasts: Collection[int]) -> int:
    """The last success after that execution that is no shard of these broadcasts; 0 if there is none."""
    succeeded = select(executions.c.id).where(
        executions.c.job_id == job_id,
        executions.c.outcome == _SUCCESS,
        executions.c.id > after,
        executions.c.job_group == job_group,
    )
    if broadcasts:
        of_others = ~among(connection, executions.c.broadcast_id, sorted(broadcasts))
        succeeded = succeeded.where(or_(executions.c.broadcast_id.is_(None), of_others))
    return connection.execute(succeeded.order_by(executions.c.id.desc()).limit(1)).scalar() or 0


def _tried_again(connection: Connection, job_id: int, after: int) -> set[int]:
    """Executions that were not the last attempt at what they did: those that followed them say so."""
    followed = select(executions.c.origin_id).where(
        executions.c.job_id == job_id, executions.c.id > after, executions.c.cause == TriggerCause.RETRY
    )
    return set(connection.scalars(followed.order_by(executions.c.id.desc()).limit(10 * STREAK_LIMIT)))


def _counted(since: int, seen: Groups, outcomes: Collection[int]) -> Any:
    """Counts of single jobs since then, those not folded yet too."""
    names = ("job_id", "hour", "total_ms", "longest_ms")
    parts = []
    for table in (statistics, statistics_deltas):
        part = select(*(table.c[name] for name in names), ran_in(table).label("ran")).where(
            table.c.hour >= since, table.c.job_id > 0, table.c.outcome.in_(outcomes)
        )
        part = part.where(*of_jobs_in_groups(table.c.job_id, seen))
        parts.append(_within(part, table.c.job_group, seen))
    return union_all(*parts).subquery()


def _within(statement: Select[Any], column: ColumnElement[int], seen: Groups) -> Select[Any]:
    return statement if seen is None else statement.where(column.in_(list(seen)))
