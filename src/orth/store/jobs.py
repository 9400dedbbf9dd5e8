"""Jobs: definitions, and where each stands in its schedule.

A row may hold what this version does not know, written by a newer node or by hand. Whoever asks for that one job gets
``Unreadable``; a list of jobs has an ``UnreadableJob`` in its place, or leaves it out, and the others are unharmed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, delete, exists, func, literal, not_, or_, select, update

from orth.domain.jobs import (
    PLANNED_AHEAD,
    BlockStrategy,
    ChildParam,
    DstPolicy,
    GlueType,
    Job,
    MisfireStrategy,
    Overlap,
    RouteStrategy,
    ScheduleType,
)
from orth.domain.retries import read_policy, text_of
from orth.domain.schedules import LAST_INSTANT
from orth.errors import Conflict, NotFound, Unreadable
from orth.store.engines import among, insert_returning_id, locked, share_locked, update_many
from orth.store.group_scopes import in_groups
from orth.store.routes import forget_routes
from orth.store.tables import executions, groups, jobs

RUNNING = 1
STOPPED = 0
_LARGEST_ID = 2**63 - 1  # what a database can compare with
_STANDING = ("trigger_status", "trigger_last_time", "trigger_next_time", "due_time")


@dataclass(frozen=True, slots=True)
class Move:
    """Where a job stands after its due fires were decided. ``next_fire`` 0: none; it stays running only if
    ``running``.
    """

    job_id: int
    version: int
    last_fire: int
    next_fire: int
    due_time: int
    running: bool


@dataclass(frozen=True, slots=True)
class UnreadableJob:
    """What can be said of a job whose row cannot be read, and why it cannot."""

    id: int
    version: int
    job_group: int
    job_desc: str
    executor_handler: str
    schedule_type: str
    schedule_conf: str
    trigger_status: bool
    trigger_last_time: int
    trigger_next_time: int
    reason: str


def create_job(connection: Connection, job: Job, now: int) -> int:
    """Store ``job`` (its id is ignored) in an existing group and give its id."""
    _hold_group(connection, job.job_group)
    return insert_returning_id(connection, jobs, {**_values(job), "add_time": now, "update_time": now})


def get_job(connection: Connection, job_id: int) -> Job:
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).one_or_none()
    if row is None:
        raise NotFound("job", job_id)
    return _readable(row)


def check_exists(connection: Connection, job_id: int) -> None:
    """``NotFound`` unless there is such a job, readable or not."""
    if connection.execute(select(jobs.c.id).where(jobs.c.id == job_id)).one_or_none() is None:
        raise NotFound("job", job_id)


def jobs_by_id(connection: Connection, ids: Iterable[int]) -> dict[int, Job]:
    """Those of these jobs that exist and can be read."""
    rows = connection.execute(select(jobs).where(among(connection, jobs.c.id, set(ids))))
    return {row.id: job for row in rows if isinstance(job := _job(row), Job)}


def unreadable_jobs(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    """Why those of these jobs that exist and cannot be read cannot."""
    wanted = set(ids)
    if not wanted:
        return {}
    rows = connection.execute(select(jobs).where(among(connection, jobs.c.id, wanted)))
    return {row.id: job.reason for row in rows if isinstance(job := _job(row), UnreadableJob)}


def list_jobs(
    connection: Connection, after: int, limit: int, group: int | None = None, *, groups: Collection[int] | None = None
) -> list[Job | UnreadableJob]:
    """Jobs in order of id, those after ``after``; of one group, or only of these."""
    statement = select(jobs).where(jobs.c.id > after, *in_groups(jobs.c.job_group, groups))
    statement = statement.order_by(jobs.c.id).limit(limit)
    if group is not None:
        statement = statement.where(jobs.c.job_group == group)
    return [_job(row) for row in connection.execute(statement)]


def list_newest(connection: Connection, limit: int, *asked: ColumnElement[bool]) -> list[Job | UnreadableJob]:
    """Jobs of which all that is asked holds, newest first."""
    rows = connection.execute(select(jobs).where(*asked).order_by(jobs.c.id.desc()).limit(limit))
    return [_job(row) for row in rows]


def hold_job(connection: Connection, job_id: int) -> Job:
    """The job as it is, kept so until the transaction ends."""
    row = connection.execute(locked(select(jobs).where(jobs.c.id == job_id), connection)).one_or_none()
    if row is None:
        raise NotFound("job", job_id)
    return _readable(row)


def hold_referred(connection: Connection, ids: Iterable[int]) -> dict[int, Job]:
    """Those of these jobs that exist, kept from being changed or removed until the transaction ends."""
    rows = select(jobs).where(among(connection, jobs.c.id, set(ids))).order_by(jobs.c.id)
    return {row.id: _readable(row) for row in connection.execute(share_locked(rows, connection))}


def parents_of(connection: Connection, job_id: int) -> list[int]:
    """Jobs that name ``job_id`` among their children."""
    named = (literal(",") + jobs.c.child_jobid + ",").contains(f",{job_id},")
    rows = connection.execute(select(jobs.c.id).where(jobs.c.child_jobid != "", named).order_by(jobs.c.id))
    return [row.id for row in rows]


def sub_tasks_of(connection: Connection, job_id: int) -> list[int]:
    """Jobs that run the handler of ``job_id``."""
    named = select(jobs.c.id).where(jobs.c.super_task_id == job_id, jobs.c.id != job_id).order_by(jobs.c.id)
    return [row.id for row in connection.execute(named)]


def replace_job(connection: Connection, job: Job, now: int, *, standing: bool = False) -> Job:
    """Write an edited definition if ``job.version`` is still the stored one; the stored job, one version on.

    Where the job stands in its schedule is written only with ``standing``: it moves with every fire, and an edit of
    something else must not put it back.
    """
    _hold_group(connection, job.job_group)
    values = {**_values(job), "version": job.version + 1, "update_time": now}
    if not standing:
        values = {name: value for name, value in values.items() if name not in _STANDING}
    done = connection.execute(update(jobs).where(jobs.c.id == job.id, jobs.c.version == job.version).values(**values))
    if done.rowcount == 0:
        get_job(connection, job.id)  # NotFound when it is gone
        raise Conflict.of("job_changed_meanwhile", job=job.id)
    return get_job(connection, job.id)


def delete_job(connection: Connection, job_id: int) -> None:
    """Remove a definition that has no open executions; its history stays until retention takes it."""
    connection.execute(locked(select(jobs.c.id).where(jobs.c.id == job_id), connection))
    open_one = exists().where(executions.c.job_id == job_id, executions.c.phase != "ended")
    if connection.execute(select(open_one)).scalar():
        raise Conflict.of("job_is_open", job=job_id)
    if connection.execute(delete(jobs).where(jobs.c.id == job_id)).rowcount == 0:
        raise NotFound("job", job_id)
    forget_routes(connection, job_id)


def claim_due_jobs(connection: Connection, now: int, limit: int, ahead: int = 0) -> list[Job | UnreadableJob]:
    """Running jobs that are due, or become due within ``ahead`` milliseconds if they may be planned so early; the most
    urgent first, locked until the transaction ends. Jobs being edited are left for the next pass.
    """
    due = (
        select(jobs)
        .where(jobs.c.trigger_status == RUNNING, jobs.c.due_time > 0, jobs.c.due_time <= now + ahead)
        .order_by(jobs.c.due_time)
        .limit(limit)
    )
    if ahead:
        due = due.where(or_(jobs.c.due_time <= now, jobs.c.schedule_type.in_(PLANNED_AHEAD)))
    return [_job(row) for row in connection.execute(locked(due, connection, skip=True))]


def periodic_jobs(connection: Connection, instant: int, after: int, limit: int) -> list[Job | UnreadableJob]:
    """Running jobs with a period that wait for a fire after ``instant``, in order of id, those after ``after``."""
    waiting = select(jobs).where(
        jobs.c.trigger_status == RUNNING,
        jobs.c.due_time > instant,
        jobs.c.schedule_type.in_((ScheduleType.FIX_RATE, ScheduleType.FIX_DELAY)),
        jobs.c.id > after,
    )
    return [_job(row) for row in connection.execute(waiting.order_by(jobs.c.id).limit(limit))]


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The earliest due times of running jobs, each None if there is none: of those that may be planned now, of those
    inside the window that must not be planned before they are due, and of those beyond it.
    """

    plannable: int | None
    on_time: int | None
    beyond: int | None


