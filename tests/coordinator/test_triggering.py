"""The one door in: each cause under its own key, children, super tasks, and requests that are repeated."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa

from orth.coordinator.defining import edit, trigger_job
from orth.coordinator.replaying import do_again
from orth.coordinator.triggering import Request
from orth.domain import reasons
from orth.domain.executions import Status
from orth.domain.jobs import ChildParam, Job, MisfireStrategy, ScheduleType, TriggerCause
from orth.errors import Invalid
from orth.executor.context import JobFailed
from orth.executor.handlers import Handlers
from orth.store.database import Connection
from orth.store.jobs import get_job
from orth.store.notes import notes_of
from orth.store.tables import jobs
from orth.testing import Cluster


class Ran:
    """Handlers that note their name and parameter."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.calls: list[tuple[str, str]] = []
        self.failing: set[str] = set()
        self._lock = threading.Lock()
        for name in ("one", "two", "three"):
            self.app.job(name)(self._handler(name))

    def _handler(self, name: str) -> Callable[[str], None]:
        def note(text: str) -> None:
            with self._lock:
                self.calls.append((name, text))
            if name in self.failing:
                raise JobFailed("on purpose")

        return note


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def test_every_cause_has_its_key(tmp_path: Path, ran: Ran) -> None:
    ran.failing = {"two"}
    async with Cluster(tmp_path, ran.app) as cluster:
        begin = cluster.clock.now()
        child = await cluster.job(start=False, executor_handler="three")
        every = {"schedule_type": ScheduleType.CRON, "schedule_conf": "*/10 * * * * ?", "child_job_ids": (child.id,)}
        cron = await cluster.job(executor_handler="one", **every)
        rate = await cluster.job(executor_handler="one", schedule_type=ScheduleType.FIX_RATE, schedule_conf="10s")
        delay = await cluster.job(executor_handler="one", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="10s")
        at = await cluster.job(executor_handler="one", schedule_type=ScheduleType.AT, schedule_conf=str(begin + 5_000))
        by_hand = await cluster.job(start=False, executor_handler="two", executor_fail_retry_count=1)
        await cluster.db.tx(trigger_job, by_hand.id, Request(TriggerCause.API, "k"), begin)
        await cluster.advance(seconds=10)
        for job, cause in (
            (cron, TriggerCause.CRON),
            (rate, TriggerCause.FIXED_RATE),
            (delay, TriggerCause.FIXED_DELAY),
            (at, TriggerCause.AT),
        ):
            (one,) = await cluster.executions(job)
            assert (one.cause, one.trigger_key) == (cause, f"fire:{one.schedule_time}")
        asked, again = await cluster.executions(by_hand)
        assert (asked.cause, asked.trigger_key) == (TriggerCause.API, "key:k")
        assert (again.cause, again.trigger_key) == (TriggerCause.RETRY, f"retry:{asked.id}")
        (parent,), (followed,) = await cluster.executions(cron), await cluster.executions(child)
        assert (followed.cause, followed.trigger_key) == (TriggerCause.PARENT, f"parent:{parent.id}")


