"""What may be running of a job: executions from the commit that addresses or offers them until they have ended at their
executor.

Open executions are their own record. An execution that ended here before its executor confirmed the end has a row in
``orth_unconfirmed_end`` until then. Tests of code run beside their job and do not count.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    and_,
    case,
    delete,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
    union_all,
)

from orth.domain.executions import TEST_KEY, Execution, Phase
from orth.domain.overlap import WHOLE, Key, Running, key_of
from orth.domain.reasons import BUSY_ELSEWHERE
from orth.store.engines import among, insert_new, locked
from orth.store.executions import READABLE, execution_of
from orth.store.record_tables import statistics
from orth.store.tables import executions, has_outcome, unconfirmed_ends

_IDS_PER_STATEMENT = 500
_ENDS_PER_STATEMENT = 1_000

due_at: ColumnElement[int] = func.coalesce(executions.c.not_before, executions.c.trigger_time)
shard_of_overlap: ColumnElement[int] = case(
    (executions.c.shard_total > literal_column("1"), executions.c.shard_index), else_=literal_column(str(WHOLE))
)
waits_for_job = and_(executions.c.phase == Phase.OPENED, executions.c.reason_code == BUSY_ELSEWHERE)


def overlaps_with(index: ColumnElement[int], shard: int) -> ColumnElement[bool]:
    """Whether executions of this index overlap with one of the index ``shard``."""
    return true() if shard == WHOLE else index.in_((shard, WHOLE))


@dataclass(frozen=True, slots=True)
class UnconfirmedEnd:
    """An execution that ended here and may still be running at its executor."""

    id: int
    job_id: int
    job_group: int
    trigger_time: int
    executor_address: str | None
    incarnation: str | None
    queue: str | None


def possibly_running(
    connection: Connection, jobs: Iterable[int], now: int, besides: Collection[int] = ()
) -> list[Running]:
    """What may be running of these jobs, what waits for that to end, and what was planned ahead and not sent; without
    the executions ``besides``.
    """
    found: list[Running] = []
    for chunk in _chunks(sorted(jobs)):
        for row in connection.execute(_possibly_running(connection, chunk, now, besides)):
            job_id, shard, address, phase, reason_code, not_until, count, due, first_id = row
            found.append(Running((job_id, shard), address, phase, reason_code, not_until, count, (due, first_id)))
    return found


def _possibly_running(
    connection: Connection, jobs: Sequence[int], now: int, besides: Collection[int]
) -> CompoundSelect[Any]:
    table, ended = executions.c, unconfirmed_ends.c
    is_ahead = table.not_before > now
    opened = (
        select(
            table.job_id,
            shard_of_overlap.label("overlap_shard"),
            table.executor_address,
            table.phase,
            table.reason_code,
            case((is_ahead, table.not_before), else_=0).label("not_until"),
            func.count(),
            func.min(due_at),
            func.min(table.id),
        )
        .where(
            among(connection, table.job_id, jobs),
            has_outcome(0),
            or_(table.phase != Phase.OPENED, table.reason_code == BUSY_ELSEWHERE, is_ahead),
            table.trigger_key.not_like(f"{TEST_KEY}%"),
        )
        # By names: PostgreSQL does not know that an expression with parameters is the one above.
        .group_by(table.job_id, literal_column("overlap_shard"), table.executor_address, table.phase)
        .group_by(table.reason_code, literal_column("not_until"))
    )
    if besides:
        opened = opened.where(~among(connection, table.id, sorted(besides)))
    unconfirmed = (
        select(
            ended.job_id,
            ended.shard_index,
            ended.executor_address,
            literal(Phase.ENDED.value),
            null(),
            literal(0),
            func.count(),
            func.min(ended.ended_at),
            func.min(ended.execution_id),
        )
        .where(among(connection, ended.job_id, jobs))
        .group_by(ended.job_id, ended.shard_index, ended.executor_address)
    )
    return union_all(opened, unconfirmed)


def jobs_waiting(connection: Connection) -> set[int]:
    """The jobs of which executions wait because another one may be running."""
    waiting = select(executions.c.job_id).where(waits_for_job).distinct()
    return set(connection.scalars(waiting))


def longest_waiting(connection: Connection, places: Mapping[Key, int]) -> list[int]:
    """The executions of jobs and shard indexes that wait and were due first, at most so many of each."""
    most, found = max(places.values(), default=0), list[tuple[Key, int, int]]()
    for chunk in _chunks(sorted({job_id for job_id, _shard in places})):
        rank = func.row_number().over(
            partition_by=(executions.c.job_id, shard_of_overlap), order_by=(due_at, executions.c.id)
        )
        waiting = (
            select(executions.c.job_id, shard_of_overlap.label("shard"), rank.label("rank"), executions.c.id)
            .where(among(connection, executions.c.job_id, chunk), has_outcome(0), waits_for_job)
            .subquery()
        )
        first = select(waiting.c.job_id, waiting.c.shard, waiting.c.rank, waiting.c.id).where(waiting.c.rank <= most)
        found += [((job_id, shard), rank, one) for job_id, shard, rank, one in connection.execute(first)]
    return [one for key, rank, one in sorted(found) if rank <= places.get(key, 0)]


def covered_by(connection: Connection, covering: Execution) -> list[Execution]:
    """The executions before this one that would overlap with it and are in a queue, were taken from one, or wait."""
    columns = executions.c
    shard = key_of(covering)[1]
    earlier = select(executions).where(
        columns.job_id == covering.job_id,
        has_outcome(0),
        overlaps_with(shard_of_overlap, shard),
        columns.id < covering.id,
        or_(waits_for_job, and_(columns.phase != Phase.OPENED, columns.queue.is_not(None))),
        columns.trigger_key.not_like(f"{TEST_KEY}%"),
        READABLE,
    )
    return [execution_of(row) for row in connection.execute(locked(earlier.order_by(columns.id), connection))]


def usual_durations(connection: Connection, jobs: Collection[int], since: int) -> dict[int, float]:
    """How long executions of these jobs took on average since an hour, in ms, where any is counted."""
    found: dict[int, float] = {}
    for chunk in _chunks(sorted(jobs)):
        took = (
            select(statistics.c.job_id, func.sum(statistics.c.total_ms), func.sum(statistics.c.ran))
            .where(among(connection, statistics.c.job_id, chunk), statistics.c.hour >= since)
            .group_by(statistics.c.job_id)
        )
        found |= {job_id: float(total) / float(ran) for job_id, total, ran in connection.execute(took) if ran}
    return found


# --- ends that are not confirmed


def note_unconfirmed(connection: Connection, ended: Sequence[Execution], now: int) -> None:
    """Keep the place of executions that end in this transaction and may still be running."""
    rows = [
        {
            "execution_id": one.id,
            "job_id": one.job_id,
            "job_group": one.job_group,
            "shard_index": key_of(one)[1],
            "trigger_time": one.trigger_time,
            "executor_address": one.executor_address,
            "incarnation": one.incarnation,
            "queue": one.queue,
            "ended_at": now,
        }
        for one in ended
    ]
    insert_new(connection, unconfirmed_ends, rows)


def confirm_ends(connection: Connection, ids: Collection[int]) -> set[int]:
    """These have ended at their executor, or count as ended; the jobs of those that were not confirmed before."""
    jobs: set[int] = set()
    for chunk in _chunks(sorted(ids)):
        those = among(connection, unconfirmed_ends.c.execution_id, chunk)
        jobs |= set(connection.scalars(select(unconfirmed_ends.c.job_id).where(those)))
        connection.execute(delete(unconfirmed_ends).where(those))
    return jobs


def list_unconfirmed(connection: Connection, limit: int, *, queued: bool, after: int = 0) -> list[UnconfirmedEnd]:
    """Those that were offered in a queue, or those sent to an address; in order of id, after ``after``."""
    columns = unconfirmed_ends.c
    rows = select(
        columns.execution_id,
        columns.job_id,
        columns.job_group,
        columns.trigger_time,
        columns.executor_address,
        columns.incarnation,
        columns.queue,
    ).where(columns.execution_id > after, columns.queue.is_not(None) if queued else columns.queue.is_(None))
    return [UnconfirmedEnd(*row) for row in connection.execute(rows.order_by(columns.execution_id).limit(limit))]


def list_all_unconfirmed(connection: Connection, *, queued: bool) -> list[UnconfirmedEnd]:
    """As above, all of them: those that are there for long must not hide the others."""
    found: list[UnconfirmedEnd] = []
    while some := list_unconfirmed(connection, _ENDS_PER_STATEMENT, queued=queued, after=found[-1].id if found else 0):
        found += some
        if len(some) < _ENDS_PER_STATEMENT:
            break
    return found


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