def upcoming_jobs(connection: Connection, now: int, ahead: int = 0) -> Upcoming:
    """What is due next, seen from ``now``."""
    waiting = select(func.min(jobs.c.due_time)).where(jobs.c.trigger_status == RUNNING, jobs.c.due_time > 0)
    inside = waiting.where(jobs.c.due_time <= now + ahead)
    early = or_(jobs.c.due_time <= now, jobs.c.schedule_type.in_(PLANNED_AHEAD))
    return Upcoming(
        connection.execute(inside.where(early)).scalar(),
        connection.execute(inside.where(not_(early))).scalar() if ahead else None,
        connection.execute(waiting.where(jobs.c.due_time > now + ahead)).scalar(),
    )


def move_jobs(connection: Connection, moves: Sequence[Move]) -> None:
    """Advance schedules after planning. A job edited meanwhile (another version) keeps what the edit wrote."""
    rows = [
        {
            "id": move.job_id,
            "version": move.version,
            "trigger_last_time": move.last_fire,
            "trigger_next_time": move.next_fire,
            "due_time": move.due_time,
            "trigger_status": RUNNING if move.running else STOPPED,
        }
        for move in moves
    ]
    update_many(connection, jobs, ("id", "version"), rows)


def wait_again(connection: Connection, job_id: int, last_fire: int, next_fire: int, due_time: int) -> bool:
    """Let a FIX_DELAY job whose fire ``last_fire`` has ended wait for ``next_fire``; False if it was stopped or
    edited meanwhile.
    """
    done = connection.execute(
        update(jobs)
        .where(
            jobs.c.id == job_id,
            jobs.c.schedule_type == ScheduleType.FIX_DELAY,
            jobs.c.trigger_status == RUNNING,
            jobs.c.trigger_last_time == last_fire,
            jobs.c.trigger_next_time == 0,
        )
        .values(trigger_next_time=next_fire, due_time=due_time)
    )
    return done.rowcount == 1


