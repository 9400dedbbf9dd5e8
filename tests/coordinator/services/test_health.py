"""Health checks drive the status of services: over real sockets, to a real server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

from orth.coordinator.services.duty import Duty
from orth.coordinator.services.facts import ServiceFailed, ServiceRecovered
from orth.coordinator.services.health import Health, Rounds
from orth.domain.services import Failing, Service, ServiceKind, ServiceStatus
from orth.executor.handlers import Handlers
from orth.store.services import Registration, _enter, list_services
from orth.testing import Cluster
from orth.wire.health_calls import HealthCalls

A, O = ServiceKind.AGENT, ServiceKind.ORCHESTRATOR  # noqa: E741
ROUNDS = Rounds(timedelta(seconds=10), 3, 50, 90.0)


@dataclass
class Patient:
    """A server that answers as it is told to."""

    url: str = ""
    status: int = 200
    silent: bool = False
    location: str = ""
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        if self.silent:
            await reader.read()
        more = f"Location: {self.location}\r\n" if self.location else ""
        writer.write(f"HTTP/1.1 {self.status} Said\r\n{more}Content-Length: 2\r\n\r\n{{}}".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def patient() -> AsyncIterator[Patient]:
    one = Patient()
    async with await asyncio.start_server(one.serve, "127.0.0.1", 0) as server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one
        server.close()


@asynccontextmanager
async def checking(folder: Path, rounds: Rounds = ROUNDS) -> AsyncIterator[tuple[Cluster, Health]]:
    async with (
        Cluster(folder, Handlers("tests"), executors=0) as cluster,
        HealthCalls(timeout=0.5, connections=50) as link,
    ):
        election = cluster.coordinators[0].work.election
        duty = Duty(cluster.db, election, cluster.clock, lease=timedelta(seconds=30))
        yield cluster, Health(cluster.db, duty, link, cluster.clock, cluster.events, rounds=rounds)


async def only(cluster: Cluster) -> Service:
    [[service], _seq] = await cluster.db.read(list_services)
    return service


async def enter(cluster: Cluster, url: str, owner: str) -> None:
    """As the token of ``owner`` has registered it once, when it had an executor there."""
    apps = frozenset({owner}) if owner else None
    await cluster.db.tx(_enter, Registration(A, url, token_hex(16), None, None, owner, apps), cluster.clock.now())


async def round_(cluster: Cluster, health: Health) -> None:
    await health.guarded_turn()
    await cluster.advance(seconds=10)
    service = await only(cluster)
    await cluster.coordinators[0].services.registrar.beat(service.kind, service.id)


async def test_failing_three_times_is_failed_and_one_good_answer_what_it_was(tmp_path: Path) -> None:
    async with patient() as one, checking(tmp_path) as (cluster, health):
        registrar = cluster.coordinators[0].services.registrar
        service_id = await registrar.register(A, one.url)
        await registrar.report(A, service_id, ServiceStatus.BUSY)
        one.status = 503
        await round_(cluster, health)
        await round_(cluster, health)
        assert (await only(cluster)).status is ServiceStatus.BUSY, "twice is not yet three times"
        await round_(cluster, health)
        found = await only(cluster)
        assert (found.status, found.standing.failing) == (ServiceStatus.FAILED, Failing.HEALTH)
        assert cluster.recorder.all(ServiceFailed) == [ServiceFailed(A, service_id, one.url, Failing.HEALTH)]
        await round_(cluster, health)
        assert (await only(cluster)).status is ServiceStatus.FAILED, "beats do not mend it"
        one.status = 200
        await round_(cluster, health)
        assert (await only(cluster)).status is ServiceStatus.BUSY
        assert cluster.recorder.all(ServiceRecovered) == [ServiceRecovered(A, service_id, ServiceStatus.BUSY)]
        assert {head.split()[1] for head in one.asked} == {"/health"}
        assert not any("token" in head.lower() for head in one.asked)


async def test_a_failure_between_good_answers_is_forgotten(tmp_path: Path) -> None:
    async with patient() as one, checking(tmp_path) as (cluster, health):
        await cluster.coordinators[0].services.registrar.register(O, one.url)
        for status in (500, 500, 200, 500, 500, 200):
            one.status = status
            await round_(cluster, health)
        assert (await only(cluster)).status is ServiceStatus.STARTING
        assert {head.split()[1] for head in one.asked} == {"/health/live"}


async def test_one_that_does_not_answer_and_one_that_is_not_there(tmp_path: Path) -> None:
    async with patient() as one, checking(tmp_path) as (cluster, health):
        await cluster.coordinators[0].services.registrar.register(A, one.url)
        one.silent = True
        for _ in range(3):
            await round_(cluster, health)
        assert (await only(cluster)).status is ServiceStatus.FAILED


async def test_a_redirect_is_not_followed_and_a_missing_page_is_no_failure(tmp_path: Path) -> None:
    async with patient() as one, patient() as elsewhere, checking(tmp_path) as (cluster, health):
        await cluster.coordinators[0].services.registrar.register(A, one.url)
        one.status, one.location = 302, elsewhere.url
        for _ in range(3):
            await round_(cluster, health)
        one.status = 404
        for _ in range(3):
            await round_(cluster, health)
        assert len(one.asked) == 6
        assert elsewhere.asked == []
        assert (await only(cluster)).status is ServiceStatus.STARTING


async def test_who_stops_or_is_silent_is_not_asked(tmp_path: Path) -> None:
    async with patient() as one, checking(tmp_path) as (cluster, health):
        registrar = cluster.coordinators[0].services.registrar
        service_id = await registrar.register(A, one.url)
        for status in (ServiceStatus.STOPPING, ServiceStatus.STOPPED, ServiceStatus.FAILED):
            await registrar.report(A, service_id, status)
            await round_(cluster, health)
        assert one.asked == []


async def test_so_many_are_asked_in_a_second(tmp_path: Path) -> None:
    async with patient() as one, checking(tmp_path, Rounds(timedelta(seconds=10), 3, 4, 90.0)) as (cluster, health):
        registrar = cluster.coordinators[0].services.registrar
        for number in range(10):
            await registrar.register(A, f"{one.url}/{number}")
        pauses = []
        for asked in (4, 8, 10):
            pauses.append(await health.guarded_turn())
            assert len(one.asked) == asked
            cluster.clock.move(pauses[-1])
        assert pauses == [1.0, 1.0, 8.0]


class Counting:
    """Answers that all is well, after ``takes`` seconds where the url names an owner that is ``slow``."""

    def __init__(self, cluster: Cluster, takes: float = 0.0) -> None:
        self._cluster = cluster
        self._takes = takes
        self._now: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()

    async def ask(self, url: str, path: str) -> None:
        owner = url.split("/")[3]
        self.asked[owner] += 1
        self._now[owner] += 1
        self.at_once[owner] = max(self.at_once[owner], self._now[owner])
        if owner == "slow":
            self._cluster.clock.move(self._takes)
        await asyncio.sleep(0)
        self._now[owner] -= 1


async def test_services_of_one_token_are_asked_one_after_another(tmp_path: Path) -> None:
    async with checking(tmp_path) as (cluster, _health):
        duty = Duty(cluster.db, cluster.coordinators[0].work.election, cluster.clock, lease=timedelta(hours=1))
        link = Counting(cluster)
        health = Health(cluster.db, duty, link, cluster.clock, cluster.events, rounds=ROUNDS)
        for owner in ("slow", "quick", ""):
            for number in range(6):
                await enter(cluster, f"http://127.0.0.1:9/{owner}/{number}", owner)
        await health.guarded_turn()
        assert link.at_once == {"slow": 1, "quick": 1, "": 6}
        assert link.asked == {"slow": 6, "quick": 6, "": 6}


async def test_a_token_whose_services_are_slow_holds_up_no_other(tmp_path: Path) -> None:
    async with checking(tmp_path) as (cluster, _health):
        duty = Duty(cluster.db, cluster.coordinators[0].work.election, cluster.clock, lease=timedelta(hours=1))
        link = Counting(cluster, takes=3.0)
        health = Health(cluster.db, duty, link, cluster.clock, cluster.events, rounds=ROUNDS)
        for owner in ("slow", ""):
            for number in range(6):
                await enter(cluster, f"http://127.0.0.1:9/{owner}/{number}", owner)
        for turn in range(1, 6):
            await health.guarded_turn()
            assert link.asked["slow"] == turn
        assert link.asked[""] == 12, "the second round of the others began while one token is in its first"


async def test_only_the_leader_asks(tmp_path: Path) -> None:
    async with (
        patient() as one,
        checking(tmp_path) as (cluster, _health),
        HealthCalls(timeout=1, connections=1) as link,
    ):
        follower = cluster.add_coordinator()
        duty = Duty(follower.given.db, follower.work.election, cluster.clock, lease=timedelta(seconds=30))
        health = Health(cluster.db, duty, link, cluster.clock, cluster.events, rounds=ROUNDS)
        await cluster.coordinators[0].services.registrar.register(A, one.url)
        for _ in range(3):
            await health.guarded_turn()
            await cluster.advance(seconds=10)
        assert one.asked == []
