"""Probing on a hand-cranked cluster: who is called, what is thought of them, and what is stored about it."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from orth.coordinator.defining import edit_group
from orth.coordinator.facts import ExecutorReachable, ExecutorSuspected, ExecutorUnreachable
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import Reachability
from orth.executor.handlers import Handlers
from orth.executor.runtime import Runtime
from orth.store.reachability import Doubt, list_doubts, save_doubts
from orth.testing import Cluster
from orth.testing.network import Line
from orth.wire.messages import RegistryRequest

BEAT = 30


@pytest.fixture
def app() -> Handlers:
    return Handlers("tests")


def states(cluster: Cluster, executor: Runtime) -> list[Reachability]:
    return [coordinator.presence.reach.state(executor.address) for coordinator in cluster.coordinators]


async def doubts(cluster: Cluster) -> list[Doubt]:
    return await cluster.db.read(list_doubts)


async def test_every_coordinator_calls_every_executor(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, coordinators=2, executors=2) as cluster:
        await cluster.advance(seconds=8)  # the second coordinator learns of them from the database
        for executor in cluster.executors:
            assert states(cluster, executor) == [Reachability.REACHABLE] * 2
        assert await doubts(cluster) == []


async def test_a_dead_executor_is_avoided_within_two_seconds(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, coordinators=2, executors=2) as cluster:
        await cluster.advance(seconds=8)
        dead, alive = cluster.executors
        cluster.kill_executor(dead)
        await cluster.advance(seconds=2)
        for coordinator in cluster.coordinators:
            assert coordinator.presence.reach.avoid((dead.address, alive.address)) == (alive.address,)
        await cluster.advance(seconds=1)
        assert states(cluster, dead) == [Reachability.UNREACHABLE] * 2
        assert [(doubt.node_id, doubt.address, doubt.state) for doubt in await doubts(cluster)] == [
            (f"node-{number}", dead.address, Reachability.UNREACHABLE) for number in (1, 2)
        ]


@pytest.mark.parametrize("line", [Line.REFUSED, Line.LOST_REQUESTS, Line.LOST_ANSWERS])
async def test_a_partition_is_noticed_and_its_end_too(tmp_path: Path, app: Handlers, line: Line) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        (executor,) = cluster.executors
        cluster.set_line(executor, line)
        await cluster.advance(seconds=3)
        assert states(cluster, executor) == [Reachability.UNREACHABLE]
        cluster.set_line(executor, Line.UP)
        await cluster.advance(seconds=2)
        assert states(cluster, executor) == [Reachability.REACHABLE]
        assert await doubts(cluster) == []
        kinds = (ExecutorSuspected, ExecutorUnreachable, ExecutorReachable)
        assert [len(cluster.recorder.all(kind)) for kind in kinds] == [1, 1, 1]


async def test_a_failed_call_of_anybody_is_probed_at_once(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        (coordinator,), (executor,) = cluster.coordinators, cluster.executors
        coordinator.presence.reach.refused(executor.address, "a trigger was refused")
        assert states(cluster, executor) == [Reachability.SUSPECT]
        await cluster.advance(seconds=0)
        assert states(cluster, executor) == [Reachability.REACHABLE], "it was a mistake"


async def test_one_that_was_away_for_long_is_back_with_its_next_beat(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        (coordinator,), (executor,) = cluster.coordinators, cluster.executors
        cluster.set_line(executor, Line.REFUSED)
        await cluster.advance(seconds=600)
        assert states(cluster, executor) == [Reachability.UNREACHABLE], "its beats arrive, and it cannot be reached"
        cluster.set_line(executor, Line.UP)
        await coordinator.presence.registrations.beat(executor.announced())
        await cluster.advance(seconds=0)
        assert states(cluster, executor) == [Reachability.REACHABLE]


async def test_addresses_that_people_wrote_are_called_too(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=1) as cluster:
        job = await cluster.job(start=False, executor_handler="none")
        nobody = "http://nobody:9999"
        written = Group(job.job_group, "tests", "tests", AddressType.MANUAL, (nobody,))
        await cluster.db.tx(edit_group, written, cluster.clock.now())
        await cluster.advance(seconds=10)
        assert cluster.coordinators[0].presence.reach.state(nobody) is Reachability.UNREACHABLE
        await cluster.db.tx(edit_group, Group(job.job_group, "tests", "tests", AddressType.AUTO, ()), 0)
        await cluster.advance(seconds=10)
        assert cluster.coordinators[0].presence.reach.state(nobody) is Reachability.UNTRIED, (
            "nobody's address is forgotten"
        )
        assert await doubts(cluster) == []


async def test_dead_addresses_of_one_app_do_not_keep_those_of_others_waiting(tmp_path: Path, app: Handlers) -> None:
    """Thousands of them, with a stolen token: more than can be called in ten seconds."""
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        (coordinator,), (executor,) = cluster.coordinators, cluster.executors
        invented = [f"http://10.9.{number // 250}.{number % 250}:1" for number in range(2_500)]
        beats = (RegistryRequest(registry_key="stolen", registry_value=address) for address in invented)
        await asyncio.gather(*map(coordinator.presence.registrations.beat, beats))
        await cluster.advance(seconds=20)
        cluster.kill_executor(executor)
        await cluster.advance(seconds=3)
        assert states(cluster, executor) == [Reachability.UNREACHABLE]


async def test_an_address_only_a_trigger_named_is_forgotten(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        reach = cluster.coordinators[0].presence.reach
        reach.refused("http://nobody:9999", "a trigger was refused")
        await cluster.advance(seconds=5)
        assert reach.state("http://nobody:9999") is Reachability.UNREACHABLE
        await cluster.advance(seconds=620)
        assert reach.known() == ()
        assert await doubts(cluster) == []


async def test_who_says_good_bye_leaves_no_doubt(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        (coordinator,), (executor,) = cluster.coordinators, cluster.executors
        cluster.set_line(executor, Line.REFUSED)
        await cluster.advance(seconds=3)
        assert len(await doubts(cluster)) == 1
        await coordinator.presence.registrations.leave(executor.announced())
        cluster.kill_executor(executor)
        await cluster.advance(seconds=2)
        assert await doubts(cluster) == []
        assert coordinator.presence.reach.known() == ()


async def test_the_doubts_of_a_coordinator_that_is_gone_are_forgotten(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, coordinators=2) as cluster:
        await cluster.advance(seconds=8)
        (executor,) = cluster.executors
        cluster.set_line(executor, Line.REFUSED)
        await cluster.advance(seconds=3)
        assert len(await doubts(cluster)) == 2
        gone = cluster.coordinators[1]
        await cluster.kill_coordinator(gone)
        cluster.set_line(executor, Line.UP)
        await cluster.advance(seconds=10)
        assert [doubt.node_id for doubt in await doubts(cluster)] == [gone.given.node.id]
        old = cluster.clock.now() - 31 * 60 * 1000
        await cluster.db.tx(save_doubts, [replace(doubt, checked_at=old) for doubt in await doubts(cluster)])
        await cluster.advance(seconds=30)
        assert await doubts(cluster) == [], "nobody renewed it"


async def test_a_doubt_that_lasts_is_renewed(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.advance(seconds=5)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await cluster.advance(seconds=3)
        [first] = await doubts(cluster)
        await cluster.advance(seconds=605)
        [later] = await doubts(cluster)
        assert later.since == first.since
        assert later.checked_at >= first.checked_at + 590_000