async def test_a_misfire_is_its_own_cause_with_the_time_it_missed(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(
            executor_handler="one",
            schedule_type=ScheduleType.CRON,
            schedule_conf="0 * * * * ?",
            misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW,
        )
        await cluster.kill_coordinator(cluster.coordinators[0])
        await cluster.advance(seconds=70)
        cluster.add_coordinator()
        await cluster.advance(seconds=40)
        missed = [one for one in await cluster.executions(job) if one.cause is TriggerCause.MISFIRE]
        assert [one.trigger_key for one in missed] == [f"fire:{one.schedule_time}" for one in missed]
        assert len(missed) == 1


# --- children ---


async def test_children_follow_a_success_with_their_own_parameter_and_the_parents_time(
    tmp_path: Path, ran: Ran
) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        last = await cluster.job(start=False, executor_handler="three", executor_param="third")
        middle = await cluster.job(
            start=False, executor_handler="two", executor_param="second", child_job_ids=(last.id,)
        )
        first = await cluster.job(
            executor_handler="one",
            executor_param="first",
            child_job_ids=(middle.id,),
            schedule_type=ScheduleType.CRON,
            schedule_conf="*/10 * * * * ?",
        )
        await cluster.advance(seconds=11)
        assert ran.calls == [("one", "first"), ("two", "second"), ("three", "third")]
        times = {one.schedule_time for job in (first, middle, last) for one in await cluster.executions(job)}
        assert len(times) == 1


async def test_a_failure_has_no_children_and_a_retry_that_succeeds_has(tmp_path: Path, ran: Ran) -> None:
    ran.failing = {"one"}
    async with Cluster(tmp_path, ran.app) as cluster:
        child = await cluster.job(start=False, executor_handler="two")
        parent = await cluster.job(
            start=False, executor_handler="one", child_job_ids=(child.id,), executor_fail_retry_count=1
        )
        await cluster.trigger(parent)
        await cluster.advance(seconds=2)
        assert await cluster.executions(child) == []
        await cluster.trigger(parent)
        cluster.coordinators[0].work.dispatch.wake()
        await cluster.settle()
        while len(ran.calls) < 3:
            await cluster.advance(seconds=0.1)
        ran.failing.clear()
        await cluster.advance(seconds=2)
        successes = [one for one in await cluster.executions(parent) if one.status is Status.SUCCESS]
        assert [one.trigger_key for one in await cluster.executions(child)] == [f"parent:{one.id}" for one in successes]


async def test_a_child_that_vanished_is_noted_and_the_others_start(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        there = await cluster.job(start=False, executor_handler="two")
        gone = await cluster.job(start=False, executor_handler="three")
        parent = await cluster.job(start=False, executor_handler="one", child_job_ids=(gone.id, there.id))
        await cluster.db.tx(_remove_by_force, gone.id)
        execution = await cluster.trigger(parent)
        await cluster.advance(seconds=2)
        assert [name for name, _text in ran.calls] == ["one", "two"]
        (note,) = await cluster.db.read(notes_of, execution)
        assert (note.code, str(gone.id) in note.message) == (reasons.CHILD_MISSING, True)


# --- what a parent returned ---


async def test_the_parameters_of_a_child_are_read_from_what_its_parent_returned(tmp_path: Path, ran: Ran) -> None:
    got: list[object] = []
    ran.app.job("telling")(lambda: {"day": "2026-01-30", "rows": [1, 2]})

    @ran.app.job("reading")
    def reading(day: date, rows: list[int]) -> None:
        got.append((day, rows))

    async with Cluster(tmp_path, ran.app) as cluster:
        child = await cluster.job(start=False, executor_handler="reading")
        parent = await cluster.job(
            start=False, executor_handler="telling", child_job_ids=(child.id,), child_param=ChildParam.RESULT
        )
        await cluster.trigger(parent)
        await cluster.advance(seconds=2)
    assert got == [(date(2026, 1, 30), [1, 2])]


@pytest.mark.parametrize("length", [14_999, 15_001, 49_999, 50_000, 50_001, 70_000])
async def test_a_child_gets_the_whole_of_a_result_or_is_not_started(tmp_path: Path, ran: Ran, length: int) -> None:
    """More than is stored of it, and never a part that looks like all of it."""
    text = "".join(chr(ord("a") + at % 26) for at in range(length))
    ran.app.job("telling")(lambda: text)
    async with Cluster(tmp_path, ran.app) as cluster:
        child = await cluster.job(start=False, executor_handler="two", executor_param="own")
        parent = await cluster.job(
            start=False, executor_handler="telling", child_job_ids=(child.id,), child_param=ChildParam.RESULT
        )
        execution = await cluster.trigger(parent)
        await cluster.advance(seconds=2)
        opened = await cluster.executions(child)
        notes = await cluster.db.read(notes_of, execution)
        if length < 50_000:
            assert [one.executor_param for one in opened] == [text]
            assert (opened[0].status, notes) == (Status.SUCCESS, [])
        else:
            assert opened == []
            (note,) = notes
            assert (note.code, str(child.id) in note.message) == (reasons.RESULT_TOO_LONG, True)


# --- parameters that are code ---


@pytest.mark.parametrize("handler", ["orth.command", "orth.http"])
async def test_a_result_is_never_the_code_of_a_child(tmp_path: Path, ran: Ran, handler: str) -> None:
    ran.app.job("telling")(lambda: '{"argv": ["/bin/sh"]}')
    async with Cluster(tmp_path, ran.app) as cluster:
        program = await cluster.job(start=False, executor_handler=handler, executor_param="own")
        plain = await cluster.job(start=False, executor_handler="two", executor_param="own")
        below = await cluster.job(start=False, executor_handler="", executor_param="mine", super_task_id=program.id)
        parent = await cluster.job(
            start=False,
            executor_handler="telling",
            child_job_ids=(program.id, plain.id, below.id),
            child_param=ChildParam.RESULT,
        )
        await cluster.trigger(parent)
        await cluster.advance(seconds=2)
        told = [(await cluster.executions(child))[0].executor_param for child in (program, plain, below)]
        assert told == ["own", '{"argv": ["/bin/sh"]}', "mine"]


async def test_what_another_handler_was_told_is_no_code_when_it_is_done_again(tmp_path: Path, ran: Ran) -> None:
    ran.failing = {"one"}
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="one", executor_param="own")
        first = await cluster.trigger(job, "given")
        await cluster.advance(seconds=1)
        now, key = cluster.clock.now(), "a"
        same = await cluster.db.tx(do_again, first, TriggerCause.MANUAL, key, now)
        await cluster.advance(seconds=1)
        stored = await cluster.db.read(get_job, job.id)
        await cluster.db.tx(edit, stored, replace(stored, executor_handler="orth.command"), cluster.clock.now(), True)
        again = await cluster.db.tx(do_again, first, TriggerCause.MANUAL, "b", now)
        allowed = await cluster.trigger(job, "by who may")
        await cluster.advance(seconds=1)
        last = await cluster.db.tx(do_again, allowed, TriggerCause.MANUAL, "c", now)
        told = [(await cluster.execution(one)).executor_param for one in (same, again, last)]
        assert told == ["given", "own", "by who may"]


# --- super tasks ---


async def test_a_sub_task_runs_the_handler_of_its_super_with_its_own_parameter(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        above = await cluster.job(start=False, executor_handler="one", executor_param="above")
        below = await cluster.job(
            executor_handler="",
            executor_param="below",
            super_task_id=above.id,
            schedule_type=ScheduleType.CRON,
            schedule_conf="*/10 * * * * ?",
        )
        await cluster.advance(seconds=11)
        assert ran.calls == [("one", "below")]
        stored = await cluster.db.read(get_job, above.id)
        await cluster.db.tx(edit, stored, replace(stored, executor_handler="two"), cluster.clock.now(), True)
        await cluster.trigger(below)
        await cluster.advance(seconds=1)
        assert ran.calls[-1] == ("two", "below")
        assert (await cluster.executions(below))[-1].executor_handler == "two"


async def test_a_job_that_names_itself_runs_its_own_handler(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="one")
        stored = await cluster.db.read(get_job, job.id)
        await cluster.db.tx(edit, stored, replace(stored, super_task_id=job.id), cluster.clock.now(), True)
        await cluster.trigger(job)
        await cluster.advance(seconds=1)
        assert ran.calls == [("one", "")]


async def test_one_level_only_whatever_the_database_says(tmp_path: Path, ran: Ran) -> None:
    """A super task that has one itself gives its own handler: nobody is led on to a third job."""
    async with Cluster(tmp_path, ran.app) as cluster:
        top = await cluster.job(start=False, executor_handler="one")
        middle = await cluster.job(start=False, executor_handler="two")
        below = await cluster.job(start=False, executor_handler="three", super_task_id=middle.id)
        await cluster.db.tx(_set_super, middle.id, top.id)
        await cluster.trigger(below)
        await cluster.advance(seconds=1)
        assert ran.calls == [("two", "")]


async def test_a_missing_super_task_is_an_error_people_see(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        above = await cluster.job(start=False, executor_handler="one")
        below = await cluster.job(
            start=False, executor_handler="three", super_task_id=above.id, executor_fail_retry_count=3
        )
        await cluster.db.tx(_remove_by_force, above.id)
        execution = await cluster.trigger(below)
        await cluster.advance(seconds=5)
        ended = await cluster.execution(execution)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SUPER_TASK_MISSING)
        assert str(above.id) in (ended.trigger_msg or "")
        assert len(await cluster.executions(below)) == 1  # trying again would meet the same
        assert ran.calls == []


def _remove_by_force(connection: Connection, job_id: int) -> None:
    connection.execute(sa.delete(jobs).where(jobs.c.id == job_id))


def _set_super(connection: Connection, job_id: int, super_id: int) -> None:
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(super_task_id=super_id))


# --- requests ---


async def test_a_repeated_request_is_answered_as_before_though_its_address_has_left(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="one")
        asked = Request(TriggerCause.API, "k", None, (cluster.executors[1].address,))
        first = await cluster.db.tx(trigger_job, job.id, asked, cluster.clock.now())
        await cluster.advance(seconds=1)
        cluster.kill_executor(cluster.executors[1])
        await cluster.advance(seconds=200)
        with pytest.raises(Invalid, match="is not an executor of"):
            await cluster.db.tx(trigger_job, job.id, replace(asked, key="new"), cluster.clock.now())
        assert await cluster.db.tx(trigger_job, job.id, asked, cluster.clock.now()) == first
        with pytest.raises(Invalid, match="another body"):
            await cluster.db.tx(trigger_job, job.id, replace(asked, param="x"), cluster.clock.now())


async def test_a_job_knows_whose_handler_it_runs() -> None:
    job = Job(id=5, job_group=1, job_desc="j")
    assert [replace(job, super_task_id=one).super_id for one in (0, 5, 7)] == [None, None, 7]
