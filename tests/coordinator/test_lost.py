"""Signs of loss: an executor is gone, is silent, has forgotten, or says that it has nothing."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from orth.coordinator.defining import edit_group
from orth.domain import reasons
from orth.domain.executions import Phase, Status
from orth.domain.jobs import AddressType, Group, Job
from orth.executor.handlers import Handlers
from orth.store.tables import executions
from orth.testing.cluster import Cluster
from orth.testing.network import Line
from orth.wire.messages import Announcement, RegistryRequest


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@asynccontextmanager
async def written_by_hand(folder: Path, held: threading.Event, **fields: object) -> AsyncIterator[tuple[Cluster, Job]]:
    """A cluster whose one executor is known by its address only, as those of other makes may be."""
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(folder, app) as cluster:
        job = await cluster.job(start=False, executor_handler="hang", **fields)
        executor = cluster.executors[0]
        await executor.heartbeat.unregister(1)
        group = Group(job.job_group, "tests", "tests", AddressType.MANUAL, (executor.address,))
        await cluster.db.tx(edit_group, group, cluster.clock.now())
        yield cluster, job


async def taken(cluster: Cluster, job: Job) -> int:
    execution_id = await cluster.trigger(job)
    dispatch = cluster.coordinators[0].work.dispatch
    await dispatch.guarded_turn()
    await dispatch.all_answered()
    await dispatch.guarded_turn()
    assert (await cluster.execution(execution_id)).status is Status.PENDING
    return execution_id


async def seconds_until_lost(cluster: Cluster, execution_id: int, limit: int, step: int = 20) -> int | None:
    """Let time pass for the coordinator alone, in steps; when the execution ended."""
    coordinator = cluster.coordinators[0]
    for passed in range(0, limit, step):
        if (await cluster.execution(execution_id)).status.terminal:
            return passed
        cluster.clock.move(step)
        await coordinator.work.election.guarded_turn()
        coordinator.work.election.worked()
        await coordinator.care.lost.guarded_turn()
    return None


async def test_who_says_that_it_is_busy_is_believed(tmp_path: Path, held: threading.Event) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        assert await seconds_until_lost(cluster, execution_id, 3600) is None
        held.set()
        await cluster.advance(seconds=5)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS


async def test_who_says_twice_that_it_is_idle_has_lost_it(tmp_path: Path, held: threading.Event) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        cluster.kill_executor(executor)
        cluster.add_executor(at=executor)  # it remembers nothing, and never registered either
        after = await seconds_until_lost(cluster, execution_id, 1200)
        assert after is not None
        assert 600 + 60 <= after <= 600 + 100, "the setting, and a second look"
        lost = await cluster.execution(execution_id)
        assert lost.handle_msg == "Result lost: the executor says that nothing of the job runs or waits there."
        assert (lost.status, lost.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


async def test_who_does_not_answer_at_an_address_written_by_hand_is_gone_in_the_end(
    tmp_path: Path, held: threading.Event
) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        after = await seconds_until_lost(cluster, execution_id, 2400)
        assert after is not None
        assert after >= 2 * 600
        held.set()
        assert "does not answer" in ((await cluster.execution(execution_id)).handle_msg or "")


@pytest.mark.parametrize(("fields", "earliest"), [({"lost_after": 120}, 120), ({"executor_timeout": 1800}, 1800)])
async def test_a_job_may_have_its_own_patience_and_its_time_limit_is_waited_for(
    tmp_path: Path, held: threading.Event, fields: dict[str, object], earliest: int
) -> None:
    async with written_by_hand(tmp_path, held, **fields) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        cluster.kill_executor(executor)
        cluster.add_executor(at=executor)
        after = await seconds_until_lost(cluster, execution_id, 3600)
        assert after is not None
        assert earliest + 60 <= after <= earliest + 100


ELSEWHERE = {
    "a page": (404, b"<html>404 Not Found</html>"),
    "a redirect": (302, b""),
    "json of another kind": (404, b'{"timestamp": 1, "status": 404, "error": "Not Found"}'),
    "a code in a failure": (500, b'{"code": 500, "msg": "Internal Server Error"}'),
    "no code": (200, b'{"status": "ok"}'),
    "garbage": (200, b"\x00\xff"),
}


@pytest.mark.parametrize("answer", ELSEWHERE)
async def test_what_is_no_executor_does_not_speak_for_one(
    tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)

        async def elsewhere(*_: object) -> tuple[int, bytes]:
            return ELSEWHERE[answer]

        monkeypatch.setattr(cluster.network, "exchange", elsewhere)
        after = await seconds_until_lost(cluster, execution_id, 1200)
        assert after is not None
        assert 600 + 60 <= after <= 600 + 100, "the setting, and a second look"
        lost = await cluster.execution(execution_id)
        assert lost.handle_msg == (
            f"Result lost: what answers at the executor's address is not an executor (HTTP {ELSEWHERE[answer][0]})."
        )
        held.set()


@pytest.mark.parametrize("status", [401, 403, 429, 503])
async def test_who_is_not_let_in_knows_nothing(
    tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)

        async def shut(*_: object) -> tuple[int, bytes]:
            return status, b"go away"

        monkeypatch.setattr(cluster.network, "exchange", shut)
        after = await seconds_until_lost(cluster, execution_id, 2400)
        assert after is not None
        assert after >= 2 * 600, "that may be the executor: as if it were silent"
        assert f"HTTP {status}" in ((await cluster.execution(execution_id)).handle_msg or "")
        held.set()


# --- our own executors: they are asked ---


@asynccontextmanager
async def registered(folder: Path, held: threading.Event, **fields: object) -> AsyncIterator[tuple[Cluster, Job]]:
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(folder, app) as cluster:
        yield cluster, await cluster.job(start=False, executor_handler="hang", **fields)


def doubt(cluster: Cluster) -> None:
    """Let the coordinator have seen its connection to the executor end."""
    cluster.coordinators[0].presence.reach.refused(cluster.executors[0].address, "connection closed")


async def test_who_is_gone_has_lost_what_it_had_within_seconds(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held, executor_fail_retry_count=1) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        doubt(cluster)
        cluster.kill_executor(executor)
        after = await seconds_until_lost(cluster, execution_id, 120, step=1)
        assert after is not None
        assert 35 <= after <= 37
        lost = await cluster.execution(execution_id)
        assert lost.handle_msg == "Result lost: nobody listens at the executor's address any more."
        assert [one.attempt for one in await cluster.executions(job)] == [1, 2]
        held.set()


async def test_a_job_s_own_patience_is_shorter(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held, lost_after=4) as (cluster, job):
        execution_id = await taken(cluster, job)
        doubt(cluster)
        cluster.kill_executor(cluster.executors[0])
        after = await seconds_until_lost(cluster, execution_id, 60, step=1)
        assert after is not None
        assert 4 <= after <= 6
        held.set()


async def test_who_beats_is_not_gone_though_its_machine_refuses(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        doubt(cluster)
        for _ in range(5):
            assert await seconds_until_lost(cluster, execution_id, 30, step=5) is None
            await cluster.executors[0].heartbeat.guarded_turn()
        cluster.set_line(cluster.executors[0], Line.UP)
        assert await seconds_until_lost(cluster, execution_id, 60, step=5) is None
        held.set()


async def test_who_stands_still_has_lost_it_as_soon_as_the_job_says(tmp_path: Path, held: threading.Event) -> None:
    """It is in the registry all the time: nobody waits for it to be removed."""
    async with registered(tmp_path, held, lost_after=5) as (cluster, job):
        execution_id = await taken(cluster, job)
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        lost = cluster.coordinators[0].care.lost
        assert await lost.guarded_turn() <= 5, "a job in a hurry is looked at more often"
        after = await seconds_until_lost(cluster, execution_id, 60, step=1)
        assert after is not None
        assert 5 <= after <= 12
        ended = await cluster.execution(execution_id)
        assert ended.handle_msg == "Result lost: the executor neither answers nor beats."
        held.set()


async def test_who_beats_does_not_stand_still(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held, lost_after=45) as (cluster, job):
        execution_id = await taken(cluster, job)
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        for _ in range(5):
            assert await seconds_until_lost(cluster, execution_id, 30, step=5) is None
            await cluster.executors[0].heartbeat.guarded_turn()
        after = await seconds_until_lost(cluster, execution_id, 120, step=5)
        assert after is not None
        assert 45 <= after <= 60
        held.set()


async def test_being_removed_from_the_registry_does_not_begin_the_silence_anew(
    tmp_path: Path, held: threading.Event
) -> None:
    async with registered(tmp_path, held, lost_after=100) as (cluster, job):
        execution_id = await taken(cluster, job)
        doubt(cluster)
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        assert await seconds_until_lost(cluster, execution_id, 60, step=5) is None
        await cluster.executors[0].heartbeat.unregister(1)
        after = await seconds_until_lost(cluster, execution_id, 100, step=5)
        assert after is not None
        assert 35 <= after <= 50
        held.set()


async def test_who_is_cut_off_and_still_has_it_has_not_lost_it(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        await cluster.executors[0].heartbeat.unregister(1)
        assert await seconds_until_lost(cluster, execution_id, 1800) is None, "it is asked, and has it"
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        after = await seconds_until_lost(cluster, execution_id, 1800)
        assert after is not None
        assert 600 <= after <= 640, "silence is not certain: the setting decides"
        held.set()


async def test_a_successor_that_never_had_it_says_so(tmp_path: Path, held: threading.Event) -> None:
    async with registered(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        doubt(cluster)
        cluster.kill_executor(executor)
        cluster.add_executor(at=executor)
        after = await seconds_until_lost(cluster, execution_id, 60, step=1)
        assert after is not None
        assert 5 <= after <= 7
        lost = await cluster.execution(execution_id)
        assert lost.handle_msg == "Result lost: the executor was restarted while it had it."
        held.set()


async def test_a_restart_is_asked_about_when_it_is_known_and_not_when_the_next_look_is_due(
    tmp_path: Path, held: threading.Event
) -> None:
    async with registered(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor, coordinator = cluster.executors[0], cluster.coordinators[0]
        lost = coordinator.care.lost
        doubt(cluster)
        cluster.kill_executor(executor)
        await lost.guarded_turn()
        assert lost.paused_until - cluster.clock.monotonic() > 30, "nobody is there: that must stay so for a while"
        cluster.clock.move(2)
        successor = cluster.add_executor(at=executor)
        elsewhere = cluster.add_coordinator()  # which hears of it: this one reads it in the database
        announced = Announcement(incarnation=successor.incarnation)
        said = RegistryRequest(registry_key="tests", registry_value=successor.address, orth=announced)
        await elsewhere.presence.registrations.beat(said)
        registered_at = cluster.clock.monotonic()
        for _second in range(20):
            await coordinator.presence.probing.guarded_turn()
            await coordinator.presence.probing.all_answered()
            if lost.paused_until <= cluster.clock.monotonic():
                await lost.guarded_turn()
            if (await cluster.execution(execution_id)).status.terminal:
                break
            cluster.clock.move(1)
        assert cluster.clock.monotonic() - registered_at <= 12
        held.set()


async def test_what_a_beat_does_not_name_is_asked_about_and_lost_if_it_is_forgotten(
    tmp_path: Path, held: threading.Event
) -> None:
    async with registered(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor, lost = cluster.executors[0], cluster.coordinators[0].care.lost
        assert await seconds_until_lost(cluster, execution_id, 10, step=5) is None
        held.set()
        await cluster.settle()
        await executor.outbox.guarded_turn()
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        await cluster.db.tx(_never_stored, execution_id, executor.incarnation)
        await lost.guarded_turn()
        await executor.heartbeat.guarded_turn()
        after = await seconds_until_lost(cluster, execution_id, 60, step=1)
        assert after is not None
        assert after <= 37
        ended = await cluster.execution(execution_id)
        assert ended.handle_msg == "Result lost: the executor has reported it, and the result is not in this database."


def _never_stored(connection: Connection, execution_id: int, incarnation: str) -> None:
    """As if the database had been set back to before the result came."""
    taken_again = {"phase": Phase.DISPATCHED, "handle_code": 0, "outcome": 0, "incarnation": incarnation}
    connection.execute(update(executions).where(executions.c.id == execution_id).values(**taken_again))


# --- what beats name


async def test_a_beat_speaks_for_the_executions_of_its_own_app_alone(tmp_path: Path, held: threading.Event) -> None:
    """Who has the token of one app may name any process; the executions of another are not asked for because of it."""
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="hang")
        execution_id = await taken(cluster, job)
        executor, coordinator = cluster.executors[0], cluster.coordinators[0]
        await coordinator.care.lost.guarded_turn()
        asked: list[str] = []
        exchange = cluster.network.exchange

        async def heard(address: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
            asked.append(path)
            return await exchange(address, path, body, headers)

        cluster.network.exchange = heard  # type: ignore[method-assign]  # it listens, and passes on

        async def beaten(app_name: str, address: str) -> list[str]:
            """What is asked after a beat of that process which names nothing."""
            nothing = Announcement(incarnation=executor.incarnation)
            said = RegistryRequest(registry_key=app_name, registry_value=address, orth=nothing)
            await coordinator.presence.registrations.beat(said)
            await coordinator.care.lost.guarded_turn()
            found, asked[:] = list(asked), []
            return found

        assert await beaten("other", "http://10.6.6.6:9999") == []
        assert await beaten("other", executor.address) == []
        assert await beaten("tests", executor.address) == ["/runs"], "it is asked whether it has it"
        assert (await cluster.execution(execution_id)).status is Status.PENDING
        held.set()
