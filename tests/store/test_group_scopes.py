"""Lists that are kept to some groups, on every database: what is asked for is found, and nothing of another group."""

import asyncio
import itertools
import threading
import time

import pytest
from sqlalchemy import Connection

from orth.domain.alarms import AlarmKind, Silence, Standing
from orth.domain.executions import FAILURE, SUCCESS, Phase, Status
from orth.store.alarms import Message, keep_standings, list_messages, list_standings, store_messages
from orth.store.batches import NewBatch, list_batches, store_batch
from orth.store.bulk import find_failed, find_open
from orth.store.database import Database
from orth.store.dead_letters import (
    LetterFilter,
    add_dead_letters,
    drop_letters,
    find_waiting,
    hold_waiting,
    list_dead_letters,
)
from orth.store.execution_filters import Filter
from orth.store.execution_lists import list_executions, look
from orth.store.executions import Ending, end_executions
from orth.store.executor_entries import list_executors
from orth.store.group_scopes import (
    app_names,
    group_of_batch,
    group_of_execution,
    groups_of_jobs,
    hold_group_of_job,
    hold_groups_of_jobs,
)
from orth.store.groups import create_group, list_groups
from orth.store.jobs import create_job, hold_job, list_jobs
from orth.store.registry import Beat, record_beats
from orth.store.silences import add_silence, list_silences
from orth.store.statistics import HOUR, Span, count_ends, counts_by_status, counts_by_time, fold, open_counts
from tests.store.builders import NOW, a_group, a_job, assign, execution, open_some

COUNT = 3
"""Groups, each with one job of everything that a list may have."""
CHOICES = [None, *(frozenset(some) for size in range(COUNT + 1) for some in itertools.combinations(range(COUNT), size))]


class Places:
    """The ids of groups and jobs, by their numbers from 0 on."""

    def __init__(self, connection: Connection) -> None:
        self.groups = [create_group(connection, a_group(f"app-{number}"), NOW) for number in range(COUNT)]
        self.jobs = [create_job(connection, a_job(group), NOW) for group in self.groups]
        for number, (group, job) in enumerate(zip(self.groups, self.jobs, strict=True)):
            self._fill(connection, number, group, job)

    def chosen(self, numbers: frozenset[int] | None) -> frozenset[int] | None:
        return None if numbers is None else frozenset(self.groups[number] for number in numbers)

    def _fill(self, connection: Connection, number: int, group: int, job: int) -> None:
        ended, _open = open_some(connection, 2, prefix="one", job_id=job, job_group=group)
        assign(connection, ended)
        ending = Ending(execution_id=ended, trigger_code=SUCCESS, handle_code=FAILURE)
        failed = end_executions(connection, [ending], NOW)
        add_dead_letters(connection, failed, NOW)
        count_ends(connection, failed, NOW)
        store_messages(connection, [Message(ended, job, AlarmKind.FIRST, "ops", "{}", job_group=group)], NOW)
        keep_standings(connection, {job: Standing(job, ended, NOW, NOW, 1, group)})
        batch = NewBatch(
            job_id=job,
            job_group=group,
            trigger_key="batch",
            request_digest="",
            start_time=0,
            end_time=1,
            total=1,
            at_once=1,
            executor_param=None,
            addresses=(),
            skip_done=False,
            timing="",
            actor="ada",
        )
        store_batch(connection, batch, NOW)
        add_silence(connection, Silence(job, group, NOW, NOW + 1, "of a job", "ada"))
        add_silence(connection, Silence(None, group, NOW, NOW + 1, "of a group", "ada"))
        record_beats(connection, [Beat(f"app-{number}", f"http://{number}:1")], NOW)


@pytest.mark.parametrize("numbers", CHOICES, ids=str)
async def test_a_list_holds_what_is_of_the_groups_and_nothing_else(
    db: Database, numbers: frozenset[int] | None
) -> None:
    places: Places = await db.tx(Places)
    groups = places.chosen(numbers)
    jobs = [job for number, job in enumerate(places.jobs) if numbers is None or number in numbers]
    newest_first = jobs[::-1]

    assert [one.id for one in await db.read(list_groups, 0, 9, among=groups)] == [
        group for group in places.groups if groups is None or group in groups
    ]
    assert [one.id for one in await db.read(list_jobs, 0, 9, groups=groups)] == jobs
    assert [one.job_id for one in await db.read(list_batches, before=None, limit=9, groups=groups)] == newest_first
    assert [one.job_id for one in await db.read(list_messages, before=None, limit=9, groups=groups)] == newest_first
    assert [one.job_id for one in await db.read(list_standings, 0, 9, groups)] == jobs
    letters = await db.read(list_dead_letters, LetterFilter().within(groups), limit=9)
    assert [one.job_id for one in letters] == newest_first
    silences = await db.read(list_silences, before=None, limit=99, groups=groups)
    assert len(silences) == 2 * len(jobs)
    apps = None if groups is None else await db.read(app_names, groups)
    assert len(await db.read(list_executors, apps=apps)) == len(jobs)


