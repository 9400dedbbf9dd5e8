"""Dispatch on a hand-cranked cluster: who gets an execution, and what happens when a line is cut."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orth.coordinator.facts import CircuitClosed, CircuitOpened, ExecutionRerouted
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import Job, Overlap, RouteStrategy, ScheduleType, TriggerCause
from orth.domain.nodes import Unavailability
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.store.database import Connection
from orth.store.executions import Opening, ids_of_trigger, open_executions
from orth.store.executor_drains import drain_executor
from orth.store.jobs import replace_job
from orth.store.notes import notes_of
from orth.store.registry import Beat, record_beats
from orth.store.routes import route_memory
from orth.testing import Cluster
from orth.testing.network import Line
from orth.wire.messages import Extension


class Ran:
    """A handler that remembers its parameters."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.params: list[str] = []
        self._lock = threading.Lock()
        self.app.job("note")(self._note)

    def _note(self, text: str) -> str:
        with self._lock:
            self.params.append(text)
        return text


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def job_of(cluster: Cluster, strategy: RouteStrategy, **fields: object) -> Job:
    """A job whose executions spread over the executors also while others of it may be running."""
    spread = {"overlap": Overlap.EXECUTOR, "executor_handler": "note", "executor_route_strategy": strategy}
    return await cluster.job(start=False, **{**spread, **fields})


async def sent_to(cluster: Cluster, job: Job, times: int) -> list[str | None]:
    """Where so many executions go, triggered one after the other."""
    addresses = []
    for _ in range(times):
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        addresses.append((await cluster.execution(execution_id)).executor_address)
    return addresses


async def noted(cluster: Cluster, execution_id: int) -> list[str]:
    return [note.code for note in await cluster.db.read(notes_of, execution_id)]


def with_settings(**changes: object) -> Settings:
    settings = Settings()
    return settings.model_copy(update={"coordinator": settings.coordinator.model_copy(update=changes)})


def addresses_of(cluster: Cluster) -> list[str]:
    return sorted(executor.address for executor in cluster.executors)


# --- strategies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", [RouteStrategy.ROUND, RouteStrategy.LEAST_FREQUENTLY_USED, RouteStrategy.LEAST_RECENTLY_USED]
)
async def test_what_was_used_is_remembered_by_the_cluster(tmp_path: Path, ran: Ran, strategy: RouteStrategy) -> None:
    async with Cluster(tmp_path, ran.app, executors=3, coordinators=2) as cluster:
        job = await job_of(cluster, strategy)
        first = await sent_to(cluster, job, 4)
        await cluster.kill_coordinator(cluster.coordinators[0])
        await cluster.advance(seconds=60)
        second = await sent_to(cluster, job, 5)
        assert Counter([*first, *second]) == dict.fromkeys(addresses_of(cluster), 3)


