"""The walk on a hand-cranked cluster: each ending, each way back, each thing that can be lost between."""

import itertools
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orth.coordinator.defining import edit, edit_group, remove_job, stop_job
from orth.coordinator.facts import DispatchUnknown, ExecutionFinished, JobQuarantined
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import (
    AddressType,
    Group,
    Job,
    MisfireStrategy,
    Overlap,
    RouteStrategy,
    ScheduleType,
    TriggerCause,
)
from orth.executor.context import JobFailed
from orth.executor.handlers import Handlers
from orth.executor.time_limits import TimeLimits
from orth.loop import Loop
from orth.settings import Settings
from orth.store.fires import list_fires
from orth.store.jobs import get_job
from orth.testing import Cluster
from orth.testing.network import Line

EVERY_TEN = {"schedule_type": ScheduleType.CRON, "schedule_conf": "*/10 * * * * ?"}


class Ran:
    """Handlers that count what they did."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.params: list[str] = []
        self._lock = threading.Lock()
        self.app.job("note")(self._note)
        self.app.job("fail")(self._fail)

    def _note(self, text: str) -> str:
        with self._lock:
            self.params.append(text)
        return f"noted {text}"

    def _fail(self, text: str) -> None:
        with self._lock:
            self.params.append(text)
        raise JobFailed("on purpose")


@pytest.fixture(params=[0.0, 1.0], ids=["on time", "ahead"])
def ran(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What these tests run; each of them with fires planned when they are due, and with fires planned ahead."""
    monkeypatch.setitem(Cluster.__init__.__kwdefaults__, "plan_ahead", request.param)
    return Ran()


async def test_a_manual_trigger_succeeds(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_param="own")
        first = await cluster.trigger(job)
        second = await cluster.trigger(job, param="given")
        await cluster.advance(seconds=1)
        assert ran.params == ["own", "given"]
        ended = await cluster.execution(second)
        assert (ended.status, ended.handle_msg, ended.schedule_time) == (Status.SUCCESS, "noted given", None)
        assert (await cluster.execution(first)).cause is TriggerCause.MANUAL


async def test_without_an_executor_the_reason_says_what_to_do(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(execution_id)
        assert (ended.trigger_code, ended.handle_code, ended.status) == (500, 0, Status.TRIGGER_FAILED)
        assert ended.trigger_msg is not None
        assert 'No executor is registered for app "tests"' in ended.trigger_msg
        assert "orth executor" in ended.trigger_msg


async def test_an_unknown_handler_is_refused_by_the_executor_with_the_known_ones(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="nothing")
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(execution_id)
        assert ended.status is Status.TRIGGER_FAILED
        assert ended.trigger_msg is not None
        assert "note" in ended.trigger_msg


async def test_failures_are_retried_as_often_as_the_job_says(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_param="p", executor_fail_retry_count=2)
        await cluster.trigger(job)
        await cluster.advance(seconds=2)
        executions = await cluster.executions(job)
        assert [(one.attempt, one.retries_left) for one in executions] == [(1, 2), (2, 1), (3, 0)]
        assert [one.cause for one in executions[1:]] == [TriggerCause.RETRY, TriggerCause.RETRY]
        assert {one.status for one in executions} == {Status.FAILED}
        assert {one.handle_msg for one in executions} == {"on purpose"}
        assert ran.params == ["p", "p", "p"]


async def test_a_fixed_delay_counts_from_the_end(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="7s")
        await cluster.advance(seconds=30)
        executions = await cluster.executions(job)
        assert len(executions) == 4
        for earlier, later in itertools.pairwise(executions):
            assert earlier.handle_time is not None
            assert later.schedule_time == earlier.handle_time + 7_000


async def test_a_rate_below_a_second(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="250ms")
        await cluster.advance(seconds=2.1)
        assert len(ran.params) == 8


async def test_an_instant_fires_once_and_the_job_is_stopped(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(
            executor_handler="note", schedule_type=ScheduleType.AT, schedule_conf=str(cluster.clock.now() + 5_000)
        )
        await cluster.advance(seconds=60)
        assert len(await cluster.executions(job)) == 1
        assert not (await cluster.db.read(get_job, job.id)).trigger_status


async def test_a_stopped_job_fires_no_more(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=15)
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())
        await cluster.advance(seconds=60)
        assert len(await cluster.executions(job)) == 1


async def test_an_edit_is_used_from_the_next_fire_on(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", executor_param="old", **EVERY_TEN)
        await cluster.advance(seconds=15)
        stored = await cluster.db.read(get_job, job.id)
        edited = replace(stored, executor_param="new", schedule_conf="*/20 * * * * ?")
        await cluster.db.tx(edit, stored, edited, cluster.clock.now(), True)
        cluster.coordinators[0].work.due.wake()
        await cluster.advance(seconds=30)
        assert ran.params == ["old", "new", "new"]


async def test_a_silent_coordinator_is_followed_by_recorded_misfires(tmp_path: Path, ran: Ran) -> None:
    """All coordinators die; when one is back, every fire of the gap is in the ledger and one is made up for."""
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW, **EVERY_TEN)
        await cluster.advance(seconds=12)
        await cluster.kill_coordinator(cluster.coordinators[0])
        await cluster.advance(seconds=100)
        cluster.add_coordinator()
        await cluster.advance(seconds=40)  # the lease of the dead one runs out first
        ledger = (await cluster.db.read(list_fires, job.id, 100))[::-1]
        for earlier, later in itertools.pairwise(ledger):
            assert later.fire_time == earlier.last_time + 10_000
        assert "coalesced" in {entry.decision for entry in ledger}
        causes = [one.cause for one in await cluster.executions(job)]
        assert causes.count(TriggerCause.MISFIRE) == 1
        assert len(ran.params) == len(causes)


async def test_a_lost_answer_is_asked_again_and_runs_once(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_param="once")
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        assert cluster.recorder.all(DispatchUnknown, execution_id=execution_id)
        cluster.set_line(cluster.executors[0], Line.UP)
        await cluster.advance(seconds=5)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert ran.params == ["once"]


async def test_a_lost_request_is_sent_again_and_runs_once(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_param="once")
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=3)
        unknown = await cluster.execution(execution_id)
        assert (unknown.status, unknown.phase) == (Status.INIT, Phase.UNKNOWN)
        assert ran.params == []
        cluster.set_line(cluster.executors[0], Line.UP)
        await cluster.advance(seconds=3)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert ran.params == ["once"]