@pytest.mark.parametrize("numbers", CHOICES, ids=str)
@pytest.mark.parametrize("status", [None, Status.FAILED, Status.INIT])
async def test_executions_are_found_in_order_whatever_the_window(
    db: Database, numbers: frozenset[int] | None, status: Status | None
) -> None:
    places: Places = await db.tx(Places)
    wanted = Filter(statuses=status and frozenset({status})).within(places.chosen(numbers))
    expected = [one.id for one in await db.read(list_executions, wanted, limit=99)]
    each = 2 if status is None else 1
    assert len(expected) == each * (COUNT if numbers is None else len(numbers))
    for limit, window in ((1, 1), (2, 3), (9, 99)):
        found, before = list[int](), None
        while True:
            part = await db.read(look, wanted, before=before, limit=limit, window=window)
            found += [one.id for one in part.items]
            if part.reached is None:
                break
            before = part.reached
        assert found == expected


@pytest.mark.parametrize("folded", [True, False])
async def test_counts_are_of_the_groups(db: Database, folded: bool) -> None:
    places: Places = await db.tx(Places)
    if folded:
        await db.tx(fold, 100)
    span = Span(since=NOW - HOUR, until=NOW + HOUR)
    for numbers in CHOICES:
        asked = span.within(places.chosen(numbers))
        counted = await db.read(counts_by_status, asked)
        expected = COUNT if numbers is None else len(numbers)
        assert sum(count.executions for count in counted.values()) == expected
        assert len(await db.read(counts_by_time, asked, HOUR)) == min(1, expected)
        open_ones = await db.read(open_counts, job_group=asked.job_group, groups=asked.groups)
        assert open_ones.get(Phase.OPENED, 0) == expected
    other = Span(since=span.since, until=span.until, job_id=places.jobs[0])
    assert await db.read(counts_by_status, other.within(frozenset(places.groups[:2]))) != {}
    assert await db.read(counts_by_status, other.within(frozenset(places.groups[1:]))) == {}


async def test_what_is_done_to_many_stays_inside_the_groups(db: Database) -> None:
    places: Places = await db.tx(Places)
    ours = frozenset(places.groups[:2])
    everything = await db.read(list_dead_letters, LetterFilter(), limit=9)
    ids = [letter.execution_id for letter in everything]
    waiting, left = await db.read(find_waiting, LetterFilter().within(ours), 9, ids)
    assert (len(waiting), left) == (2, 0)
    assert await db.tx(hold_waiting, ids, ours) == waiting
    assert await db.tx(drop_letters, ids, "ada", ours) == waiting
    assert len((await db.read(find_waiting, LetterFilter(), 9))[0]) == 1
    assert len((await db.read(find_open, Filter().within(ours), 9))[0]) == 2
    assert len((await db.read(find_failed, Filter().within(ours), 9)).ids) == 2


async def test_a_silence_of_everything_concerns_every_group(db: Database) -> None:
    silence_id = await db.tx(add_silence, Silence(None, None, NOW, NOW + 1, "of everything", "ada"))
    for groups in (None, frozenset[int](), frozenset({5})):
        assert [one.id for one in await db.read(list_silences, before=None, limit=9, groups=groups)] == [silence_id]


async def test_which_group_something_is_of(db: Database) -> None:
    places: Places = await db.tx(Places)
    group, job = places.groups[1], places.jobs[1]
    [batch] = await db.read(list_batches, before=None, limit=9, job_id=job)
    newest, *_ = await db.read(list_executions, Filter(job_id=job), limit=1)
    assert await db.read(groups_of_jobs, [job, 99999]) == {job: group}
    assert await db.tx(hold_groups_of_jobs, [job, 99999]) == {job: group}
    assert await db.tx(hold_groups_of_jobs, []) == {}
    assert await db.tx(hold_group_of_job, job) == group
    assert await db.read(group_of_batch, batch.id) == batch.job_group == group
    assert await db.read(group_of_execution, newest.id) == (await db.read(execution, newest.id)).job_group == group
    for missing in (hold_group_of_job, group_of_batch, group_of_execution):
        assert await db.tx(missing, 99999) is None


async def test_what_somebody_names_is_not_moved_meanwhile(db: Database) -> None:
    places: Places = await db.tx(Places)
    job, held, order = places.jobs[0], threading.Event(), list[str]()

    def name_it(connection: Connection) -> None:
        hold_groups_of_jobs(connection, [job])
        held.set()
        time.sleep(0.3)  # long enough for the other to come first, if nothing kept it
        order.append("named")

    def move_it(connection: Connection) -> None:
        hold_job(connection, job)
        order.append("moved")

    naming = asyncio.create_task(db.tx(name_it))
    await asyncio.to_thread(held.wait, 5)
    await db.tx(move_it)
    await naming
    assert order == ["named", "moved"]