async def test_many_at_once_are_spread_like_one_after_the_other(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        jobs = [
            await job_of(cluster, strategy)
            for strategy in (
                RouteStrategy.ROUND,
                RouteStrategy.LEAST_FREQUENTLY_USED,
                RouteStrategy.LEAST_RECENTLY_USED,
                RouteStrategy.LEAST_LOADED,
            )
        ]
        for job in jobs:
            for _ in range(9):
                await cluster.trigger(job)
        await cluster.advance(seconds=1)
        for job in jobs:
            spread = Counter(one.executor_address for one in await cluster.executions(job))
            assert spread == dict.fromkeys(addresses_of(cluster), 3), job.executor_route_strategy


async def test_addresses_that_left_are_forgotten(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await job_of(cluster, RouteStrategy.LEAST_RECENTLY_USED)
        await sent_to(cluster, job, 3)
        gone = cluster.executors[0]
        await gone.stop()
        cluster.executors.remove(gone)
        del cluster.network.executors[gone.address]
        await sent_to(cluster, job, 2)
        remembered = (await cluster.db.read(route_memory, [job.id]))[job.id]
        assert sorted(remembered) == addresses_of(cluster)


async def test_labels_choose_executors(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=1) as cluster:
        with_gpu = cluster.add_executor(labels={"gpu": "a100", "zone": "eu"})
        cluster.add_executor(labels={"gpu": "t4", "zone": "us"})
        await cluster.advance(seconds=0)
        job = await job_of(cluster, RouteStrategy.ROUND, label_selector="gpu,zone!=us")
        assert set(await sent_to(cluster, job, 3)) == {with_gpu.address}


@pytest.mark.parametrize("strategy", [one for one in RouteStrategy if one is not RouteStrategy.SHARDING_BROADCAST])
async def test_nothing_new_is_sent_to_a_drained_executor(tmp_path: Path, ran: Ran, strategy: RouteStrategy) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, strategy)
        drained, other = addresses_of(cluster)
        await cluster.db.tx(drain_executor, "tests", drained, cluster.clock.now())
        assert await sent_to(cluster, job, 2) == [other, other]
        (named,) = await cluster.trigger_all(job, addresses=(drained,))
        await cluster.db.tx(drain_executor, "tests", other, cluster.clock.now())
        nowhere = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        assert (await cluster.execution(named)).status is Status.SUCCESS, "somebody chose that address"
        ended = await cluster.execution(nowhere)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.ALL_DRAINED)


async def test_labels_that_nobody_has_are_a_reason_of_their_own(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, RouteStrategy.ROUND, label_selector="gpu")
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_MATCHING_EXECUTOR)
        assert "None of the 2 executors" in (ended.trigger_msg or "")


async def test_an_empty_group_is_a_reason_that_says_what_to_do(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0) as cluster:
        jobs = [await job_of(cluster, strategy) for strategy in RouteStrategy]
        for job in jobs:
            await cluster.trigger(job)
        await cluster.advance(seconds=1)
        for job in jobs:
            (ended,) = await cluster.executions(job)
            assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_EXECUTOR)
            assert "orth executor FILE --app-name tests" in (ended.trigger_msg or "")


async def test_after_a_start_what_was_scheduled_waits_for_executors_to_come_up(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0, settle=15) as cluster:
        every = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "5"}
        job = await cluster.job(executor_handler="note", executor_param="fired", **every)
        asked = await cluster.trigger(await job_of(cluster, RouteStrategy.ROUND))
        await cluster.advance(seconds=6)
        (first, *_) = await cluster.executions(job)
        assert (first.phase, first.reason_code) == (Phase.OPENED, reasons.NO_EXECUTOR)
        assert (await cluster.execution(asked)).status is Status.TRIGGER_FAILED, "who asks is answered at once"
        cluster.add_executor()
        await cluster.advance(seconds=3)
        assert (await cluster.execution(first.id)).status is Status.SUCCESS


async def test_nobody_waits_for_ever_for_executors_to_come_up(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0, settle=15) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="10")
        await cluster.advance(seconds=13)
        assert [one.phase for one in await cluster.executions(job)] == [Phase.OPENED]
        await cluster.advance(seconds=4)
        (ended,) = await cluster.executions(job)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_EXECUTOR)
        await cluster.advance(seconds=5)
        assert [one.status for one in await cluster.executions(job)] == [Status.TRIGGER_FAILED] * 2, "not any more"


# --- lines that are cut -----------------------------------------------------------------------------------------------


