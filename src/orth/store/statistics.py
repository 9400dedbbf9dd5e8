"""Counts of ended executions, by job, hour and outcome.

An end writes its count beside it, in its own transaction, as a row of its own (``count_ends``): two ends of one job
never wait for each other. The leader folds these rows into the statistics and removes them in the same transaction
(``fold``), so each counts once. What is not folded yet is added when somebody reads: the counts are never late.

Totals over many jobs are kept too, because adding up a month of every job takes too long for a page somebody waits
for: the job 0 stands for all jobs, and minus a group's id for the jobs of that group.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Table,
    case,
    delete,
    func,
    literal,
    select,
    union_all,
)

from orth.domain.access import narrowed
from orth.domain.executions import OPEN_PHASES, OUTCOMES, Execution, Phase, Status
from orth.store.engines import among, insert_new, upsert
from orth.store.group_scopes import in_groups
from orth.store.record_tables import statistics, statistics_deltas
from orth.store.tables import executions, has_outcome

HOUR = 3_600_000
ALL_JOBS = 0

_KEYS_PER_STATEMENT = 500
_STATUSES: Mapping[int, Status] = {OUTCOMES[status]: status for status in Status if status.terminal}

Key = tuple[int, int, int, int]
"""Job, group, hour and outcome."""
Cell = tuple[int, int, int]
"""Job, hour and outcome: what a row of the statistics is about."""


@dataclass(frozen=True, slots=True)
class Count:
    """So many executions; so many of them ran as far as is known, how long these took together, and the longest."""

    executions: int = 0
    ran: int = 0
    total_ms: int = 0
    longest_ms: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.executions + other.executions,
            self.ran + other.ran,
            self.total_ms + other.total_ms,
            max(self.longest_ms, other.longest_ms),
        )


def count_ends(connection: Connection, ended: Sequence[Execution], now: int) -> None:
    """Count executions that end in this transaction, at ``now``. What was cancelled before it began is not counted."""
    counts: dict[Key, Count] = {}
    for one in ended:
        if one.cancelled:
            continue
        key = (one.job_id, one.job_group, now - now % HOUR, OUTCOMES[one.status])
        took = duration(one, now)
        counts[key] = counts.get(key, Count()) + (Count(1) if took is None else Count(1, 1, took, took))
    insert_new(connection, statistics_deltas, [_row(key, count) for key, count in counts.items()])


def duration(one: Execution, ended_at: int) -> int | None:
    """How long it ran, in ms: as its executor measured, else until its result arrived. None where nobody knows that it
    did: it was taken back or killed before its turn, or was lost. The executor's clock may be wrong: nothing starts
    before it was opened, or after its end.
    """
    if one.status is Status.TRIGGER_FAILED:
        return None
    if one.duration_ms is not None:
        return one.duration_ms
    start = one.start_time
    if start is None:
        # Executors of other makes never say when they begin: there what they have is taken to run.
        if one.executor_address is None or one.incarnation is not None:
            return None
        start = one.dispatch_time or one.trigger_time
    return max(0, ended_at - max(start, one.trigger_time))


def _row(key: Key, count: Count) -> dict[str, int]:
    job_id, job_group, hour, outcome = key
    return {
        "job_id": job_id,
        "job_group": job_group,
        "hour": hour,
        "outcome": outcome,
        "executions": count.executions,
        "ran": count.ran,
        "total_ms": count.total_ms,
        "longest_ms": count.longest_ms,
    }


def has_unfolded(connection: Connection) -> bool:
    """Whether there is anything to fold."""
    return connection.execute(select(statistics_deltas.c.id).limit(1)).scalar() is not None


def fold(connection: Connection, limit: int) -> int:
    """Add up to ``limit`` counts to the statistics and remove them; how many. Only the leader may: it reads and then
    writes.
    """
    rows = connection.execute(_rows(statistics_deltas, "id", "job_id", "job_group").order_by("id").limit(limit)).all()
    sums: dict[Cell, Count] = {}
    groups: dict[int, int] = {ALL_JOBS: 0}
    for row in rows:
        groups |= {row.job_id: row.job_group, -row.job_group: row.job_group}
        for job_id in (row.job_id, ALL_JOBS, -row.job_group):
            cell = (job_id, row.hour, row.outcome)
            sums[cell] = sums.get(cell, Count()) + Count(row.executions, row.ran, row.total_ms, row.longest_ms)
    before = _stored(connection, sums)
    added = [
        _row((job_id, groups[job_id], hour, outcome), count + before.get((job_id, hour, outcome), Count()))
        for (job_id, hour, outcome), count in sorted(sums.items())
    ]
    upsert(connection, statistics, added, ("job_id", "hour", "outcome"))
    # By id: others that came meanwhile, some with lower ids, were not added.
    for ids in _chunks([row.id for row in rows]):
        connection.execute(delete(statistics_deltas).where(among(connection, statistics_deltas.c.id, ids)))
    return len(rows)


def _stored(connection: Connection, cells: Iterable[Cell]) -> dict[Cell, Count]:
    hours: dict[int, set[int]] = {}
    for job_id, hour, _outcome in cells:
        hours.setdefault(hour, set()).add(job_id)
    found: dict[Cell, Count] = {}
    for hour, job_ids in hours.items():
        for some in _chunks(sorted(job_ids)):
            those = (statistics.c.hour == hour, among(connection, statistics.c.job_id, some))
            for row in connection.execute(_rows(statistics, "job_id").where(*those)):
                found[row.job_id, row.hour, row.outcome] = Count(row.executions, row.ran, row.total_ms, row.longest_ms)
    return found


def _chunks(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(numbers), _KEYS_PER_STATEMENT):
        yield numbers[start : start + _KEYS_PER_STATEMENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Whose counts, and of which hours: those from ``since`` on, before ``until``. Without job and group: all, or,
    where only some may be seen, those of ``groups``.
    """

    since: int
    until: int
    job_id: int | None = None
    job_group: int | None = None
    groups: frozenset[int] | None = None

    def within(self, allowed: frozenset[int] | None) -> "Span":
        """The same, kept to these groups; None: to none."""
        job_group, groups = narrowed(self.job_group, allowed)
        return replace(self, job_group=job_group, groups=groups)

    @property
    def named_groups(self) -> frozenset[int] | None:
        return self.groups if self.job_group is None else frozenset({self.job_group})

    @property
    def keys(self) -> list[int]:
        """The job, or what stands for the jobs of each group, or for all."""
        if self.job_id is not None:
            return [self.job_id]
        named = self.named_groups
        return [ALL_JOBS] if named is None else sorted(-group for group in named)


