"""What monitoring reads about a coordinator: counted from facts, looked up in memory, served without the database."""

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from orth.coordinator.batches import BatchRequest, start_batch
from orth.coordinator.facts import FiresMissed, JobsPlanned
from orth.coordinator.metrics import LATENESS_BOUNDS, TALLIES, Metrics
from orth.coordinator.node import Coordinator
from orth.domain.jobs import MisfireStrategy, RouteStrategy, ScheduleType
from orth.errors import StoreUnavailable
from orth.executor.context import JobFailed
from orth.executor.handlers import Handlers
from orth.store.migrating import upgrade
from orth.store.tables import groups
from orth.testing import Cluster
from orth.testing.network import Line
from orth.version import __version__
from orth.wire.messages import Announcement, RegistryRequest
from tests.conftest import StartServer
from tests.servers.postgres import PostgresServer

A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"
EVERY_TEN = {"schedule_type": ScheduleType.CRON, "schedule_conf": "*/10 * * * * ?"}
Samples = dict[str, float]


@pytest.fixture
def app() -> Handlers:
    handlers = Handlers("tests")

    @handlers.job("works")
    def works() -> None:
        pass

    @handlers.job("fails")
    def fails() -> None:
        raise JobFailed("on purpose")

    return handlers


def samples(text: bytes) -> Samples:
    """Every sample, under its name and the values of its labels."""
    return {
        " ".join([one.name, *one.labels.values()]): one.value
        for family in text_string_to_metric_families(text.decode())
        for one in family.samples
    }


async def shown(source: Cluster | Coordinator) -> Samples:
    coordinator = source.coordinators[0] if isinstance(source, Cluster) else source
    return samples(await coordinator.metrics.text())


def beat(address: str = A, incarnation: str = "one") -> RegistryRequest:
    return RegistryRequest(registry_key="tests", registry_value=address, orth=Announcement(incarnation=incarnation))