async def test_failover_asks_and_takes_the_first_that_answers(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        by_address = {executor.address: executor for executor in cluster.executors}
        first, second, _third = addresses_of(cluster)
        job = await job_of(cluster, RouteStrategy.FAILOVER)
        assert await sent_to(cluster, job, 1) == [first]
        cluster.set_line(by_address[first], Line.LOST_REQUESTS)
        await cluster.advance(seconds=2)  # what was heard a moment ago counts for a moment
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        moved = await cluster.execution(execution_id)
        assert (moved.status, moved.executor_address) == (Status.SUCCESS, second)


async def test_failover_without_anybody_says_whom_it_asked(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        for executor in cluster.executors:
            cluster.set_line(executor, Line.REFUSED)
        execution_id = await cluster.trigger(await job_of(cluster, RouteStrategy.FAILOVER))
        await cluster.advance(seconds=0)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NONE_ANSWERED)
        assert all(address in (ended.trigger_msg or "") for address in addresses_of(cluster))


REROUTABLE = [
    one
    for one in RouteStrategy
    if one not in (RouteStrategy.SHARDING_BROADCAST, RouteStrategy.FAILOVER, RouteStrategy.BUSYOVER)
]


@pytest.mark.parametrize("strategy", REROUTABLE)
async def test_a_refused_connection_leads_to_another_address(tmp_path: Path, ran: Ran, strategy: RouteStrategy) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, strategy)
        (cut,) = await sent_to(cluster, job, 1)
        assert cut is not None
        cluster.network.set_line(cut, Line.REFUSED)
        ids = [await cluster.trigger(job, param=str(n)) for n in range(8)]
        await cluster.advance(seconds=0)
        ended = [await cluster.execution(one) for one in ids]
        assert {one.status for one in ended} == {Status.SUCCESS}
        assert cut not in {one.executor_address for one in ended}
        moved = [codes for one in ids if (codes := await noted(cluster, one))]
        assert moved
        assert all(codes == [reasons.NOT_SENT, reasons.REROUTED] for codes in moved)
        assert sorted(ran.params[1:]) == sorted(str(n) for n in range(8))


async def test_after_a_refused_connection_the_address_is_avoided(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, RouteStrategy.FIRST)
        first, second = addresses_of(cluster)
        cluster.network.set_line(first, Line.REFUSED)
        assert await sent_to(cluster, job, 3) == [second] * 3
        assert len(cluster.recorder.all(ExecutionRerouted)) == 1, "the others were not even tried"


@pytest.mark.parametrize("strategy", REROUTABLE)
async def test_what_an_unavailable_executor_declines_goes_to_another(
    tmp_path: Path, ran: Ran, strategy: RouteStrategy
) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, strategy)
        (chosen,) = await sent_to(cluster, job, 1)
        full, other = sorted(cluster.executors, key=lambda executor: executor.address != chosen)
        full.admission.close()
        ids = [await cluster.trigger(job, param=str(n)) for n in range(8)]
        await cluster.advance(seconds=0)
        ended = [await cluster.execution(one) for one in ids]
        assert {(one.status, one.executor_address) for one in ended} == {(Status.SUCCESS, other.address)}
        moved = [codes for one in ids if (codes := await noted(cluster, one))]
        assert moved
        assert all(codes == [reasons.REFUSED, reasons.REROUTED] for codes in moved)
        assert sorted(ran.params[1:]) == sorted(str(n) for n in range(8))


async def test_without_another_address_a_declined_execution_ends_with_the_reason(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=1) as cluster:
        cluster.executors[0].admission.close()
        execution_id = await cluster.trigger(await job_of(cluster, RouteStrategy.ROUND))
        await cluster.advance(seconds=0)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.REFUSED)
        assert "this executor is stopping" in (ended.trigger_msg or "")


async def test_a_new_leader_knows_from_beats_who_takes_no_work(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2, coordinators=2) as cluster:
        job = await job_of(cluster, RouteStrategy.FIRST)
        first, second = addresses_of(cluster)
        said = Beat("tests", first, "full", frozenset({Extension.RESEND}), unavailable=Unavailability.CANNOT_RECORD)
        await cluster.db.tx(record_beats, [said], cluster.clock.now())
        assert await sent_to(cluster, job, 2) == [second] * 2
        assert cluster.recorder.all(ExecutionRerouted) == [], "nobody had to try"


