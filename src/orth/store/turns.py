"""Executions that wait their turn on an executor, behind others of their job. Nobody tells of them: it is derived from
what the executor has.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from orth.domain.executions import Execution, Phase, Turn
from orth.domain.jobs import BlockStrategy
from orth.store.engines import among
from orth.store.tables import executions, has_outcome, jobs

_THERE = (Phase.DISPATCHED, Phase.RUNNING)
_JOBS_PER_STATEMENT = 500

_Place = tuple[int, int, str]
"""A job, the group it was in and an address. Who may see one execution may see all of the same job and group."""


def turns_of(connection: Connection, asked: Iterable[Execution], now: int) -> dict[int, Turn]:
    """The turns of those of these executions that wait for others of their job where they are."""
    taken = [one for one in asked if one.phase is Phase.DISPATCHED and one.executor_address is not None]
    places = _places(connection, {one.job_id for one in taken}) if taken else {}
    there = _there(connection, sorted(places), now)
    found: dict[int, Turn] = {}
    for one in taken:
        others = there.get((one.job_id, one.job_group, str(one.executor_address)), ())
        before = [other.id for other in others if other.phase == Phase.RUNNING or other.id < one.id]
        if not _held(one, now) and one.job_id in places and len(before) >= places[one.job_id]:
            found[one.id] = Turn(len(before) - places[one.job_id] + 1, before[0])
    return found


def _places(connection: Connection, ids: Iterable[int]) -> dict[int, int]:
    """How many at once an executor runs of those of these jobs whose executions wait for each other."""
    found: dict[int, int] = {}
    columns = select(jobs.c.id, jobs.c.executor_block_strategy, jobs.c.executor_concurrency)
    for some in _parts(sorted(ids)):
        for row in connection.execute(columns.where(among(connection, jobs.c.id, some))):
            if row.executor_block_strategy == BlockStrategy.SERIAL_EXECUTION:
                found[row.id] = 1
            elif row.executor_block_strategy == BlockStrategy.CONCURRENT:
                found[row.id] = max(1, row.executor_concurrency)
    return found


def _there(connection: Connection, ids: Sequence[int], now: int) -> Mapping[_Place, Sequence[Row[Any]]]:
    """What executors have of these jobs and do not hold for later: first what is known to run, then by id."""
    columns = executions.c
    found: defaultdict[_Place, list[Row[Any]]] = defaultdict(list)
    rows: list[Row[Any]] = []
    for some in _parts(ids):
        rows += connection.execute(
            select(columns.id, columns.job_id, columns.job_group, columns.executor_address)
            .add_columns(columns.phase, columns.not_before)
            .where(among(connection, columns.job_id, some), has_outcome(0), columns.phase.in_(_THERE))
        )
    # Sorted here: asked for an order, SQLite would walk the jobs' whole history in that order.
    for row in sorted(rows, key=lambda row: (row.phase != Phase.RUNNING, row.id)):
        if row.phase == Phase.RUNNING or not _held(row, now):
            found[row.job_id, row.job_group, row.executor_address].append(row)
    return found


def _held(one: Execution | Row[Any], now: int) -> bool:
    """Whether it was sent ahead of its time, for which it waits there and not for others."""
    return one.not_before is not None and one.not_before > now


def _parts(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + _JOBS_PER_STATEMENT] for start in range(0, len(ids), _JOBS_PER_STATEMENT))