async def test_every_series_is_there_from_the_start(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        now = await shown(cluster)
        for name, tally in TALLIES.items():
            for value in tally.values:
                assert f"{name} {value}".strip() in now
        assert now[f"orth_build_info {__version__}"] == 1
        assert [now[f"orth_reach {state}"] for state in ("reachable", "suspect", "unreachable")] == [0, 0, 0]
        assert "orth_reach untried" not in now


async def test_executions_are_counted_by_cause_status_and_outcome(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=2) as cluster:
        child = await cluster.job(
            start=False, executor_handler="works", executor_route_strategy=RouteStrategy.SHARDING_BROADCAST
        )
        await cluster.job(executor_handler="works", child_job_ids=(child.id,), **EVERY_TEN)
        failing = await cluster.job(start=False, executor_handler="fails", executor_fail_retry_count=2)
        await cluster.trigger(failing)
        await cluster.advance(seconds=20)
        now = await shown(cluster)
        assert now["orth_executions_opened_total cron"] == 2
        assert now["orth_executions_opened_total parent"] == 4, "two shards for each success"
        assert now["orth_executions_opened_total retry"] == 2
        assert now["orth_executions_ended_total success"] == 6
        assert now["orth_executions_ended_total failed"] == 3
        assert now["orth_dispatch_answers_total taken"] == 9
        assert now["orth_dispatch_in_flight"] == now["orth_dispatch_held"] == 0


async def test_a_batch_is_counted_when_it_is_opened(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="works", **EVERY_TEN)
        asked = BatchRequest(start="2024-01-01T00:00:00Z", end="2024-01-01T00:01:00Z", key="k", limit=10, at_once=10)
        await cluster.db.tx(start_batch, job.id, asked, cluster.clock.now())
        await cluster.advance(seconds=10)
        assert (await shown(cluster))["orth_executions_opened_total batch"] == 6


async def test_who_cannot_be_reached_is_counted(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="works", executor_route_strategy=RouteStrategy.FIRST)
        for executor in cluster.executors:
            cluster.set_line(executor, Line.REFUSED)
        await cluster.trigger(job)
        await cluster.advance(seconds=1)
        now = await shown(cluster)
        assert now["orth_dispatch_answers_total not_sent"] == 2
        assert now["orth_dispatch_rerouted_total"] == 1
        assert now["orth_executions_ended_total trigger_failed"] == 1
        assert now["orth_reach suspect"] + now["orth_reach unreachable"] == 2


async def test_fires_planned_in_time_are_not_late(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, plan_ahead=5.0) as cluster:
        await cluster.job(executor_handler="works", **EVERY_TEN)
        await cluster.advance(seconds=30)
        now = await shown(cluster)
        opened = now["orth_executions_opened_total cron"]
        assert opened >= 3
        assert now["orth_fire_lateness_seconds_count"] == now["orth_fire_lateness_seconds_bucket 0.005"] == opened
        assert now["orth_misfires_total run"] == 0


async def test_missed_fires_are_counted_by_what_was_decided_and_are_late(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.job(executor_handler="works", misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW, **EVERY_TEN)
        await cluster.job(executor_handler="works", misfire_strategy=MisfireStrategy.DO_NOTHING, **EVERY_TEN)
        before = await shown(cluster)
        cluster.clock.jump(60)
        await cluster.advance(seconds=2)
        now = await shown(cluster)
        (told,) = cluster.recorder.all(FiresMissed)
        assert told.run == 1
        assert told.skipped == told.run + told.coalesced > 1, "both jobs missed the same fires"
        for decision in ("run", "coalesced", "skipped"):
            assert now[f"orth_misfires_total {decision}"] == getattr(told, decision)
        assert now["orth_executions_opened_total misfire"] == 1
        late = now["orth_fire_lateness_seconds_sum"] - before["orth_fire_lateness_seconds_sum"]
        assert late >= cluster.settings.coordinator.misfire_threshold.total_seconds()


async def test_lateness_falls_into_the_bucket_that_holds_it(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        cluster.events.emit(JobsPlanned(1, 3, 0, (0.0, 0.25, 1000.0)))
        now = await shown(cluster)
        buckets = [now[f"orth_fire_lateness_seconds_bucket {bound}"] for bound in LATENESS_BOUNDS]
        assert buckets == [1 if bound < 0.25 else 2 for bound in LATENESS_BOUNDS]
        assert now["orth_fire_lateness_seconds_bucket +Inf"] == 3
        assert now["orth_fire_lateness_seconds_sum"] == 1000.25


async def test_the_registry_is_counted_by_what_the_beats_say(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        await take.beat(beat())
        await take.beat(beat(B))
        await take.beat(beat(B, "two"))
        assert await registry_of(cluster) == (2, 0, 0)
        now = await shown(cluster)
        assert now["orth_registry_beats_total"] == 3
        assert now["orth_registry_joins_total"] == 2
        assert now["orth_registry_restarts_total"] == 1
        await cluster.advance(seconds=40)
        await take.beat(beat(B, "two"))
        assert await registry_of(cluster) == (1, 1, 0)
        await take.leave(beat(B, "two"))
        assert await registry_of(cluster) == (0, 1, 0)
        cluster.clock.move(60)
        assert await registry_of(cluster) == (0, 0, 1)
        await cluster.advance(seconds=80)
        assert await registry_of(cluster) == (0, 0, 0)
        now = await shown(cluster)
        assert now["orth_registry_departures_total goodbye"] == 1
        assert now["orth_registry_departures_total silence"] == 1


async def registry_of(cluster: Cluster) -> tuple[float, ...]:
    now = await shown(cluster)
    return tuple(now[f"orth_registry_executors {state}"] for state in ("alive", "overdue", "silent"))


async def test_a_group_that_nobody_works_for_is_counted(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0) as cluster:
        assert (await shown(cluster))["orth_registry_groups_without_executors"] == 0
        await cluster.job(start=False, executor_handler="works")
        assert (await shown(cluster))["orth_registry_groups_without_executors"] == 1
        await cluster.coordinators[0].presence.registrations.beat(beat())
        assert (await shown(cluster))["orth_registry_groups_without_executors"] == 0


async def test_one_leads_and_the_other_does_not(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=0, coordinators=2) as cluster:
        await cluster.advance(seconds=1)
        first, second = [await shown(coordinator) for coordinator in cluster.coordinators]
        assert (first["orth_leader"], second["orth_leader"]) == (1, 0)
        assert (first["orth_epoch"], second["orth_epoch"]) == (1, 0)
        assert first["orth_terms_begun_total"] == 1
        await cluster.kill_coordinator(cluster.coordinators[0])
        await cluster.advance(seconds=60)
        now = await shown(cluster)
        assert (now["orth_leader"], now["orth_epoch"]) == (1, 2)


async def test_labels_have_closed_sets_whatever_happens(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app, executors=2) as cluster:
        before = await shown(cluster)
        job = await cluster.job(executor_handler="fails", executor_fail_retry_count=1, **EVERY_TEN)
        await cluster.trigger(job)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await cluster.advance(seconds=60)
        text = await cluster.coordinators[0].metrics.text()
        assert samples(text).keys() == before.keys()
        assert [one.address for one in cluster.executors if one.address.encode() in text] == []


@pytest.fixture
def server(start_server: StartServer) -> PostgresServer:
    return start_server(PostgresServer, durable=True)


async def test_while_the_database_is_away_the_memory_is_served(
    tmp_path: Path, app: Handlers, server: PostgresServer
) -> None:
    url = server.create_database()
    upgrade(url)
    async with Cluster(tmp_path, app, executors=2, store_url=url) as cluster:
        await cluster.advance(seconds=1)
        assert (await shown(cluster))["orth_store_up"] == 1
        await asyncio.to_thread(server.halt)
        with pytest.raises(StoreUnavailable):
            await cluster.coordinators[0].presence.registrations.beat(beat())
        now = await shown(cluster)
        assert now["orth_store_up"] == 0
        assert now["orth_registry_executors alive"] == 2
        assert "orth_registry_groups_without_executors" not in now, "nobody knows"
        await cluster.advance(seconds=5)
        assert (await shown(cluster))["orth_loop_failures_total"] > 0
        await asyncio.to_thread(server.start)
        now = await shown(cluster)
        assert (now["orth_store_up"], now["orth_registry_groups_without_executors"]) == (1, 0)


async def test_a_slow_database_is_asked_once_and_not_waited_for(
    tmp_path: Path, app: Handlers, server: PostgresServer
) -> None:
    url = server.create_database()
    upgrade(url)
    async with Cluster(tmp_path, app, executors=0, store_url=url) as cluster:
        metrics: Metrics = cluster.coordinators[0].metrics
        other = sa.create_engine(cluster.db.url)
        try:
            with other.connect() as holding:
                holding.execute(sa.text(f"LOCK TABLE {groups.name} IN ACCESS EXCLUSIVE MODE"))
                asked = [asyncio.create_task(metrics.text()) for _ in range(20)]
                async with asyncio.timeout(6):
                    texts = await asyncio.gather(*asked)
                assert {samples(text)["orth_store_up"] for text in texts} == {0}
                waiting = holding.execute(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one()
                assert waiting == 1
                holding.rollback()
            async with asyncio.timeout(6):
                while samples(await metrics.text())["orth_store_up"] == 0:
                    pass
        finally:
            other.dispose()