async def test_attempts_are_bounded(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=5) as cluster:
        for executor in cluster.executors:
            cluster.set_line(executor, Line.REFUSED)
        execution_id = await cluster.trigger(await job_of(cluster, RouteStrategy.ROUND))
        await cluster.advance(seconds=0)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NOT_SENT)
        assert (await noted(cluster, execution_id)).count(reasons.NOT_SENT) == 3


async def test_an_address_somebody_chose_is_not_replaced(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        first, _second = cluster.executors
        cluster.set_line(first, Line.REFUSED)
        job = await job_of(cluster, RouteStrategy.ROUND)
        (execution_id,) = await cluster.trigger_all(job, addresses=[first.address])
        await cluster.advance(seconds=0)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NOT_SENT)
        assert ended.executor_address == first.address
        assert ran.params == []


async def test_a_shard_is_not_moved(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        cut, _other = cluster.executors
        cluster.set_line(cut, Line.REFUSED)
        job = await job_of(cluster, RouteStrategy.SHARDING_BROADCAST)
        ids = await cluster.trigger_all(job)
        await cluster.advance(seconds=0)
        ended = {one.executor_address: one for one in [await cluster.execution(one) for one in ids]}
        assert ended[cut.address].reason_code == reasons.NOT_SENT
        assert [one.status for address, one in ended.items() if address != cut.address] == [Status.SUCCESS]


async def test_a_lost_answer_is_never_sent_elsewhere(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await job_of(cluster, RouteStrategy.FIRST)
        first = min(cluster.executors, key=lambda executor: executor.address)
        cluster.set_line(first, Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=5)
        doubted = await cluster.execution(execution_id)
        assert (doubted.phase, doubted.executor_address) == (Phase.UNKNOWN, first.address)
        assert doubted.reason_code == reasons.UNKNOWN_ANSWER
        cluster.set_line(first, Line.UP)
        await cluster.advance(seconds=2)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.executor_address) == (Status.SUCCESS, first.address)
        assert await noted(cluster, execution_id) == [reasons.UNKNOWN_ANSWER, reasons.TAKEN_AFTER_ALL]
        assert len(ran.params) == 1


# --- the circuit ------------------------------------------------------------------------------------------------------


async def test_an_open_circuit_makes_executions_wait_and_closes_by_trying(tmp_path: Path, ran: Ran) -> None:
    settings = with_settings(breaker_failures=2, breaker_pause=timedelta(seconds=5))
    async with Cluster(tmp_path, ran.app, settings=settings) as cluster:
        (executor,) = cluster.executors
        cluster.set_line(executor, Line.LOST_REQUESTS)
        job = await job_of(cluster, RouteStrategy.FIRST)
        await sent_to(cluster, job, 2)
        assert len(cluster.recorder.all(CircuitOpened)) == 1
        execution_id = await cluster.trigger(job, param="waited")
        await cluster.advance(seconds=2)
        waiting = await cluster.execution(execution_id)
        assert (waiting.phase, waiting.reason_code) == (Phase.OPENED, reasons.CIRCUIT_OPEN)
        assert await noted(cluster, execution_id) == [reasons.CIRCUIT_OPEN], "said once, though looked at every second"
        cluster.set_line(executor, Line.UP)
        await cluster.advance(seconds=6)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert (await cluster.execution(execution_id)).reason_code is None
        assert len(cluster.recorder.all(CircuitClosed)) == 1
        assert ran.params.count("waited") == 1


async def test_waiting_for_an_open_circuit_has_an_end(tmp_path: Path, ran: Ran) -> None:
    settings = with_settings(breaker_failures=1, breaker_pause=timedelta(seconds=120))
    async with Cluster(tmp_path, ran.app, settings=settings) as cluster:
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        job = await job_of(cluster, RouteStrategy.FIRST)
        await sent_to(cluster, job, 1)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=65)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.CIRCUIT_OPEN)


