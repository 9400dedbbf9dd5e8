"""Counts of ended executions: each end once, whoever reads and folds in whatever order."""

from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution, Phase, Status
from orth.domain.jobs import TriggerCause
from orth.store.database import Database
from orth.store.dispatching import record_accepted
from orth.store.record_tables import statistics, statistics_deltas
from orth.store.statistics import (
    HOUR,
    Count,
    Span,
    count_ends,
    counts_by_status,
    counts_by_time,
    duration,
    earliest_start,
    fold,
    has_unfolded,
    open_counts,
)
from tests.store.builders import NOW, assign, open_some

DAY = 24 * HOUR
TODAY = NOW - NOW % DAY
EVER = Span(since=0, until=NOW * 2)


def ended(codes: tuple[int, int] = (SUCCESS, SUCCESS), *, job: int = 1, group: int = 1, took: int = 0) -> Execution:
    return Execution(
        id=1,
        job_id=job,
        job_group=group,
        cause=TriggerCause.CRON,
        trigger_code=codes[0],
        handle_code=codes[1],
        phase=Phase.ENDED,
        schedule_time=None,
        trigger_time=NOW - took,
        executor_address="http://10.0.0.7:9999",
    )


def rows(connection: Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


async def test_the_ends_of_a_batch_are_one_row_per_job_and_outcome(db: Database) -> None:
    batch = [ended(took=10), ended(took=30), ended((SUCCESS, FAILURE)), ended(job=2, took=5)]
    await db.tx(count_ends, batch, NOW)
    assert await db.read(rows, statistics_deltas) == 3
    assert await db.read(counts_by_status, replace(EVER, job_id=1)) == {
        Status.SUCCESS: Count(2, 2, 40, 30),
        Status.FAILED: Count(1, 1, 0, 0),
    }
    assert await db.read(counts_by_status, EVER) == {
        Status.SUCCESS: Count(3, 3, 45, 30),
        Status.FAILED: Count(1, 1, 0, 0),
    }


async def test_no_end_is_no_row(db: Database) -> None:
    await db.tx(count_ends, [], NOW)
    assert not await db.read(has_unfolded)
    assert await db.tx(fold, 10) == 0
    assert await db.read(counts_by_status, EVER) == {}


async def test_folding_changes_no_answer_and_empties_the_deltas(db: Database) -> None:
    spans = [EVER, replace(EVER, job_id=1), replace(EVER, job_group=1), replace(EVER, job_group=2)]
    for number in range(7):
        batch = [ended(took=number), ended((FAILURE, 0), job=2), ended((SUCCESS, TIMED_OUT), job=3, group=2)]
        await db.tx(count_ends, batch, NOW + number % 3 * HOUR)
    before = [await db.read(counts_by_time, span, HOUR) for span in spans]
    left = 21
    while await db.read(has_unfolded):
        assert await db.tx(fold, 4) == min(4, left)
        left -= min(4, left)
        assert [await db.read(counts_by_time, span, HOUR) for span in spans] == before
    assert left == 0
    await db.tx(count_ends, [ended(took=100)], NOW)
    await db.tx(fold, 4)
    assert (await db.read(counts_by_status, replace(EVER, job_id=1)))[Status.SUCCESS].executions == 8


async def test_a_job_that_changed_its_group_between_two_ends_is_counted_whole(db: Database) -> None:
    await db.tx(count_ends, [ended(group=1)], NOW)
    await db.tx(count_ends, [ended(group=2)], NOW)
    assert await db.tx(fold, 10) == 2
    assert await db.read(counts_by_status, replace(EVER, job_id=1)) == {Status.SUCCESS: Count(2, 2, 0, 0)}
    for group in (1, 2):
        assert await db.read(counts_by_status, replace(EVER, job_group=group)) == {Status.SUCCESS: Count(1, 1, 0, 0)}


async def test_a_fold_that_fails_counts_nothing_twice(db: Database) -> None:
    await db.tx(count_ends, [ended(took=3)], NOW)

    def interrupted(connection: Connection) -> None:
        fold(connection, 10)
        raise ValueError("killed here")

    for _ in range(2):
        with pytest.raises(ValueError, match="killed here"):
            await db.tx(interrupted)
    assert await db.read(rows, statistics) == 0
    await db.tx(fold, 10)
    assert await db.read(counts_by_status, EVER) == {Status.SUCCESS: Count(1, 1, 3, 3)}


async def test_spans_and_buckets_have_sharp_edges(db: Database) -> None:
    for at in (TODAY - 1, TODAY, TODAY + HOUR - 1, TODAY + HOUR, TODAY + DAY):
        await db.tx(count_ends, [ended()], at)
    for folded in (False, True):
        if folded:
            await db.tx(fold, 10)
        hours = await db.read(counts_by_time, Span(since=TODAY, until=TODAY + DAY), HOUR)
        assert {at - TODAY: counts[Status.SUCCESS].executions for at, counts in hours.items()} == {0: 2, HOUR: 1}
        days = await db.read(counts_by_time, EVER, DAY)
        assert {at - TODAY: counts[Status.SUCCESS].executions for at, counts in days.items()} == {-DAY: 1, 0: 3, DAY: 1}


def test_how_long_it_took_is_never_absurd() -> None:
    one = ended(took=1000)
    assert duration(one, NOW) == 1000
    assert duration(replace(one, start_time=NOW - 400), NOW) == 400
    assert duration(replace(one, start_time=0), NOW) == 1000  # an executor whose clock is wrong
    assert duration(replace(one, start_time=NOW + 5000), NOW) == 0


def test_what_an_executor_measured_is_how_long_it_took() -> None:
    """However late its result is, and for whoever says nothing of when it began."""
    one = replace(ended(took=9_000), start_time=NOW - 9_000)
    assert duration(replace(one, duration_ms=24), NOW) == 24
    assert duration(replace(one, duration_ms=0), NOW) == 0
    assert duration(replace(one, duration_ms=24, trigger_code=FAILURE, handle_code=0), NOW) is None


def test_what_never_began_took_no_time() -> None:
    one = replace(ended((SUCCESS, FAILURE), took=1000), incarnation="of-node-1")
    assert duration(one, NOW) is None  # its executor says when something begins: this was killed or taken back before
    assert duration(replace(one, start_time=NOW - 400), NOW) == 400
    foreign = replace(one, incarnation=None, dispatch_time=NOW - 700)
    assert duration(foreign, NOW) == 700
    assert duration(replace(foreign, executor_address=None), NOW) is None
    assert duration(replace(foreign, trigger_code=FAILURE, handle_code=0), NOW) is None


async def test_means_are_of_what_ran(db: Database) -> None:
    never = replace(ended((SUCCESS, FAILURE), took=9000), incarnation="of-node-1")
    await db.tx(count_ends, [ended(took=10), ended((SUCCESS, FAILURE), took=30), never], NOW)
    for _folded in range(2):
        assert await db.read(counts_by_status, EVER) == {
            Status.SUCCESS: Count(1, 1, 10, 10),
            Status.FAILED: Count(2, 1, 30, 30),
        }
        await db.tx(fold, 10)


async def test_counts_of_an_earlier_version_are_of_what_executors_had(db: Database) -> None:
    await db.tx(count_ends, [ended(took=10), ended((FAILURE, 0))], NOW)
    await db.tx(lambda c: c.execute(statistics_deltas.update().values(ran=None)))
    expected = {Status.SUCCESS: Count(1, 1, 10, 10), Status.TRIGGER_FAILED: Count(1)}
    for _folded in range(2):
        assert await db.read(counts_by_status, EVER) == expected
        await db.tx(fold, 10)


async def test_nothing_that_ended_since_began_before_the_longest_of_them(db: Database) -> None:
    at = TODAY + 12 * HOUR
    assert await db.read(earliest_start, at) == at
    await db.tx(count_ends, [ended(took=9 * HOUR)], NOW)
    ended_at = NOW - NOW % HOUR
    for _folded in range(2):
        assert await db.read(earliest_start, NOW) == ended_at - 9 * HOUR
        assert await db.read(earliest_start, NOW + HOUR) == NOW + HOUR
        await db.tx(fold, 10)


async def test_open_executions_by_phase(db: Database) -> None:
    first = await db.tx(open_some, 5)
    await db.tx(open_some, 2, prefix="other", job_id=2, job_group=2)
    await db.tx(assign, *first[:3])
    await db.tx(record_accepted, first[:1], NOW)
    assert await db.read(open_counts) == {Phase.OPENED: 4, Phase.DISPATCHING: 2, Phase.DISPATCHED: 1}
    assert await db.read(open_counts, job_id=2) == {Phase.OPENED: 2}
    assert await db.read(open_counts, job_group=1) == {Phase.OPENED: 2, Phase.DISPATCHING: 2, Phase.DISPATCHED: 1}


CODES = ((SUCCESS, SUCCESS), (SUCCESS, FAILURE), (SUCCESS, TIMED_OUT), (FAILURE, 0))
an_end = st.builds(
    ended, st.sampled_from(CODES), job=st.integers(1, 3), group=st.integers(1, 2), took=st.integers(0, 99)
)
steps = st.lists(st.one_of(st.lists(an_end, max_size=6), st.integers(1, 5)), max_size=12)


@given(steps=steps)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_interleaving_counts_each_end_once(db: Database, steps: list[list[Execution] | int]) -> None:
    await db.tx(lambda c: [c.execute(table.delete()) for table in (statistics, statistics_deltas)] and None)
    expected: dict[Status, Count] = {}
    for step in steps:
        if isinstance(step, int):
            await db.tx(fold, step)
            continue
        await db.tx(count_ends, step, NOW)
        for one in step:
            took = duration(one, NOW)
            new = Count(1) if took is None else Count(1, 1, took, took)
            expected[one.status] = expected.get(one.status, Count()) + new
    assert await db.read(counts_by_status, EVER) == expected
