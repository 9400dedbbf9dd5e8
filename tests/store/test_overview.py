"""The first look at everything: counted in the roll-ups, looked up one by one, and only in the groups one may see."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, update

from orth.coordinator.finishing import finish
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.domain.fires import FireDecision
from orth.domain.jobs import Job, TriggerCause
from orth.domain.reasons import DISCARDED, EXECUTOR_GONE, JOB_CHANGED, JOB_STOPPED, KILLED
from orth.store.database import Database
from orth.store.dispatching import record_accepted
from orth.store.executions import Ending, ids_of_trigger, open_executions
from orth.store.fires import record_fires
from orth.store.job_board import Only, Wanted, executors_online, list_board
from orth.store.jobs import create_job, get_job, replace_job
from orth.store.overview import (
    STREAK_LIMIT,
    Groups,
    Known,
    count_executors,
    count_jobs,
    list_failing,
    list_lateness,
    list_slowest,
    list_upcoming,
    names_of,
)
from orth.store.registry import Beat, record_beats
from orth.store.statistics import HOUR, fold
from orth.store.tables import executions
from tests.store.builders import NOW, a_due_job, a_job, an_opening, assign, open_some, stored_group, success

DAY_AGO = NOW - 24 * HOUR


async def ended(db: Database, job: int, group: int, *codes: int, took: int = 0, at: int = NOW) -> list[int]:
    """Executions of a job that ended with these handle codes, one after the other."""
    found = []
    for number, code in enumerate(codes):
        opened = {"prefix": f"{at}-{number}", "job_id": job, "job_group": group}
        (one,) = await db.tx(lambda connection, opened=opened: open_some(connection, 1, **opened))
        await db.tx(lambda connection, one=one: assign(connection, one))
        ending = Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code, start_time=at + number)
        await db.tx(finish, [ending], at + number + took)
        found.append(one)
    return found


async def broadcast(db: Database, job: int, group: int, key: str, *codes: int | None, number: int) -> list[int]:
    """The shards of one trigger, ended with these handle codes; None: still open. ``number``: of the broadcast."""
    common = {"job_id": job, "job_group": group, "broadcast_id": number, "shard_total": len(codes)}
    openings = [an_opening(key, shard_index=index, **common) for index in range(len(codes))]
    await db.tx(open_executions, openings, NOW)
    ids = await db.read(ids_of_trigger, job, key)
    await db.tx(lambda connection: assign(connection, *ids))
    ends = [success(one, handle_code=code) for one, code in zip(ids, codes, strict=True) if code is not None]
    await db.tx(finish, ends, NOW)
    return list(ids)


async def two_groups(db: Database) -> tuple[int, int]:
    return await stored_group(db, "first"), await stored_group(db, "second")


async def test_jobs_are_counted_by_whether_they_are_started(db: Database) -> None:
    first, second = await two_groups(db)
    paused = replace(a_due_job(second), trigger_status=False)
    for job in (a_due_job(first), a_due_job(second), a_job(second), a_job(second), paused):
        await db.tx(create_job, job, NOW)
    assert await db.read(count_jobs, None) == (2, 3, 1)
    assert await db.read(count_jobs, {second}) == (1, 3, 1)
    assert await db.read(count_jobs, {first}) == (1, 0, 0)
    assert await db.read(count_jobs, frozenset()) == (0, 0, 0)


async def test_executors_are_counted_by_their_last_beat(db: Database) -> None:
    first, _second = await two_groups(db)
    await db.tx(record_beats, [Beat("first", "http://10.0.0.1:1")], NOW - 60_000)
    await db.tx(record_beats, [Beat("first", "http://10.0.0.2:1"), Beat("second", "http://10.0.0.3:1")], NOW)
    assert await db.read(count_executors, NOW - 33_000, None) == (2, 3)
    assert await db.read(count_executors, NOW - 33_000, {first}) == (1, 2)
    assert await db.read(count_executors, NOW - 33_000, frozenset()) == (0, 0)


async def test_the_soonest_fires_come_first_and_each_job_once(db: Database) -> None:
    first, second = await two_groups(db)
    late = await db.tx(create_job, a_due_job(first, NOW + 9_000), NOW)
    soon = await db.tx(create_job, a_due_job(second, NOW + 1_000, job_desc="soon"), NOW)
    await db.tx(create_job, a_job(first), NOW)
    assert [one.job_id for one in await db.read(list_upcoming, 10, None, NOW)] == [soon, late]
    (only,) = await db.read(list_upcoming, 1, None, NOW)
    assert (only.job_desc, only.due_time, only.schedule_conf) == ("soon", NOW + 1_000, "30")
    assert [one.job_id for one in await db.read(list_upcoming, 10, {first}, NOW)] == [late]


async def test_a_fire_that_is_planned_already_is_still_to_come(db: Database) -> None:
    first, _second = await two_groups(db)
    job = await db.tx(create_job, a_due_job(first, NOW + 30_000), NOW)
    other = await db.tx(create_job, a_due_job(first, NOW + 9_000), NOW)
    planned = [
        FireDecision(job, NOW + after, NOW + after, 1, decision, "", 1)
        for after, decision in ((-1, "run"), (2_000, "skipped"), (4_000, "run"), (14_000, "run"))
    ]
    await db.tx(record_fires, planned, 1, NOW)

    async def coming(now: int) -> list[tuple[int, int]]:
        return [(one.job_id, one.due_time - NOW) for one in await db.read(list_upcoming, 10, None, now)]

    assert await coming(NOW) == [(job, 4_000), (other, 9_000)]
    assert await coming(NOW + 5_000) == [(other, 9_000), (job, 14_000)]
    assert await coming(NOW + 20_000) == [(other, 9_000), (job, 30_000)]


async def test_what_was_taken_back_before_it_began_is_no_failure_of_its_job(db: Database) -> None:
    first, _second = await two_groups(db)
    job = await db.tx(create_job, a_job(first), NOW)
    (taken_back,) = await ended(db, job, first, FAILURE)

    def write(connection: Connection, reason: str) -> None:
        connection.execute(update(executions).where(executions.c.id == taken_back).values(reason_code=reason))

    for reason, failing in (
        (JOB_STOPPED, []),
        (JOB_CHANGED, []),
        (KILLED, []),
        (DISCARDED, []),
        (EXECUTOR_GONE, [job]),
    ):
        await db.tx(write, reason)
        assert [one.job_id for one in await db.read(list_failing, DAY_AGO, 10, None)] == failing
        online = await db.read(executors_online, NOW, None)
        listed = await db.read(list_board, Wanted(only=Only.FAILING), online, before=None, limit=10)
        assert [one.id for one in listed] == failing


async def test_a_job_fails_until_it_succeeds(db: Database) -> None:
    first, second = await two_groups(db)
    bad = await db.tx(create_job, a_job(first, job_desc="bad"), NOW)
    mended = await db.tx(create_job, a_job(second), NOW)
    await ended(db, bad, first, FAILURE, SUCCESS, TIMED_OUT, FAILURE)
    last = (await ended(db, bad, first, TIMED_OUT, at=NOW + 100))[0]
    await ended(db, mended, second, FAILURE, SUCCESS)

    async def failing(seen: Groups = None) -> list[tuple[int, int, int]]:
        return [(one.job_id, one.execution_id, one.streak) for one in await db.read(list_failing, DAY_AGO, 10, seen)]

    assert await failing() == [(bad, last, 3)]
    await db.tx(fold, 100)
    assert await failing() == [(bad, last, 3)], "the same from the folded counts"
    assert await failing({second}) == []
    (one,) = await db.read(list_failing, DAY_AGO, 10, None)
    assert (one.job_desc, one.trigger_code, one.handle_code, one.ended_at) == ("bad", SUCCESS, TIMED_OUT, NOW + 100)
    assert await db.read(list_failing, NOW + HOUR, 10, None) == [], "not since then"


async def test_what_was_tried_again_fails_once_when_its_last_attempt_has(db: Database) -> None:
    first, _second = await two_groups(db)
    bad = await db.tx(create_job, a_job(first), NOW)
    attempts = await ended(db, bad, first, FAILURE, FAILURE, FAILURE, TIMED_OUT)

    def follow(connection: Connection, *ids: int) -> None:
        for before, one in pairwise(ids):
            retry = {"cause": TriggerCause.RETRY, "origin_id": before}
            connection.execute(update(executions).where(executions.c.id == one).values(**retry))

    async def failing() -> list[tuple[int, int]]:
        return [(one.execution_id, one.streak) for one in await db.read(list_failing, DAY_AGO, 10, None)]

    assert await failing() == [(attempts[-1], 4)]
    await db.tx(follow, *attempts[:3])
    assert await failing() == [(attempts[-1], 2)]
    await db.tx(follow, *attempts)
    assert await failing() == [(attempts[-1], 1)]
    (waiting,) = await db.tx(lambda connection: open_some(connection, 1, prefix="again", job_id=bad, job_group=first))
    await db.tx(follow, attempts[-1], waiting)
    assert await failing() == [], "its last attempt is still to come"


async def test_a_shard_that_succeeds_does_not_end_the_failure_of_another(db: Database) -> None:
    first, _second = await two_groups(db)
    job = await db.tx(create_job, a_job(first), NOW)

    async def failing() -> list[tuple[int, int]]:
        return [(one.execution_id, one.streak) for one in await db.read(list_failing, DAY_AGO, 10, None)]

    shards = await broadcast(db, job, first, "fire:1", SUCCESS, FAILURE, SUCCESS, number=1)
    assert await failing() == [(shards[1], 1)]
    shards = await broadcast(db, job, first, "fire:2", FAILURE, TIMED_OUT, SUCCESS, number=2)
    assert await failing() == [(shards[1], 2)], "the shards of one trigger count once"
    await broadcast(db, job, first, "fire:3", SUCCESS, SUCCESS, SUCCESS, number=3)
    assert await failing() == []
    shards = await broadcast(db, job, first, "fire:4", SUCCESS, FAILURE, SUCCESS, number=4)
    assert await failing() == [(shards[1], 1)]
    await ended(db, job, first, SUCCESS)
    assert await failing() == [], "a later trigger without shards ends it too"


async def test_a_shard_that_succeeds_at_a_later_attempt_has_not_failed(db: Database) -> None:
    first, _second = await two_groups(db)
    job = await db.tx(create_job, a_job(first), NOW)
    await broadcast(db, job, first, "fire:1", FAILURE, SUCCESS, number=1)
    shards = await broadcast(db, job, first, "fire:2", SUCCESS, FAILURE, SUCCESS, number=2)
    (again,) = await broadcast(db, job, first, f"retry:{shards[1]}", SUCCESS, number=2)
    retry = {"cause": TriggerCause.RETRY, "origin_id": shards[1]}
    await db.tx(lambda c: c.execute(update(executions).where(executions.c.id == again).values(**retry)) and None)
    assert await db.read(list_failing, DAY_AGO, 10, None) == [], "and the broadcast ends the failure before it"


async def test_a_long_streak_is_counted_up_to_a_limit(db: Database) -> None:
    first, _second = await two_groups(db)
    bad = await db.tx(create_job, a_job(first), NOW)
    await ended(db, bad, first, *[FAILURE] * (STREAK_LIMIT + 5))
    (one,) = await db.read(list_failing, DAY_AGO, 10, None)
    assert one.streak == STREAK_LIMIT


async def test_the_longest_comes_first(db: Database) -> None:
    first, second = await two_groups(db)
    quick = await db.tx(create_job, a_job(first), NOW)
    slow = await db.tx(create_job, a_job(second, job_desc="slow"), NOW)
    await ended(db, quick, first, SUCCESS, SUCCESS, took=10)
    await ended(db, slow, second, SUCCESS, took=5_000)
    await ended(db, slow, second, FAILURE, took=1_000, at=NOW + 1)
    found = await db.read(list_slowest, DAY_AGO, 10, None)
    assert [one.job_id for one in found] == [slow, quick]
    assert (found[0].job_desc, found[0].ran, found[0].longest_ms) == ("slow", 2, 5_000)
    assert found[0].total_ms == 6_000
    assert [one.job_id for one in await db.read(list_slowest, DAY_AGO, 10, {first})] == [quick]


async def test_names_keep_the_order_and_leave_out_what_is_gone(db: Database) -> None:
    first, _second = await two_groups(db)
    one = await db.tx(create_job, a_job(first, job_desc="one"), NOW)
    two = await db.tx(create_job, a_job(first, job_desc="two", tags=("night", "billing")), NOW)
    names = await db.read(names_of, [two, 99, one], None)
    assert list(names.items()) == [(two, Known(first, "two", ("night", "billing"))), (one, Known(first, "one"))]
    assert await db.read(names_of, [], None) == {}


async def test_names_are_of_jobs_in_the_groups_that_may_be_seen(db: Database) -> None:
    first, second = await two_groups(db)
    one = await db.tx(create_job, a_job(first, job_desc="one"), NOW)
    assert await db.read(names_of, [one], {first}) == {one: Known(first, "one")}
    assert await db.read(names_of, [one], {second}) == await db.read(names_of, [one], frozenset()) == {}


async def test_a_job_that_was_moved_is_shown_where_it_is_with_what_it_did_there(db: Database) -> None:
    first, second = await two_groups(db)
    job = await db.tx(create_job, a_job(first, job_desc="before"), NOW)
    await ended(db, job, first, FAILURE, FAILURE, took=9_000)
    await db.tx(lambda connection: replace_job(connection, a_moved(get_job(connection, job), second), NOW))

    async def failing(*seen: int) -> list[tuple[int, int]]:
        return [(one.execution_id, one.streak) for one in await db.read(list_failing, DAY_AGO, 10, set(seen))]

    async def slow(*seen: int) -> list[tuple[str, int]]:
        return [(one.job_desc, one.longest_ms) for one in await db.read(list_slowest, DAY_AGO, 10, set(seen))]

    assert await failing(first) == await failing(second) == await failing(first, second) == []
    assert (await slow(first), await slow(second)) == ([], [])
    (here,) = await ended(db, job, second, FAILURE, took=5_000, at=NOW + 100_000)
    assert (await failing(first), await failing(second)) == ([], [(here, 1)])
    assert (await slow(first), await slow(second)) == ([], [("after", 5_000)])
    await ended(db, job, first, SUCCESS, at=NOW + 200_000)  # what was under way when it was moved
    assert await failing(second) == [(here, 1)]


def a_moved(job: Job, group: int) -> Job:
    return replace(job, job_group=group, job_desc="after")


async def test_fires_are_late_by_what_passed_until_they_began(db: Database) -> None:
    def taken(connection: Connection, prefix: str, after: int, **opened: Any) -> None:
        (one,) = open_some(connection, 1, prefix=prefix, **opened)
        assign(connection, one)
        record_accepted(connection, [one], NOW + after)

    await db.tx(taken, "fire:1", 40, job_group=1)
    await db.tx(taken, "fire:2", 9, job_group=2)
    await db.tx(taken, "fire:3", 700, job_group=1, not_before=NOW + 500)
    await db.tx(taken, "retry", 5_000, job_group=1)
    await db.tx(lambda connection: open_some(connection, 1, prefix="fire:4"))  # nobody has it yet
    assert await db.read(list_lateness, DAY_AGO, None) == [9, 40, 200], "what a job puts off itself is not late"
    assert await db.read(list_lateness, DAY_AGO, {2}) == [9]
    assert await db.read(list_lateness, NOW + 1, None) == [], "not since then"
