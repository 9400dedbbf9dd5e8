"""Beats, good-byes and silence: what the leader takes for a death, and what it does not."""

import asyncio
from pathlib import Path

import pytest

from orth.coordinator.facts import AppNameUnusable, ExecutorJoined, ExecutorLeft, ExecutorRestarted
from orth.domain.nodes import ExecutorEntry
from orth.errors import StoreUnavailable
from orth.executor.handlers import Handlers
from orth.store.executor_entries import list_executors
from orth.store.migrating import upgrade
from orth.testing import Cluster
from orth.wire.messages import Announcement, Load, RegistryRequest
from tests.conftest import StartServer
from tests.servers.postgres import PostgresServer

A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"


def request(address: str = A, incarnation: str | None = "one", **said: object) -> RegistryRequest:
    orth = Announcement(incarnation=incarnation, **said) if incarnation else None  # type: ignore[arg-type]  # its fields
    return RegistryRequest(registry_key="tests", registry_value=address, orth=orth)


@pytest.fixture
def app() -> Handlers:
    return Handlers("tests")


async def entries(cluster: Cluster) -> list[ExecutorEntry]:
    return await cluster.db.read(list_executors)


async def test_what_an_executor_announces_is_stored(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        said = {"labels": {"zone": "eu"}, "version": "7", "extensions": ("resend", "unheard-of")}
        await take.beat(request(load=Load(running=2, queued=3), **said))
        [entry] = await entries(cluster)
        assert (entry.labels, entry.load, entry.version) == ({"zone": "eu"}, 5, "7")
        assert entry.extensions == {"resend"}
        await take.beat(request(load=Load(running=1), **said))
        await take.beat(request(load=Load(), **said))
        [entry] = await entries(cluster)
        assert (entry.labels, entry.load) == ({"zone": "eu"}, 0)
        await take.beat(request(load=Load(), **{**said, "labels": {"zone": "us"}}))
        [entry] = await entries(cluster)
        assert entry.labels == {"zone": "us"}, "a process may announce something else"


async def test_a_name_no_group_can_have_is_told_once(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        for key, address in (("a/b", A), ("a/b", A), ("a/b", B), ("usable", A), ("abc", A)):
            await take.beat(RegistryRequest(registry_key=key, registry_value=address))
        first, second = cluster.recorder.all(AppNameUnusable)
        assert (first.app_name, first.address) == ("a/b", A)
        assert "letters, digits, dots, hyphens and underscores only" in str(first)
        assert "executor.app_name" in str(first)
        assert (second.app_name, second.reason) == ("abc", "It must have 4 to 64 characters and has 3.")


async def test_two_spellings_of_a_host_are_one_executor(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        for address in ("http://Host:1/Path", "HTTP://hOST:1/Path/", "http://host:1/path"):
            await take.beat(RegistryRequest(registry_key="tests", registry_value=address))
        assert [entry.address for entry in await entries(cluster)] == ["http://host:1/Path", "http://host:1/path"]


async def test_a_restart_is_told_from_a_continuation(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take, began = cluster.coordinators[0].presence.registrations, cluster.clock.now()
        await take.beat(request())
        await cluster.advance(seconds=30)
        await take.beat(request())
        [entry] = await entries(cluster)
        assert entry.since == began
        assert cluster.recorder.all(ExecutorRestarted) == []
        await take.beat(request(incarnation="two"))
        assert cluster.recorder.all(ExecutorRestarted) == [ExecutorRestarted("tests", A, "one", "two")]
        [entry] = await entries(cluster)
        assert entry.since == began + 30_000
        assert len(cluster.recorder.all(ExecutorJoined)) == 1


async def test_beats_that_come_together_share_a_transaction(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        many = [f"http://10.0.1.{number}:9999" for number in range(200)]
        await asyncio.gather(*(take.beat(request(address)) for address in many))
        assert len(await entries(cluster)) == 200
        assert len(cluster.recorder.all(ExecutorJoined)) == 200
        goodbyes = [take.leave(request(address)) for address in many[:150]]
        await asyncio.gather(*goodbyes, *(take.beat(request(address)) for address in many[150:]))
        assert {entry.address for entry in await entries(cluster)} == set(many[150:])


async def test_who_comes_and_leaves_at_once_has_left(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        await asyncio.gather(take.beat(request()), take.leave(request()))
        assert await entries(cluster) == []
        await asyncio.gather(take.leave(request()), take.beat(request()))
        assert [entry.address for entry in await entries(cluster)] == [A]


async def test_the_silent_are_removed_when_their_time_is_over(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        await take.beat(request())
        for _ in range(6):
            await cluster.advance(seconds=14.5)
            await take.beat(request(B))
        assert len(await entries(cluster)) == 2, "87 seconds are not yet ninety"
        await cluster.advance(seconds=7)
        assert [entry.address for entry in await entries(cluster)] == [B]
        [left] = cluster.recorder.all(ExecutorLeft)
        assert (left.address, left.reason) == (A, "no beat for 93 s")
        await cluster.advance(seconds=5)
        assert [one.address for one in cluster.coordinators[0].presence.roster.removed()] == [A]


async def test_a_clock_that_is_set_forward_removes_nobody_who_lives(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=2) as cluster:
        await cluster.advance(seconds=100)
        cluster.clock.jump(3600)
        await cluster.advance(seconds=100)
        assert cluster.recorder.all(ExecutorLeft) == []
        assert len(await entries(cluster)) == 2


async def test_a_new_leader_watches_for_a_whole_beat_before_it_believes_in_a_silence(
    tmp_path: Path, app: Handlers
) -> None:
    async with Cluster(tmp_path, app, executors=1, coordinators=2) as cluster:
        await cluster.advance(seconds=20)
        silent, first = cluster.executors[0], cluster.coordinators[0]
        assert first.work.election.term is not None
        cluster.kill_executor(silent)
        await cluster.advance(seconds=65)
        await cluster.kill_coordinator(first)
        while cluster.coordinators[0].work.election.term is None:
            await cluster.advance(seconds=1)
        await cluster.advance(seconds=30)
        [entry] = await entries(cluster)
        assert cluster.clock.now() - entry.last_beat > 100_000, "longer than ninety seconds"
        await cluster.advance(seconds=5)
        assert await entries(cluster) == []


async def test_after_an_outage_of_the_database_nobody_is_thrown_out_for_its_silence(
    tmp_path: Path, app: Handlers, start_server: StartServer
) -> None:
    server = start_server(PostgresServer, durable=True)
    url = server.create_database()
    upgrade(url)
    async with Cluster(tmp_path, app, executors=2, store_url=url) as cluster:
        await cluster.advance(seconds=40)
        coordinator, dead = cluster.coordinators[0], cluster.executors[1]
        await asyncio.to_thread(server.halt)
        with pytest.raises(StoreUnavailable):
            await coordinator.presence.registrations.beat(cluster.executors[0].announced())
        await cluster.advance(seconds=180)
        assert len(coordinator.presence.roster) == 2, "the memory goes on"
        cluster.kill_executor(dead)
        await asyncio.to_thread(server.start)
        await cluster.advance(seconds=20)
        assert {entry.address for entry in await entries(cluster)} == {cluster.executors[0].address, dead.address}
        await cluster.advance(seconds=60)
        assert [entry.address for entry in await entries(cluster)] == [cluster.executors[0].address]
        assert [left.address for left in cluster.recorder.all(ExecutorLeft)] == [dead.address]