async def test_who_has_waited_long_for_something_else_is_not_failed_by_a_circuit_that_just_opened(
    tmp_path: Path, ran: Ran
) -> None:
    settings = with_settings(breaker_failures=1, breaker_pause=timedelta(seconds=600))
    async with Cluster(tmp_path, ran.app, settings=settings) as cluster:
        job = await job_of(cluster, RouteStrategy.FIRST)
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        await sent_to(cluster, job, 1)
        opening = Opening(
            job_id=job.id,
            job_group=job.job_group,
            job_version=1,
            cause=TriggerCause.BATCH,
            trigger_key="key:old",
            schedule_time=None,
            executor_handler="note",
            executor_param="",
            retries_left=0,
        )
        await cluster.db.tx(open_executions, [opening], cluster.clock.now() - 3_600_000)
        (execution_id,) = await cluster.db.read(ids_of_trigger, job.id, "key:old")
        await cluster.advance(seconds=50)
        waiting = await cluster.execution(execution_id)
        assert (waiting.phase, waiting.reason_code) == (Phase.OPENED, reasons.CIRCUIT_OPEN)
        await cluster.advance(seconds=15)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.CIRCUIT_OPEN)
        assert re.search(r"It has waited 6[0-2] s for that", ended.trigger_msg or "")


async def test_another_process_on_the_same_address_begins_with_a_closed_circuit(tmp_path: Path, ran: Ran) -> None:
    settings = with_settings(breaker_failures=1, breaker_pause=timedelta(seconds=600))
    async with Cluster(tmp_path, ran.app, settings=settings) as cluster:
        (executor,) = cluster.executors
        cluster.set_line(executor, Line.LOST_REQUESTS)
        job = await job_of(cluster, RouteStrategy.FIRST)
        await sent_to(cluster, job, 1)
        assert cluster.recorder.all(CircuitOpened)
        cluster.kill_executor(executor)
        cluster.set_line(cluster.add_executor(at=executor), Line.UP)
        await cluster.advance(seconds=1)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS


async def test_refused_connections_do_not_open_the_circuit(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, settings=with_settings(breaker_failures=1)) as cluster:
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        job = await job_of(cluster, RouteStrategy.FIRST)
        await sent_to(cluster, job, 3)
        assert not cluster.recorder.all(CircuitOpened)
        cluster.set_line(cluster.executors[0], Line.UP)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS


async def test_routing_goes_round_an_open_circuit(tmp_path: Path, ran: Ran) -> None:
    settings = with_settings(breaker_failures=1, breaker_pause=timedelta(seconds=60))
    async with Cluster(tmp_path, ran.app, executors=2, settings=settings) as cluster:
        first, second = addresses_of(cluster)
        cluster.network.set_line(first, Line.LOST_REQUESTS)
        job = await job_of(cluster, RouteStrategy.FIRST)
        await sent_to(cluster, job, 1)
        cluster.network.set_line(first, Line.UP)
        cluster.coordinators[0].presence.reach.answered(first)  # probes get through; the circuit is another matter
        assert await sent_to(cluster, job, 2) == [second, second]


# --- ahead of time ----------------------------------------------------------------------------------------------------


async def open_ahead(cluster: Cluster, jobs: Sequence[Job], not_before: int) -> None:
    def write(connection: Connection) -> None:
        openings = [
            Opening(
                job_id=job.id,
                job_group=job.job_group,
                job_version=1,
                cause=TriggerCause.CRON,
                trigger_key=f"fire:{not_before}",
                schedule_time=not_before,
                executor_handler="note",
                executor_param=str(job.id),
                retries_left=0,
                not_before=not_before,
            )
            for job in jobs
        ]
        open_executions(connection, openings, cluster.clock.now())

    await cluster.db.tx(write)
    cluster.coordinators[0].work.dispatch.wake()


