"""Finding executions: every filter alone and together, page by page, newest first."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution, Phase, Status
from orth.domain.jobs import TriggerCause
from orth.store.database import Database
from orth.store.dispatching import Assignment, assign_executions, record_accepted, record_unknown, take_due
from orth.store.execution_filters import Filter
from orth.store.execution_lists import Longest, find_longest, list_executions, look
from orth.store.executions import Ending, end_executions, open_executions
from orth.store.tables import executions
from tests.store.builders import NOW, an_opening, assign, execution, open_some

JOBS = (1, 2)
WENT_WRONG = frozenset({Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED})
OPEN = frozenset({Status.INIT, Status.PENDING})
INSTANTS = (NOW - 2000, NOW - 1000, NOW)


def some_of_every_status(connection: Connection) -> list[Execution]:
    """Seven executions of each of two jobs at each of three instants, in every status; newest first."""
    for job, at in itertools.product(JOBS, INSTANTS):
        openings = [an_opening(f"fire:{at}:{number}", job_id=job) for number in range(7)]
        open_executions(connection, openings, at)
        ids = [one.id for one in take_due(connection, NOW, 7)]
        assign(connection, *ids)
        record_unknown(connection, [(ids[0], "lost")], at)
        record_accepted(connection, [ids[2], *ids[4:]], at)
        endings = [
            Ending(execution_id=ids[3], trigger_code=FAILURE),
            Ending(execution_id=ids[4], trigger_code=SUCCESS, handle_code=SUCCESS),
            Ending(execution_id=ids[5], trigger_code=SUCCESS, handle_code=TIMED_OUT),
            Ending(execution_id=ids[6], trigger_code=SUCCESS, handle_code=404),
        ]
        end_executions(connection, endings, at)
    [opened] = open_some(connection, 1, prefix="waiting")
    return [execution(connection, number) for number in range(opened, opened - 43, -1)]


async def test_each_filter_finds_what_it_says(db: Database) -> None:
    everything = await db.tx(some_of_every_status)
    assert {one.status for one in everything} == set(Status)
    single = [frozenset({status}) for status in Status]
    for statuses, job, since in itertools.product(
        (None, *single, WENT_WRONG, OPEN), (None, 2, 3), (None, NOW, NOW + 1)
    ):
        found = await db.read(list_executions, Filter(job_id=job, statuses=statuses, since=since), limit=100)
        assert found == [
            one
            for one in everything
            if (job is None or one.job_id == job)
            and (since is None or one.trigger_time >= since)
            and (statuses is None or one.status in statuses)
        ]


@pytest.mark.parametrize("size", [5, 43, 100])
async def test_pages_join_to_the_whole_even_while_new_ones_come(db: Database, size: int) -> None:
    everything = await db.tx(some_of_every_status)
    pages: list[Execution] = []
    before = None
    while page := await db.read(list_executions, before=before, limit=size):
        assert len(page) <= size
        pages += page
        before = page[-1].id
        await db.tx(open_some, 1, prefix=f"new:{before}")
    assert pages == everything


async def test_pages_of_one_job_and_status_join_too(db: Database) -> None:
    everything = await db.tx(some_of_every_status)
    wanted = [one.id for one in everything if one.job_id == 2 and one.status is Status.PENDING]
    pending = Filter(job_id=2, statuses=frozenset({Status.PENDING}))
    first = await db.read(list_executions, pending, limit=2)
    rest = await db.read(list_executions, pending, before=first[-1].id, limit=9)
    assert [one.id for one in first + rest] == wanted
    assert len(wanted) == 3


# --- every filter, and the bounded look ---

ADDRESSES = ("http://10.0.0.1:9999", "http://10.0.0.2:9999")


def a_mixture(connection: Connection) -> list[Execution]:
    """Sixty executions that differ in everything one can ask for; newest first."""
    for number in range(60):
        changes: dict[str, Any] = {
            "job_id": 1 + number % 3,
            "job_group": 1 + number % 2,
            "cause": (TriggerCause.CRON, TriggerCause.API, TriggerCause.RETRY)[number % 5 % 3],
            "batch_id": (None, 7)[number % 4 == 0],
            "executor_param": f"param {number}",
        }
        open_executions(connection, [an_opening(f"mix:{number}", **changes)], NOW + number * 1000)
    ids = [one.id for one in list_executions(connection, limit=60)][::-1]
    for number, one in enumerate(ids[:50]):
        assign_executions(connection, [Assignment(one, ADDRESSES[number % 7 % 2], None, "")], 1, NOW)
        if number % 4:
            code = (SUCCESS, SUCCESS, TIMED_OUT, FAILURE)[number % 4]
            message = ("100% done", "50_50", "a\\b Größe", "Done")[number // 4 % 4]
            ending = Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code, handle_msg=message)
            end_executions(connection, [ending], NOW + 60_000)
    return list_executions(connection, limit=60)


def is_meant(one: Execution, wanted: Filter) -> bool:
    texts = (one.handle_msg or "", one.trigger_msg or "", one.executor_param)
    return (
        wanted.job_id in (None, one.job_id)
        and wanted.job_group in (None, one.job_group)
        and (wanted.statuses is None or one.status in wanted.statuses)
        and wanted.executor in (None, one.executor_address)
        and wanted.cause in (None, one.cause)
        and wanted.batch_id in (None, one.batch_id)
        and (wanted.since is None or one.trigger_time >= wanted.since)
        and (wanted.until is None or one.trigger_time < wanted.until)
        and (wanted.ended_since is None or (one.handle_time is not None and one.handle_time >= wanted.ended_since))
        and (wanted.text is None or any(wanted.text.lower() in text.lower() for text in texts))
    )


FILTERS: dict[str, tuple[Any, ...]] = {
    "job_id": (1, 9),
    "job_group": (2,),
    "statuses": (WENT_WRONG, OPEN, *(frozenset({one}) for one in (Status.INIT, Status.SUCCESS)), frozenset(Status)),
    "executor": (ADDRESSES[1], "http://nowhere:1"),
    "cause": (TriggerCause.RETRY,),
    "batch_id": (7,),
    "since": (NOW + 20_000,),
    "until": (NOW + 40_000,),
    "ended_since": (NOW + 60_000, NOW + 60_001),
    "text": ("%", "_", "\\", "DONE", "param 1", "/"),
}


def combinations() -> Iterator[Filter]:
    yield Filter()
    for count in (1, 2, 3):
        for names in itertools.combinations(FILTERS, count):
            values = [FILTERS[name] if count < 3 else FILTERS[name][:1] for name in names]
            for chosen in itertools.product(*values):
                yield Filter(**dict(zip(names, chosen, strict=True)))


def looked_through(connection: Connection, wanted: Filter, size: int, window: int) -> list[Execution]:
    found: list[Execution] = []
    before = None
    for _turn in range(100):
        part = look(connection, wanted, before=before, limit=size, window=window)
        assert len(part.items) <= size
        found += part.items
        if part.reached is None:
            return found
        assert before is None or part.reached < before
        assert part.reached_at is not None
        before = part.reached
    raise AssertionError("it never ends")


async def test_every_filter_and_their_combinations(db: Database) -> None:
    everything = await db.tx(a_mixture)

    def check(connection: Connection) -> None:
        for wanted in combinations():
            expected = [one for one in everything if is_meant(one, wanted)]
            assert looked_through(connection, wanted, 60, 1000) == expected, wanted
            assert list_executions(connection, wanted, limit=60) == expected, wanted

    await db.tx(check)


@pytest.mark.parametrize(("size", "window"), [(1, 1), (3, 7), (50, 20), (20, 60)])
async def test_a_look_goes_on_where_it_stopped(db: Database, size: int, window: int) -> None:
    everything = await db.tx(a_mixture)
    for wanted in (
        Filter(cause=TriggerCause.RETRY),
        Filter(text="param 5"),
        Filter(job_id=2, executor=ADDRESSES[0]),
        Filter(statuses=frozenset({Status.TIMEOUT}), job_group=1, until=NOW + 45_000),
        Filter(statuses=WENT_WRONG),
        Filter(statuses=WENT_WRONG | OPEN, job_id=2),
        Filter(statuses=OPEN | {Status.SUCCESS}, job_group=1),
        Filter(until=NOW + 3000),
    ):
        expected = [one for one in everything if is_meant(one, wanted)]
        assert await db.read(looked_through, wanted, size, window) == expected
        assert expected


async def test_a_look_is_bounded_and_says_how_far_it_got(db: Database) -> None:
    everything = await db.tx(a_mixture)
    part = await db.read(look, Filter(text="nowhere"), before=None, limit=10, window=25)
    assert (part.items, part.reached, part.reached_at) == ([], everything[24].id, everything[24].trigger_time)


async def test_clocks_of_coordinators_that_differ_a_little_hide_nothing(db: Database) -> None:
    for at in (NOW - 200_000, NOW + 50_000, NOW, NOW + 30_000, NOW + 1000, NOW + 200_000):
        await db.tx(open_executions, [an_opening(f"at:{at}")], at)
    wanted = Filter(since=NOW, until=NOW + 50_001)
    found = await db.read(looked_through, wanted, 10, 10)
    assert [one.trigger_time - NOW for one in found] == [1000, 30_000, 0, 50_000]


def _of_lengths(connection: Connection, *lengths: int | None, prefix: str = "long") -> list[int]:
    """Executions that ran so many milliseconds, in this order; None: one that nobody has taken yet."""
    ids = open_some(connection, len(lengths), prefix=prefix)
    taken = [one for one, length in zip(ids, lengths, strict=True) if length is not None]
    assign(connection, *taken)
    record_accepted(connection, taken, NOW)
    ran = [(one, length) for one, length in zip(ids, lengths, strict=True) if length is not None]
    done = {"trigger_code": SUCCESS, "handle_code": SUCCESS}
    end_executions(connection, [Ending(execution_id=one, start_time=NOW - took, **done) for one, took in ran], NOW)
    return list(ids)


async def _longest(db: Database, wanted: Filter, limit: int, window: int = 100) -> tuple[list[int], list[Longest]]:
    stretch, pages = None, list[Longest]()
    while True:
        pages.append(await db.read(find_longest, wanted, stretch=stretch, limit=limit, window=window, now=NOW))
        stretch = pages[-1].rest
        if stretch is None:
            return [one.id for page in pages for one in page.items], pages


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
async def test_the_longest_come_first_page_by_page(db: Database, limit: int) -> None:
    lengths = (40, 7, None, 40, 0, 1_000, 7, None)
    ids = await db.tx(_of_lengths, *lengths)
    took = {one: -1 if length is None else length for one, length in zip(ids, lengths, strict=True)}
    found, pages = await _longest(db, Filter(), limit)
    assert found == sorted(ids, key=lambda one: (-took[one], -one))
    assert all(page.whole for page in pages)


async def test_a_late_result_makes_nothing_longer(db: Database) -> None:
    def put(connection: Connection) -> list[int]:
        late, long = open_some(connection, 2)
        assign(connection, late, long)
        done = {"trigger_code": SUCCESS, "handle_code": SUCCESS}
        measured = Ending(execution_id=late, start_time=NOW, duration_ms=10, **done)
        end_executions(connection, [measured, Ending(execution_id=long, start_time=NOW + 8_000, **done)], NOW + 9_000)
        return [long, late]

    expected = await db.tx(put)
    assert (await _longest(db, Filter(), 5))[0] == expected


RUNNING: dict[str, Any] = {"phase": Phase.RUNNING, "dispatch_time": NOW - 600, "schedule_time": None}


@pytest.mark.parametrize(
    ("known", "counts"),
    [
        ({**RUNNING, "start_time": NOW - 500}, 500),
        ({**RUNNING, "start_time": NOW + 500}, 0),
        (RUNNING, 600),
        ({**RUNNING, "schedule_time": NOW - 300}, 300),
        ({**RUNNING, "schedule_time": NOW + 300}, -1),
        ({**RUNNING, "phase": Phase.QUEUED}, -1),
        ({"phase": Phase.DISPATCHED, "offered_at": NOW - 700, "schedule_time": None}, 700),
        ({"phase": Phase.OFFERED, "offered_at": NOW - 700}, -1),
        ({"phase": Phase.OPENED}, -1),
    ],
)
async def test_what_runs_counts_with_its_time_so_far(db: Database, known: dict[str, Any], counts: int) -> None:
    """Beside two that have ended, one a little longer and one a little shorter."""

    def put(connection: Connection) -> list[int]:
        ids = _of_lengths(connection, max(0, counts) + 1, max(0, counts - 1), None)
        connection.execute(update(executions).where(executions.c.id == ids[2]).values(**known))
        return ids

    longer, shorter, running = await db.tx(put)
    found, _ = await _longest(db, Filter(), 1)
    assert found == ([longer, running, shorter] if counts >= 0 else [longer, shorter, running])


async def test_what_runs_stays_in_its_place_while_pages_are_read(db: Database) -> None:
    def put(connection: Connection) -> list[int]:
        ids = _of_lengths(connection, 900, None)
        running = {**RUNNING, "start_time": NOW - 500}
        connection.execute(update(executions).where(executions.c.id == ids[1]).values(**running))
        return ids

    ended, running = await db.tx(put)
    first = await db.read(find_longest, Filter(), stretch=None, limit=1, window=9, now=NOW)
    second = await db.read(find_longest, Filter(), stretch=first.rest, limit=1, window=9, now=NOW + 10_000)
    assert [one.id for one in (*first.items, *second.items)] == [ended, running]


async def test_pages_of_the_longest_stay_in_the_stretch_they_began_in(db: Database) -> None:
    ids = await db.tx(_of_lengths, 5, 900, 30, 20, 10)
    first = await db.read(find_longest, Filter(), stretch=None, limit=2, window=4, now=NOW)
    assert ([one.id for one in first.items], first.whole) == ([ids[1], ids[2]], False)
    assert first.since == NOW
    await db.tx(_of_lengths, 25, prefix="new")
    assert first.rest is not None
    second = await db.read(find_longest, Filter(), stretch=first.rest, limit=2, window=4, now=NOW)
    assert ([one.id for one in second.items], second.rest) == ([ids[3], ids[4]], None)
    assert not second.whole


async def test_the_longest_of_what_is_asked_for(db: Database) -> None:
    everything = await db.tx(some_of_every_status)
    for wanted in (
        Filter(job_id=2),
        Filter(statuses=frozenset({Status.FAILED})),
        Filter(job_id=1, cause=TriggerCause.CRON),
    ):
        found, _ = await _longest(db, wanted, 3)
        meant = await db.read(list_executions, wanted, limit=100)
        assert sorted(found) == sorted(one.id for one in meant)
    assert (await _longest(db, Filter(groups=frozenset()), 3))[0] == []
    assert everything
