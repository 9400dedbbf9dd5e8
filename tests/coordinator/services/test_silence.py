"""Services that fall silent: what the leader takes for a failure, and what it does not."""

from datetime import timedelta
from pathlib import Path

import pytest

from orth.coordinator.services.facts import ServiceFailed, ServiceForgotten, ServiceRegistered
from orth.coordinator.services.silence import Patience, Verdict, judge
from orth.domain.services import Failing, Service, ServiceKind, ServiceStatus, Standing
from orth.errors import NotFound, StoreUnavailable, TooBusy
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import RegistrySection
from orth.store.migrating import upgrade
from orth.store.service_events import events_after, surplus_events
from orth.store.services import list_services
from orth.testing import Cluster
from tests.conftest import StartServer
from tests.servers.postgres import PostgresServer

A = ServiceKind.AGENT
PATIENCE = Patience(timedelta(seconds=30), timedelta(hours=1))


def cluster_in(folder: Path, *, coordinators: int = 1, **registry: object) -> Cluster:
    settings = Settings(registry=RegistrySection(**registry))  # type: ignore[arg-type]  # its fields
    return Cluster(folder, Handlers("tests"), coordinators=coordinators, executors=0, settings=settings)


async def services(cluster: Cluster) -> list[Service]:
    return (await cluster.db.read(list_services, A))[0]


async def told(cluster: Cluster) -> list[str]:
    return [one.type for one in (await cluster.db.read(events_after, 0, 1000)).events]


def service(status: ServiceStatus) -> Service:
    return Service("id", A, "http://a:1", None, None, None, Standing(status), 0, 0, 1)


@pytest.mark.parametrize(
    ("status", "silent", "watched", "verdict", "left"),
    [
        (ServiceStatus.BUSY, 89, 60, Verdict.WAIT, 1),
        (ServiceStatus.BUSY, 90, 60, Verdict.FAIL, 0),
        (ServiceStatus.BUSY, 9000, 10, Verdict.WAIT, 23),  # it may be us who did not listen
        (ServiceStatus.STOPPING, 90, 60, Verdict.FAIL, 0),
        (ServiceStatus.STOPPED, 90, 60, Verdict.WAIT, 3600),
        (ServiceStatus.FAILED, 90, 60, Verdict.WAIT, 3600),
        (ServiceStatus.FAILED, 3690, 60, Verdict.REMOVE, 0),
        (ServiceStatus.STOPPED, 3690, 60, Verdict.REMOVE, 0),
        (ServiceStatus.FAILED, 3690, 0, Verdict.WAIT, 33),
    ],
)
def test_what_is_done_about_a_silence(
    status: ServiceStatus, silent: float, watched: float, verdict: Verdict, left: float
) -> None:
    found, wait = judge(service(status), silent, watched, PATIENCE)
    assert (found, wait) == (verdict, pytest.approx(left))


async def test_three_missed_beats_are_a_failure_and_in_time_the_end(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, forget_after=timedelta(minutes=5)) as cluster:
        registrar = cluster.coordinators[0].services.registrar
        silent = await registrar.register(A, "http://a:1")
        alive = await registrar.register(A, "http://b:1")
        for _ in range(6):
            await cluster.advance(seconds=14.5)
            await registrar.beat(A, alive)
        assert {one.status for one in await services(cluster)} == {ServiceStatus.STARTING}, "87 s are not yet ninety"
        await cluster.advance(seconds=7)
        by_id = {one.id: one.standing for one in await services(cluster)}
        assert (by_id[silent].status, by_id[silent].failing) == (ServiceStatus.FAILED, Failing.SILENCE)
        assert by_id[alive].status is ServiceStatus.STARTING
        assert cluster.recorder.all(ServiceFailed) == [ServiceFailed(A, silent, "http://a:1", Failing.SILENCE)]
        for _ in range(11):
            await cluster.advance(seconds=29)
            await registrar.beat(A, alive)
        assert [one.id for one in await services(cluster)] == [alive]
        assert await told(cluster) == [
            "agent_registered", "agent_registered", "agent_status_changed", "agent_unregistered",
        ]  # fmt: skip
        [gone] = cluster.recorder.all(ServiceForgotten)
        assert gone.id == silent