async def test_what_is_planned_ahead_is_sent_ahead_only_to_those_who_hold_it(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=1) as cluster:
        holding = await job_of(cluster, RouteStrategy.FIRST)
        asking = await job_of(cluster, RouteStrategy.BUSYOVER)
        due = cluster.clock.now() + 3_500
        await open_ahead(cluster, [holding, asking], due)
        await cluster.advance(seconds=1)
        assert [(await cluster.executions(job))[0].phase for job in (holding, asking)] == [
            Phase.DISPATCHED,
            Phase.OPENED,
        ]
        await cluster.advance(seconds=2.4)
        assert ran.params == [], "never early"
        await cluster.advance(seconds=0.2)
        assert sorted(ran.params) == sorted([str(holding.id), str(asking.id)])


async def test_the_loop_wakes_for_what_may_not_be_sent_early(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=1) as cluster:
        job = await job_of(cluster, RouteStrategy.BUSYOVER)
        due = cluster.clock.now() + 1_234
        await open_ahead(cluster, [job], due)
        await cluster.advance(seconds=3)
        (execution,) = await cluster.executions(job)
        assert execution.start_time == due


# --- stopping and leading ---------------------------------------------------------------------------------------------


async def test_a_super_task_lends_its_source_and_its_absence_is_a_reason(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=1) as cluster:
        job = await job_of(cluster, RouteStrategy.FIRST)
        now = cluster.clock.now()
        await cluster.db.tx(replace_job, replace(job, super_task_id=job.id + 100), now)

        def write(connection: Connection) -> None:
            opening = Opening(
                job_id=job.id,
                job_group=job.job_group,
                job_version=1,
                cause=TriggerCause.MANUAL,
                trigger_key="key:by-hand",
                schedule_time=None,
                executor_handler="note",
                executor_param="",
                retries_left=0,
            )
            open_executions(connection, [opening], now)

        await cluster.db.tx(write)
        cluster.coordinators[0].work.dispatch.wake()
        await cluster.advance(seconds=0)
        (ended,) = await cluster.executions(job)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SUPER_TASK_MISSING)


async def test_a_new_leader_asks_about_what_the_old_one_was_sending(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, coordinators=2) as cluster:
        old = cluster.coordinators[0]
        job = await job_of(cluster, RouteStrategy.FIRST)
        execution_id = await cluster.trigger(job)
        old.work.dispatch.posting.put = lambda letters: list(letters) and None  # type: ignore[method-assign]  # claims, but never sends
        await old.work.dispatch.guarded_turn()
        assert (await cluster.execution(execution_id)).phase is Phase.DISPATCHING
        await cluster.kill_coordinator(old)
        await cluster.advance(seconds=60)
        ended: Execution = await cluster.execution(execution_id)
        assert ended.status is Status.SUCCESS
        assert await noted(cluster, execution_id) == [reasons.LEADER_CHANGED, reasons.TAKEN_AFTER_ALL]
        assert len(ran.params) == 1


async def test_a_beat_that_names_an_execution_settles_the_doubt(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        (executor,) = cluster.executors
        cluster.set_line(executor, Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(await job_of(cluster, RouteStrategy.FIRST))
        await cluster.advance(seconds=2)
        beat = executor.announced()
        assert beat.orth is not None
        naming = beat.orth.model_copy(update={"running": (execution_id,)})
        stranger = naming.model_copy(update={"incarnation": "somebody else"})
        registrations = cluster.coordinators[0].presence.registrations
        await registrations.beat(beat.model_copy(update={"orth": stranger}))
        await cluster.advance(seconds=0)
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN
        of_another_app = {"registry_key": "another", "registry_value": "http://10.9.9.9:9999", "orth": naming}
        await registrations.beat(beat.model_copy(update=of_another_app))
        await cluster.advance(seconds=0)
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN, "it cannot have it"
        await registrations.beat(beat.model_copy(update={"orth": naming}))
        await cluster.advance(seconds=0)
        assert (await cluster.execution(execution_id)).phase is Phase.DISPATCHED