@pytest.mark.parametrize(
    ("bounds", "silence"),
    [({"lost_after": 100}, 100), ({"lost_after": 100, "executor_timeout": 150}, 150)],
)
async def test_an_unknown_dispatch_stays_as_long_as_an_accepted_one_and_opens_no_retry(
    tmp_path: Path, ran: Ran, bounds: dict[str, int], silence: int
) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_fail_retry_count=2, **bounds)
        for executor in cluster.executors:
            cluster.set_line(executor, Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=silence - 2)
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN
        await cluster.advance(seconds=5)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NEVER_RESOLVED)
        assert "nobody knows whether it ran" in (ended.trigger_msg or "")
        assert [one.id for one in await cluster.executions(job)] == [execution_id], "it may have run"


async def test_a_restarted_executor_never_runs_what_its_predecessor_may_have_run(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_param="maybe")
        first = cluster.executors[0]
        cluster.set_line(first, Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        cluster.kill_executor(first)
        cluster.add_executor(at=first)
        cluster.set_line(first, Line.UP)
        await cluster.advance(seconds=3)
        ended = await cluster.execution(execution_id)
        assert ended.status is Status.TRIGGER_FAILED
        assert ended.trigger_msg is not None
        assert "incarnation" in ended.trigger_msg
        assert ran.params == []


async def test_a_refused_connection_fails_the_trigger_at_once(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(execution_id)
        assert ended.status is Status.TRIGGER_FAILED
        assert ended.trigger_msg is not None
        assert "refused" in ended.trigger_msg


async def test_results_wait_for_a_coordinator(tmp_path: Path, ran: Ran) -> None:
    """The coordinator dies between dispatch and callback; the result waits on disk and is applied once."""
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        coordinator = cluster.coordinators[0]
        cluster.network.coordinators.clear()  # executors find nobody; the coordinator still sends
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=5)
        assert (await cluster.execution(execution_id)).status is Status.PENDING
        assert len(cluster.executors[0].outbox) == 1
        cluster.network.coordinators.append(coordinator)
        await cluster.advance(seconds=60)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert len(cluster.executors[0].outbox) == 0
        assert len(cluster.recorder.all(ExecutionFinished)) == 1


async def test_a_killed_leader_is_followed_by_another_and_nothing_is_doubled(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, coordinators=3) as cluster:
        job = await cluster.job(executor_handler="note", misfire_strategy=MisfireStrategy.FIRE_ALL, **EVERY_TEN)
        began = cluster.clock.now()
        await cluster.advance(seconds=25)
        leader = next(one for one in cluster.coordinators if one.work.election.term)
        await cluster.kill_coordinator(leader)
        await cluster.advance(seconds=75)
        assert sum(one.work.election.term is not None for one in cluster.coordinators) == 1
        times = [one.schedule_time for one in await cluster.executions(job)]
        assert times == [began + 10_000 * n for n in range(1, 11)]
        assert len(ran.params) == 10


async def test_a_clean_stop_hands_the_lead_over_at_once(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, coordinators=2) as cluster:
        leader = next(one for one in cluster.coordinators if one.work.election.term)
        await leader.leave()
        await cluster.kill_coordinator(leader)
        other = cluster.coordinators[0]
        other.work.election.wake()
        await cluster.advance(seconds=0)
        assert other.work.election.term is not None


async def test_a_dead_executor_leaves_the_registry(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_route_strategy=RouteStrategy.FIRST)
        first = min(cluster.executors, key=lambda one: one.address)
        cluster.kill_executor(first)
        await cluster.advance(seconds=125)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.executor_address) == (Status.SUCCESS, cluster.executors[0].address)


