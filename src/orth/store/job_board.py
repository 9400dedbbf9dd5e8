"""Jobs as a list for people: which of them are meant, how each ran lately, and who could run it.

How a job ran is looked up for the jobs of one page, a short walk along an index for each; the history is never read
from end to end. ``groups`` are those the caller may see; None stands for all.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    union_all,
)

from orth.domain.access import narrowed
from orth.domain.executions import OUTCOMES, Status, status_of
from orth.domain.jobs import AddressType, GlueType, Job, ScheduleType
from orth.store.announced import offered_handlers
from orth.store.dead_letters import COUNTED
from orth.store.engines import among
from orth.store.executor_entries import EXECUTOR, QUEUE
from orth.store.group_scopes import in_groups
from orth.store.jobs import STOPPED, UnreadableJob, list_newest, parents_of, sub_tasks_of
from orth.store.overview import failing_now, names_of
from orth.store.tables import NOT_CANCELLED, UNEXPECTED, executions, has_outcome, jobs, registry
from orth.store.tables import groups as group_rows

_FAILURES = tuple(OUTCOMES[status] for status in (Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED))
_LARGEST_ID = 2**63 - 1
_PAUSED = (jobs.c.trigger_status == STOPPED) & (jobs.c.schedule_type != ScheduleType.NONE)


class Only(StrEnum):
    """Jobs that need a look."""

    FAILING = "failing"  # its last end was none of success; of a broadcast, that of any shard
    PAUSED = "paused"  # it has a schedule and is not started
    NEVER_RAN = "never_ran"
    NO_EXECUTOR = "no_executor"  # nobody in its group beats
    NO_HANDLER = "no_handler"  # executors of its group say what they offer, and its handler is not among it


class Change(StrEnum):
    """What would change a job: those that it would not change are not meant."""

    START = "start"  # it has a schedule and is not started
    STOP = "stop"  # it is started


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which jobs. ``text`` is looked for in name, handler, author and tags, and is an id if it is a number."""

    job_group: int | None = None
    groups: Collection[int] | None = None
    text: str | None = None
    only: Only | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()  # it has all of them
    ids: frozenset[int] = frozenset()  # it is one of them; empty = any
    change: Change | None = None

    def within(self, allowed: frozenset[int] | None) -> "Wanted":
        """What of this is in the groups that are allowed; None: all."""
        group, groups = narrowed(self.job_group, allowed)
        return replace(self, job_group=group, groups=groups)


@dataclass(frozen=True, slots=True)
class Online:
    """How many executors of a group have beaten lately, and how many there are."""

    alive: int
    total: int


@dataclass(frozen=True, slots=True)
class Run:
    """One of the last executions of a job."""

    id: int
    job_id: int
    trigger_code: int
    handle_code: int
    trigger_time: int
    start_time: int | None
    handle_time: int | None
    duration_ms: int | None
    broadcast_id: int | None


def list_board(
    connection: Connection, wanted: Wanted, online: dict[int, Online], *, before: int | None, limit: int
) -> list[Job | UnreadableJob]:
    """The jobs that are meant, newest first, those with an id below ``before``. ``online``: of ``executors_online``."""
    return list_newest(connection, limit, *_conditions(connection, wanted, online, before))


@dataclass(frozen=True, slots=True)
class Named:
    """A job, readable or not, and what people call it."""

    id: int
    job_desc: str


def find_jobs(
    connection: Connection, wanted: Wanted, online: dict[int, Online], *, before: int | None, limit: int
) -> tuple[list[Named], int]:
    """The jobs that are meant, as ``list_board`` lists them, and how many more there are, counted so far."""
    asked = _conditions(connection, wanted, online, before)
    found = select(jobs.c.id, jobs.c.job_desc).where(*asked).order_by(jobs.c.id.desc()).limit(limit + COUNTED)
    rows = [Named(*row) for row in connection.execute(found)]
    return rows[:limit], max(0, len(rows) - limit)


def count_jobs(connection: Connection, wanted: Wanted, online: dict[int, Online], *, before: int | None) -> int:
    """How many jobs are meant, counted so far."""
    found = select(jobs.c.id).where(*_conditions(connection, wanted, online, before)).limit(COUNTED).subquery()
    return connection.scalar(select(func.count()).select_from(found)) or 0