async def test_a_beat_brings_it_back(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        registrar = cluster.coordinators[0].services.registrar
        one = await registrar.register(A, "http://a:1")
        await registrar.report(A, one, ServiceStatus.BUSY)
        await cluster.advance(seconds=130)
        assert [found.status for found in await services(cluster)] == [ServiceStatus.FAILED]
        await registrar.beat(A, one)
        assert [found.status for found in await services(cluster)] == [ServiceStatus.BUSY]
        assert (await told(cluster))[-2:] == ["agent_status_changed"] * 2


async def test_of_several_coordinators_one_tells(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, coordinators=3) as cluster:
        await cluster.coordinators[2].services.registrar.register(A, "http://a:1")
        await cluster.advance(seconds=200)
        assert len(cluster.recorder.all(ServiceFailed)) == 1
        assert await told(cluster) == ["agent_registered", "agent_status_changed"]


async def test_where_nobody_leads_anybody_does_it(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, coordinators=1) as cluster:
        await cluster.coordinators[0].services.registrar.register(A, "http://a:1")
        beside = [cluster.add_coordinator() for _ in range(2)]
        await cluster.kill_coordinator(cluster.coordinators[0])
        loops = [one.services.silence for one in beside]
        for _ in range(60):
            cluster.clock.move(5)
            for loop in loops:
                await loop.guarded_turn()
        assert [one.status for one in await services(cluster)] == [ServiceStatus.FAILED]
        assert len(cluster.recorder.all(ServiceFailed)) == 1


async def test_while_somebody_leads_the_others_leave_it_alone(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, coordinators=1) as cluster:
        await cluster.coordinators[0].services.registrar.register(A, "http://a:1")
        beside = cluster.add_coordinator().services.silence
        cluster.coordinators.pop()
        for _ in range(40):
            await cluster.coordinators[0].work.election.guarded_turn()
            cluster.clock.move(5)
            await beside.guarded_turn()
        assert cluster.recorder.all(ServiceFailed) == []


async def test_a_silence_while_the_database_was_away_is_ours(tmp_path: Path, start_server: StartServer) -> None:
    server = start_server(PostgresServer, durable=True)
    url = server.create_database()
    upgrade(url)
    cluster = Cluster(tmp_path, Handlers("tests"), executors=0, store_url=url)
    async with cluster:
        registrar = cluster.coordinators[0].services.registrar
        one = await registrar.register(A, "http://a:1")
        server.halt()
        for _ in range(5):
            cluster.clock.move(30)
            with pytest.raises(StoreUnavailable):
                await registrar.beat(A, one)
        server.start()
        await cluster.advance(seconds=25)
        assert cluster.recorder.all(ServiceFailed) == []
        await registrar.beat(A, one)
        await cluster.advance(seconds=60)
        assert cluster.recorder.all(ServiceFailed) == []


async def test_events_are_kept_few(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, events_kept=10) as cluster:
        registrar = cluster.coordinators[0].services.registrar
        one = await registrar.register(A, "http://a:1")
        for _ in range(20):
            await registrar.report(A, one, ServiceStatus.BUSY)
            await registrar.report(A, one, ServiceStatus.IDLE)
        assert await cluster.db.read(surplus_events, 10) == 31
        await cluster.advance(seconds=31)
        assert await cluster.db.read(surplus_events, 10) == 0


async def test_the_registrar_knows_who_is_known(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, services_limit=1) as cluster:
        registrar = cluster.coordinators[0].services.registrar
        one = await registrar.register(A, "http://a:1", incarnation="one")
        assert await registrar.register(A, "http://a:1", incarnation="one") == one
        assert len(cluster.recorder.all(ServiceRegistered)) == 1
        with pytest.raises(TooBusy, match="services_limit"):
            await registrar.register(A, "http://b:1")
        for call in (
            registrar.beat(A, "0" * 32),
            registrar.leave(A, "0" * 32),
            registrar.beat(ServiceKind.ORCHESTRATOR, one),
        ):
            with pytest.raises(NotFound):
                await call