async def test_one_broken_definition_does_not_stop_the_others(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        good = await cluster.job(executor_handler="note", **EVERY_TEN)
        bad = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.db.tx(_break, bad)
        await cluster.advance(seconds=30)
        assert len(await cluster.executions(good)) == 3
        assert cluster.recorder.all(JobQuarantined, job_id=bad.id)
        assert not (await cluster.db.read(get_job, bad.id)).trigger_status
        (entry,) = await cluster.db.read(list_fires, bad.id, 10)
        assert "the job was stopped" in entry.reason


def _break(connection: object, job: Job) -> None:
    from sqlalchemy import update

    from orth.store.tables import jobs

    connection.execute(update(jobs).where(jobs.c.id == job.id).values(schedule_conf="no cron", version=99))  # type: ignore[attr-defined]


async def test_with_every_hint_lost_the_walk_is_slower_not_wrong(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimeLimits, "wake", Loop.wake)  # a timer, not a hint: nothing of it leaves the process
    monkeypatch.setattr(Loop, "wake", lambda _self: None)
    settings = Settings.model_validate({"executor": {"callback_retry": timedelta(seconds=5)}})
    async with Cluster(tmp_path, ran.app, executors=2, settings=settings) as cluster:
        job = await cluster.job(executor_handler="note", executor_fail_retry_count=1, **EVERY_TEN)
        await cluster.advance(seconds=120)
        executions = await cluster.executions(job)
        done = [one for one in executions if one.status is Status.SUCCESS]
        assert len(done) >= 6
        assert all(one.status in (Status.SUCCESS, Status.PENDING, Status.INIT) for one in executions)
        begun = [one for one in executions if one.phase is not Phase.OPENED and _is_due(one, cluster.clock.now())]
        assert len(ran.params) == len({one.schedule_time for one in begun})


def _is_due(execution: Execution, now: int) -> bool:
    return execution.not_before is None or execution.not_before <= now


async def test_round_goes_round(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await cluster.job(start=False, executor_handler="note", overlap=Overlap.EXECUTOR)
        for _ in range(6):
            await cluster.trigger(job)
        await cluster.advance(seconds=1)
        addresses = [one.executor_address for one in await cluster.executions(job)]
        assert len(set(addresses[:3])) == 3
        assert addresses[:3] == addresses[3:]


async def test_a_restarted_executor_loses_what_its_predecessor_was_running(tmp_path: Path) -> None:
    held = threading.Event()
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="hang")
        first = cluster.executors[0]
        execution_id = await cluster.trigger(job)
        coordinator = cluster.coordinators[0]
        await coordinator.work.dispatch.guarded_turn()
        await coordinator.work.dispatch.all_answered()
        await coordinator.work.dispatch.guarded_turn()
        cluster.kill_executor(first)
        held.set()
        cluster.add_executor(at=first)
        await cluster.advance(seconds=60)
        assert (await cluster.execution(execution_id)).status is Status.PENDING  # the sign must stay for a while
        await cluster.advance(seconds=60)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.handle_msg) == (
            Status.FAILED,
            "Result lost: the executor was restarted while it had it.",
        )