def find_referrers(
    connection: Connection, wanted: Wanted, online: dict[int, Online], job_id: int, *, limit: int
) -> list[Named]:
    """The jobs among those that are meant that need ``job_id``, or one that needs it; each after those that need it
    itself, so that they can be removed in this order. ``limit`` of them are looked at, at most.
    """
    ordered: dict[int, Named] = {}
    entered = {job_id}
    stack = [Named(job_id, "")]
    while stack:
        one = stack[-1].id
        needing = frozenset((*parents_of(connection, one), *sub_tasks_of(connection, one))) - entered
        needing = needing & wanted.ids if wanted.ids else needing
        meant = replace(wanted, ids=needing)
        found = find_jobs(connection, meant, online, before=None, limit=1)[0] if needing else []
        if found and len(entered) <= limit:
            entered.add(found[0].id)
            stack.append(found[0])
        else:
            ordered.setdefault(one, stack.pop())
    ordered.pop(job_id)
    return list(ordered.values())


def _conditions(
    connection: Connection, wanted: Wanted, online: dict[int, Online], before: int | None
) -> list[ColumnElement[bool]]:
    asked = in_groups(jobs.c.job_group, wanted.groups)
    if before is not None:
        asked.append(jobs.c.id < before)
    if wanted.job_group is not None:
        asked.append(jobs.c.job_group == wanted.job_group)
    if wanted.text:
        asked.append(_has_text(wanted.text))
    if wanted.author is not None:
        asked.append(jobs.c.author == wanted.author)
    if wanted.ids:
        asked.append(among(connection, jobs.c.id, wanted.ids))
    asked += [_has_tag(tag) for tag in wanted.tags]
    if wanted.change is not None:
        asked.append(_PAUSED if wanted.change is Change.START else jobs.c.trigger_status != STOPPED)
    if wanted.only is not None:
        asked.append(_is(connection, wanted.only, wanted.groups, online))
    return asked


def executors_online(connection: Connection, heard_since: int, groups: Collection[int] | None) -> dict[int, Online]:
    """Who there is in each group. Addresses that somebody wrote do not beat: they count as they are."""
    lively = func.sum(case((registry.c.update_time >= heard_since, 1), else_=0))
    counted = select(registry.c.registry_key, lively, func.count()).group_by(registry.c.registry_key)
    counted = counted.where(registry.c.registry_group.in_((EXECUTOR, QUEUE)))
    heard = {app_name: Online(int(alive), int(total)) for app_name, alive, total in connection.execute(counted)}
    rows = select(group_rows).where(*in_groups(group_rows.c.id, groups))
    return {row.id: _online(row, heard) for row in connection.execute(rows)}


def last_runs(
    connection: Connection, job_ids: Sequence[int], count: int, groups: Collection[int] | None
) -> dict[int, list[Run]]:
    """The last executions of each of these jobs, newest first; the open ones too, and none that was cancelled before it
    began. A job that moved to another group has left its earlier ones there.
    """
    if not job_ids:
        return {}
    newest_first = select(executions.c.id).where(*in_groups(executions.c.job_group, groups), NOT_CANCELLED)
    newest_first = newest_first.order_by(executions.c.id.desc()).limit(count)
    each = [newest_first.where(executions.c.job_id == job_id) for job_id in job_ids]
    newest = union_all(*(select(one.subquery().c.id) for one in each)).subquery()
    columns = [executions.c[name] for name in Run.__dataclass_fields__]
    rows = select(*columns).join(newest, newest.c.id == executions.c.id).order_by(executions.c.id.desc())
    found: dict[int, list[Run]] = {}
    for row in connection.execute(rows):
        found.setdefault(row.job_id, []).append(Run(*row))
    return found


def lasts(connection: Connection, runs: dict[int, list[Run]], groups: Collection[int] | None) -> dict[int, Run]:
    """How each job went last. The shards of a broadcast were one: one that failed stands for all of them, then one that
    is open, though others opened after it have succeeded. ``runs``: of ``last_runs``.
    """
    shards = [job_id for job_id, (newest, *_) in runs.items() if newest.broadcast_id is not None]
    broken = broken_broadcasts(connection, groups, [among(connection, jobs.c.id, shards)]) if shards else {}
    columns = [executions.c[name] for name in Run.__dataclass_fields__]
    rows = select(*columns).where(among(connection, executions.c.id, broken.values()))
    failed = {row.job_id: Run(*row) for row in connection.execute(rows)} if broken else {}
    return {job_id: _standing_for(ran, failed.get(job_id)) for job_id, ran in runs.items()}


def _standing_for(runs: list[Run], failed: Run | None) -> Run:
    newest = runs[0]
    if newest.broadcast_id is None:
        return newest
    if failed and failed.broadcast_id == newest.broadcast_id:
        return failed
    shards = (one for one in runs if one.broadcast_id == newest.broadcast_id)
    return next((one for one in shards if not status_of(one.trigger_code, one.handle_code).terminal), newest)