def _hold_group(connection: Connection, group_id: int) -> None:
    """Keep a group from being deleted until the transaction ends."""
    row = share_locked(select(groups.c.id).where(groups.c.id == group_id), connection)
    if connection.execute(row).one_or_none() is None:
        raise NotFound("group", group_id)


def _values(job: Job) -> dict[str, Any]:
    values = asdict(job)
    del values["id"]
    children = values.pop("child_job_ids")
    return {
        **values,
        "child_jobid": ",".join(str(child) for child in children),
        "trigger_status": RUNNING if job.trigger_status else STOPPED,
        "child_per_shard": int(job.child_per_shard),
        "label_selector": job.label_selector or None,
        "secrets": ",".join(job.secrets) or None,
        "tags": ",".join(job.tags) or None,
        "retry_policy": text_of(job.retry_policy) if job.retry_policy else None,
    }


def _readable(row: Row[Any]) -> Job:
    job = _job(row)
    if isinstance(job, UnreadableJob):
        raise Unreadable.of("job_unreadable", job=job.id, said=job.reason)
    return job


def _job(row: Row[Any]) -> Job | UnreadableJob:
    try:
        return _parsed(row)
    except (KeyError, ValueError):
        return _unreadable(row)


def stored_tags(value: str | None) -> tuple[str, ...]:
    return tuple(value.split(",")) if value else ()


