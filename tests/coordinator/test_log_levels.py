"""A log level for one run: its attempts and shards have it, and nothing else has."""

import logging
import threading
from pathlib import Path

import pytest
from sqlalchemy import delete

from orth.coordinator.batches import BatchRequest, start_batch
from orth.coordinator.defining import trigger_job
from orth.coordinator.letters import Letter, Peer, run_request
from orth.coordinator.replaying import do_again
from orth.coordinator.triggering import Request
from orth.domain.executions import Execution, LogLevel, Phase, Status
from orth.domain.jobs import GroupDialect, Job, RouteStrategy, ScheduleType, TriggerCause
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.executor.runtime import EXTENSIONS
from orth.store.database import Connection
from orth.store.tables import registry
from orth.testing.cluster import Cluster
from orth.testing.network import Line
from orth.wire.dialects import run_body
from orth.wire.messages import Extension
from orth.wire.report_keys import ReportKeys
from tests.coordinator.queue_site import QueueSite, Worker

LOUD = Request(TriggerCause.MANUAL, "loud", log_level=LogLevel.DEBUG)


class Noting:
    """Handlers that note the level their execution has; ``fail`` fails after that."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.seen: list[tuple[str, int | None]] = []
        self._lock = threading.Lock()
        self.app.job("fail")(self._fail)
        self.app.job("succeed")(self._note)

    def _fail(self, ctx: JobContext) -> None:
        self._note(ctx)
        raise JobFailed("again, please")

    def _note(self, ctx: JobContext) -> None:
        with self._lock:
            self.seen.append((ctx.handler, ctx.log_level))


def _empty_registry(connection: Connection) -> None:
    connection.execute(delete(registry))


@pytest.fixture
def noting() -> Noting:
    return Noting()


async def test_every_attempt_at_that_run_has_it_and_the_next_run_has_not(tmp_path: Path, noting: Noting) -> None:
    async with Cluster(tmp_path, noting.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=1)
        await cluster.db.tx(trigger_job, job.id, LOUD, cluster.clock.now())
        await cluster.advance(seconds=5)
        last = (await cluster.executions(job))[-1]
        assert (last.phase, last.attempt, last.log_level) == (Phase.ENDED, 2, "DEBUG")
        await cluster.db.tx(do_again, last.id, TriggerCause.MANUAL, "k", cluster.clock.now())
        await cluster.advance(seconds=5)
        assert noting.seen == [("fail", logging.DEBUG)] * 4
        await cluster.trigger(job)
        await cluster.advance(seconds=5)
        assert noting.seen[4:] == [("fail", None)] * 2


async def test_children_and_batches_do_not_have_it(tmp_path: Path, noting: Noting) -> None:
    async with Cluster(tmp_path, noting.app) as cluster:
        child = await cluster.job(start=False, executor_handler="succeed")
        job = await cluster.job(
            start=False,
            executor_handler="succeed",
            child_job_ids=(child.id,),
            schedule_type=ScheduleType.CRON,
            schedule_conf="0 0 * * * ?",
        )
        await cluster.db.tx(trigger_job, job.id, LOUD, cluster.clock.now())
        await cluster.advance(seconds=5)
        span = BatchRequest(key="k", start="2026-01-01T00:00:00Z", end="2026-01-01T01:00:00Z", limit=1)
        await cluster.db.tx(start_batch, job.id, span, cluster.clock.now())
        await cluster.advance(seconds=30)
        (own, of_batch), followed = await cluster.executions(job), await cluster.executions(child)
        assert (own.log_level, of_batch.log_level, of_batch.cause) == ("DEBUG", None, TriggerCause.BATCH)
        assert [one.log_level for one in followed] == [None, None]
        assert sorted(noting.seen, key=str) == [("succeed", logging.DEBUG)] + [("succeed", None)] * 3


async def test_every_shard_of_a_broadcast_has_it(tmp_path: Path, noting: Noting) -> None:
    async with Cluster(tmp_path, noting.app, executors=2) as cluster:
        broadcast = RouteStrategy.SHARDING_BROADCAST
        job = await cluster.job(start=False, executor_handler="succeed", executor_route_strategy=broadcast)
        ids = await cluster.db.tx(trigger_job, job.id, LOUD, cluster.clock.now())
        await cluster.advance(seconds=5)
        shards = [await cluster.execution(one) for one in ids]
        assert [(one.status, one.log_level) for one in shards] == [(Status.SUCCESS, "DEBUG")] * 2
        assert noting.seen == [("succeed", logging.DEBUG)] * 2


async def test_who_has_left_the_registry_is_told_again_what_it_was_told(tmp_path: Path, noting: Noting) -> None:
    async with Cluster(tmp_path, noting.app) as cluster:
        (executor,) = cluster.executors
        job = await cluster.job(start=False, executor_handler="succeed")
        cluster.set_line(executor, Line.LOST_REQUESTS)
        (one,) = await cluster.db.tx(trigger_job, job.id, LOUD, cluster.clock.now())
        await cluster.advance(seconds=2)
        assert (await cluster.execution(one)).phase is Phase.UNKNOWN
        await cluster.db.tx(_empty_registry)
        cluster.set_line(executor, Line.UP)
        await cluster.advance(seconds=5)
        assert noting.seen == [("succeed", logging.DEBUG)]


async def test_queues_carry_it_too(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        job = await site.job()
        await site.db.tx(trigger_job, job.id, LOUD, site.clock.now())
        await site.trigger(job)
        async with Worker(site.channels) as worker:
            taken = [one for _ in range(2) for one in await worker.take()]
    assert [one.trigger.log_level for one in taken] == ["DEBUG", None]


@pytest.mark.parametrize("dialect", list(GroupDialect))
@pytest.mark.parametrize(
    "extensions",
    [frozenset(), frozenset(EXTENSIONS) - {Extension.LOG_LEVEL}, frozenset(EXTENSIONS)],
    ids=["foreign", "earlier", "ours"],
)
def test_only_who_announced_that_it_knows_is_told(dialect: GroupDialect, extensions: frozenset[str]) -> None:
    execution = Execution(
        id=2,
        job_id=1,
        job_group=1,
        cause=TriggerCause.MANUAL,
        trigger_code=0,
        handle_code=0,
        phase=Phase.OPENED,
        schedule_time=None,
        trigger_time=1,
        log_level="DEBUG",
    )
    job = Job(id=1, job_group=1, job_desc="nightly", executor_handler="nightly")
    peer = Peer("http://a:1", "demo", "one", extensions, dialect)
    request = run_request(Letter(execution, job, job, peer), 1, lambda *_: None, ReportKeys("secret"), again=False)
    _path, body = run_body(request, dialect, extensions)
    is_told = dialect in (GroupDialect.AUTO, GroupDialect.ORTH) and Extension.LOG_LEVEL in extensions
    assert (b"logLevel" in body) is is_told


def test_a_request_without_a_level_is_the_one_it_was_before_there_were_levels() -> None:
    before = "a4bbf6e7f08abc3ebb8dc4eb450c2720be0048454b5e444e444960035b611b26"
    assert Request(TriggerCause.API, "k", "x", ("http://a:1",)).digest == before