def broken_broadcasts(
    connection: Connection, groups: Collection[int] | None, asked: Sequence[ColumnElement[bool]]
) -> dict[int, int]:
    """Of these jobs, those that ended last with a shard of a broadcast of which one has failed for good; each with the
    execution that failed.
    """
    own = [executions.c.job_id == jobs.c.id, *in_groups(executions.c.job_group, groups)]
    last = _last_end(executions.c.broadcast_id, own, executions.c.outcome != 0, "ix_log_job")
    # Whatever failed in the last broadcast is the newest that failed so: short walks, and few jobs to be looked at.
    failed = [
        _last_end(executions.c.broadcast_id, own, has_outcome(outcome), "ix_log_job_outcome") == last
        for outcome in _FAILURES
    ]
    ids = connection.scalars(select(jobs.c.id).where(*asked, last.is_not(None), or_(*failed))).all()
    names = names_of(connection, ids, groups)
    found = [failing_now(connection, job_id, named, in_a_row=False) for job_id, named in names.items()]
    return {one.job_id: one.execution_id for one in found if one is not None}


def _last_end(
    column: ColumnElement[Any], own: Sequence[ColumnElement[bool]], ended: ColumnElement[bool], index: str
) -> ScalarSelect[Any]:
    newest = select(column).where(*own, ended, UNEXPECTED).order_by(executions.c.id.desc()).limit(1)
    # MariaDB would walk back through the executions of all jobs until one fits.
    return newest.with_hint(executions, f"FORCE INDEX ({index})", "mysql").scalar_subquery()


@dataclass(frozen=True, slots=True)
class InUse:
    """Who answers for jobs and what tags they have, in order; the first so many of each."""

    authors: list[str]
    tags: list[str]


def in_use(connection: Connection, groups: Collection[int] | None, limit: int) -> InUse:
    """What can be asked for by ``author`` and ``tags``."""
    own = in_groups(jobs.c.job_group, groups)
    authors = select(jobs.c.author).where(*own, jobs.c.author != "").distinct().order_by(jobs.c.author).limit(limit)
    lists = connection.scalars(select(jobs.c.tags).where(*own, jobs.c.tags.is_not(None)).distinct())
    tags = sorted({tag for one in lists for tag in one.split(",")})
    return InUse(list(connection.scalars(authors)), tags[:limit])


def _online(group: Row[Any], heard: dict[str, Online]) -> Online:
    found = heard.get(group.app_name, Online(0, 0))
    if group.address_type != AddressType.MANUAL:
        return found
    written = len([address for address in (group.address_list or "").split(",") if address])
    return Online(written, written)


def _has_text(text: str) -> ColumnElement[bool]:
    places = (jobs.c.job_desc, jobs.c.executor_handler, jobs.c.author, jobs.c.tags)
    found = [place.icontains(text, autoescape=True) for place in places]
    if text.isascii() and text.isdigit() and int(text) <= _LARGEST_ID:
        found.append(jobs.c.id == int(text))
    return or_(*found)


def _has_tag(tag: str) -> ColumnElement[bool]:
    return (literal(",") + jobs.c.tags + ",").contains(f",{tag},", autoescape=True)


def _lacks_handler(connection: Connection) -> ColumnElement[bool]:
    """Whether a job names a handler that its group does not offer; where that can be known, as for saving it."""
    offered = offered_handlers(connection)
    of_app = select(group_rows.c.id, group_rows.c.app_name).where(among(connection, group_rows.c.app_name, offered))
    lacking = [
        (jobs.c.job_group == row.id) & ~among(connection, jobs.c.executor_handler, sorted(offered[row.app_name]))
        for row in connection.execute(of_app)
    ]
    own = or_(jobs.c.super_task_id == 0, jobs.c.super_task_id == jobs.c.id)
    return and_(jobs.c.glue_type == GlueType.BEAN, jobs.c.executor_queue == "", own, or_(false(), *lacking))


def _is(
    connection: Connection, only: Only, groups: Collection[int] | None, online: dict[int, Online]
) -> ColumnElement[bool]:
    own = [executions.c.job_id == jobs.c.id, *in_groups(executions.c.job_group, groups)]
    match only:
        case Only.FAILING:
            failed = _last_end(executions.c.outcome, own, executions.c.outcome != 0, "ix_log_job").in_(_FAILURES)
            broken = broken_broadcasts(connection, groups, in_groups(jobs.c.job_group, groups))
            return or_(failed, among(connection, jobs.c.id, broken)) if broken else failed
        case Only.PAUSED:
            return _PAUSED
        case Only.NEVER_RAN:
            return ~exists().where(*own)
        case Only.NO_EXECUTOR:
            return among(
                connection, jobs.c.job_group, sorted(group for group, count in online.items() if count.alive == 0)
            )
        case Only.NO_HANDLER:
            return _lacks_handler(connection)