def _parsed(row: Row[Any]) -> Job:
    # Every planned and every ended execution passes here: by position and by table, which takes half of the time.
    instants = _INSTANTS(row)
    if set(map(type, _NUMBERS(row))) != {int} or min(instants) < 0 or max(instants) > LAST_INSTANT:
        raise ValueError
    values = dict(zip(_FIELDS, _IN_ORDER(row), strict=True))
    for name, members in _MEMBERS.items():
        values[name] = members[values[name]]
    values["child_job_ids"] = children = tuple(int(part) for part in row.child_jobid.split(",") if part)
    if children and not 0 < min(children) <= max(children) <= _LARGEST_ID:
        raise ValueError
    values["child_per_shard"] = bool(values["child_per_shard"])
    values["label_selector"] = values["label_selector"] or ""
    values["secrets"] = tuple(values["secrets"].split(",")) if values["secrets"] else ()
    values["tags"] = stored_tags(values["tags"])
    if values["retry_policy"] is not None:
        values["retry_policy"] = read_policy(values["retry_policy"])
    values["trigger_status"] = values["trigger_status"] == RUNNING
    return Job(**values)


def _unreadable(row: Row[Any]) -> UnreadableJob:
    due, following = _instant(row.due_time), _instant(row.trigger_next_time)
    return UnreadableJob(
        id=row.id,
        version=row.version,
        job_group=row.job_group,
        job_desc=row.job_desc,
        executor_handler=row.executor_handler,
        schedule_type=row.schedule_type,
        schedule_conf=row.schedule_conf,
        trigger_status=row.trigger_status == RUNNING,
        trigger_last_time=_instant(row.trigger_last_time) or 0,
        trigger_next_time=following or due or 0,
        reason=_why_unreadable(row._asdict()),
    )


def _why_unreadable(row: Mapping[str, Any]) -> str:
    wrong = [name for name, members in _MEMBERS.items() if row[name] not in members]
    wrong += [name for name in _NUMBER_NAMES if type(row[name]) is not int]
    wrong += [name for name in _INSTANT_NAMES if type(row[name]) is int and _instant(row[name]) is None]
    if not wrong:
        wrong = ["retry_policy" if _is_no_policy(row["retry_policy"]) else "child_jobid"]
    return ", ".join(f"{name} is {str(row[name])[:40]!r}" for name in wrong)


def _is_no_policy(text: str | None) -> bool:
    try:
        return text is not None and not read_policy(text)
    except ValueError:
        return True


def _instant(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= LAST_INSTANT else None


_FIELDS = tuple(field.name for field in fields(Job) if field.name in jobs.c)
_NUMBER_NAMES = tuple(name for name in _FIELDS if isinstance(jobs.c[name].type, Integer) and not jobs.c[name].nullable)
_INSTANT_NAMES = ("trigger_last_time", "trigger_next_time", "due_time")


def _places(names: Sequence[str]) -> Callable[[Row[Any]], tuple[Any, ...]]:
    return itemgetter(*(list(jobs.c.keys()).index(name) for name in names))


_IN_ORDER = _places(_FIELDS)
_NUMBERS = _places(_NUMBER_NAMES)
_INSTANTS = _places(_INSTANT_NAMES)
_MEMBERS: dict[str, dict[str, Any]] = {
    "schedule_type": {one.value: one for one in ScheduleType},
    "dst_policy": {one.value: one for one in DstPolicy},
    "misfire_strategy": {one.value: one for one in MisfireStrategy},
    "executor_route_strategy": {one.value: one for one in RouteStrategy},
    "executor_block_strategy": {one.value: one for one in BlockStrategy},
    "glue_type": {one.value: one for one in GlueType},
    "child_param": {one.value: one for one in ChildParam},
    "overlap": {one.value: one for one in Overlap},
}