async def test_an_executor_that_never_comes_back_loses_its_executions_soon(tmp_path: Path) -> None:
    held = threading.Event()
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(executor_handler="hang", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="5s")
        cluster.clock.move(5)
        coordinator = cluster.coordinators[0]
        for loop in (coordinator.work.due, coordinator.work.dispatch):
            await loop.guarded_turn()
        await coordinator.work.dispatch.all_answered()
        await coordinator.work.dispatch.guarded_turn()
        cluster.kill_executor(cluster.executors[0])
        held.set()
        await cluster.advance(seconds=25)
        (execution,) = await cluster.executions(job)
        assert execution.status is Status.PENDING, "a successor may yet report what it left on the disk"
        await cluster.advance(seconds=80)
        lost = (await cluster.executions(job))[0]
        assert lost.handle_msg == "Result lost: nobody listens at the executor's address any more."
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time > 0, "the delay begins when the loss is known"


async def test_stopping_and_retiming_account_for_fires_that_were_due(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        stopped = await cluster.job(executor_handler="note", **EVERY_TEN)
        retimed = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.kill_coordinator(cluster.coordinators[0])
        cluster.clock.move(35)  # nobody plans meanwhile
        now = cluster.clock.now()
        await cluster.db.tx(stop_job, stopped.id, now)
        stored = await cluster.db.read(get_job, retimed.id)
        await cluster.db.tx(edit, stored, replace(stored, schedule_conf="*/20 * * * * ?"), now, True)
        for job, reason in ((stopped, "stopped"), (retimed, "the schedule was changed")):
            (entry,) = await cluster.db.read(list_fires, job.id, 10)
            assert (entry.decision, entry.fires) == ("skipped", 3)
            assert reason in entry.reason


async def test_editing_something_else_does_not_put_the_schedule_back(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="5s")
        stale = await cluster.db.read(get_job, job.id)
        await cluster.advance(seconds=6)
        before = await cluster.db.read(get_job, job.id)
        await cluster.db.tx(edit, stale, replace(stale, author="somebody"), cluster.clock.now(), True)
        after = await cluster.db.read(get_job, job.id)
        assert (after.author, after.trigger_next_time) == ("somebody", before.trigger_next_time)


async def test_a_fixed_delay_with_jitter_goes_on(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(
            executor_handler="note", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="2s", jitter=1500
        )
        await cluster.advance(seconds=40)
        executions = await cluster.executions(job)
        assert 10 <= len(executions) <= 20
        assert len(await cluster.db.read(list_fires, job.id, 100)) == len(executions)


async def test_a_job_whose_schedule_no_longer_parses_can_be_stopped_and_deleted(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.kill_coordinator(cluster.coordinators[0])
        await cluster.db.tx(_break, job)
        cluster.clock.move(25)
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())
        (entry,) = await cluster.db.read(list_fires, job.id, 10)
        assert "stopped" in entry.reason
        await cluster.db.tx(remove_job, job.id, cluster.clock.now())


async def test_an_executor_written_by_hand_is_not_lost_for_being_unregistered(tmp_path: Path) -> None:
    held = threading.Event()
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="hang")
        executor = cluster.executors[0]
        await executor.heartbeat.unregister(1)
        group = Group(job.job_group, "tests", "tests", AddressType.MANUAL, (executor.address,))
        await cluster.db.tx(edit_group, group, cluster.clock.now())
        execution_id = await cluster.trigger(job)
        coordinator = cluster.coordinators[0]
        await coordinator.work.dispatch.guarded_turn()
        await coordinator.work.dispatch.all_answered()
        await coordinator.work.dispatch.guarded_turn()
        for _ in range(30):
            cluster.clock.move(25)
            await coordinator.work.election.guarded_turn()
            coordinator.work.election.worked()
            await coordinator.care.lost.guarded_turn()
        assert (await cluster.execution(execution_id)).status is Status.PENDING
        held.set()
        await cluster.advance(seconds=5)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS


async def test_an_unknown_execution_whose_group_is_gone_still_ends(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=2)
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN
        await cluster.db.tx(_forget_group, job)
        await cluster.advance(seconds=65)
        ended = await cluster.execution(execution_id)
        assert ended.status is Status.TRIGGER_FAILED
        assert ended.trigger_msg is not None
        assert "was deleted" in ended.trigger_msg


def _forget_group(connection: object, job: Job) -> None:
    from sqlalchemy import delete

    from orth.store.tables import groups

    connection.execute(delete(groups).where(groups.c.id == job.job_group))  # type: ignore[attr-defined]