def counts_by_time(connection: Connection, span: Span, bucket: int) -> dict[int, dict[Status, Count]]:
    """Counts by status, for each ``bucket`` of so many ms that has any; by its first instant."""
    counted = _counted(span).subquery()
    start = (counted.c.hour - counted.c.hour % literal(bucket)).label("start")
    sums = select(start, counted.c.outcome, *_sums(counted.c)).group_by(start, counted.c.outcome)
    found: dict[int, dict[Status, Count]] = {}
    for start_of, outcome, *count in connection.execute(sums).all():  # all at once: a month of hours has thousands
        found.setdefault(int(start_of), {})[_STATUSES[outcome]] = Count(*map(int, count))
    return found


def earliest_start(connection: Connection, ended_since: int) -> int:
    """The first instant at which anything can have begun to run that ended at ``ended_since`` or later."""
    hours = counts_by_time(connection, Span(since=ended_since - ended_since % HOUR, until=2**62), HOUR)
    starts = [hour - count.longest_ms for hour, counts in hours.items() for count in counts.values()]
    return min([ended_since, *starts])


def counts_by_status(connection: Connection, span: Span) -> dict[Status, Count]:
    """Counts of the whole span, for each status that has any."""
    counted = _counted(span).subquery()
    sums = select(counted.c.outcome, *_sums(counted.c)).group_by(counted.c.outcome)
    return {_STATUSES[outcome]: Count(*map(int, count)) for outcome, *count in connection.execute(sums)}


def open_counts(
    connection: Connection,
    *,
    job_id: int | None = None,
    job_group: int | None = None,
    groups: Collection[int] | None = None,
) -> dict[Phase, int]:
    """How many executions, of a job, of a group, of some or of all, are in each open phase that has any."""
    phase = executions.c.phase
    counted = select(phase, func.count().label("n")).where(phase.in_(OPEN_PHASES)).group_by(phase)
    if job_id is not None:
        counted = counted.where(executions.c.job_id == job_id, has_outcome(0))
    if job_group is not None:
        counted = counted.where(executions.c.job_group == job_group)
    counted = counted.where(*in_groups(executions.c.job_group, groups))
    return {Phase(row.phase): row.n for row in connection.execute(counted)}


def _counted(span: Span) -> CompoundSelect[Any]:
    """The rows of a span: those of the statistics, and those not folded into them yet. One statement, so that a fold
    meanwhile moves nothing from one to the other unseen.
    """
    folded = _rows(statistics).where(statistics.c.job_id.in_(span.keys))
    fresh = _rows(statistics_deltas)
    if span.job_id is not None:
        fresh = fresh.where(statistics_deltas.c.job_id == span.job_id)
        folded = folded.where(*in_groups(statistics.c.job_group, span.named_groups))
    fresh = fresh.where(*in_groups(statistics_deltas.c.job_group, span.named_groups))
    return union_all(
        folded.where(statistics.c.hour >= span.since, statistics.c.hour < span.until),
        fresh.where(statistics_deltas.c.hour >= span.since, statistics_deltas.c.hour < span.until),
    )


def _rows(table: Table, *more: str) -> Select[Any]:
    """What was counted in each hour, and ``more`` of its columns."""
    names = (*more, "hour", "outcome", "executions", "total_ms", "longest_ms")
    return select(*(table.c[name] for name in names), ran_in(table).label("ran"))


def ran_in(table: Table) -> ColumnElement[int]:
    """How many ran. What an earlier version counted does not say: there all did that an executor had."""
    had = case((table.c.outcome == OUTCOMES[Status.TRIGGER_FAILED], 0), else_=table.c.executions)
    return func.coalesce(table.c.ran, had)


def _sums(columns: Any) -> list[ColumnElement[Any]]:
    return [
        func.sum(columns.executions).label("executions"),
        func.sum(columns.ran).label("ran"),
        func.sum(columns.total_ms).label("total_ms"),
        func.max(columns.longest_ms).label("longest_ms"),
    ]
