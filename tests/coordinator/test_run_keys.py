"""What handlers may know of the attempts at one fire: one key for all of them, whatever caused it, and their number."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from orth import helper
from orth.coordinator.batches import BatchRequest, start_batch
from orth.coordinator.replaying import do_again
from orth.domain.executions import Phase
from orth.domain.jobs import ScheduleType, TriggerCause
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.testing.cluster import Cluster
from tests.coordinator.queue_site import QueueSite, Worker

Seen = tuple[int | None, str, str]
"""Attempt, key and job."""


class Noting:
    """A handler that notes what it is told and fails, and one that succeeds."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.seen: list[Seen] = []
        self._lock = threading.Lock()
        self.app.job("fail")(self._fail)
        self.app.job("succeed")(lambda: None)

    def _fail(self, ctx: JobContext) -> None:
        assert ctx.run_key == ctx.idempotency_key == helper.get_run_key()
        assert (ctx.attempt, ctx.job_name) == (helper.get_attempt(), helper.get_job_name())
        with self._lock:
            self.seen.append((ctx.attempt, ctx.run_key, ctx.job_name))
        raise JobFailed("again, please")

    def keys_of_three(self) -> list[str]:
        """The keys that were seen, when each was seen by the attempts 1, 2 and 3 in turn."""
        keys = [key for _attempt, key, _job in self.seen]
        assert [attempt for attempt, _key, _job in self.seen] == [1, 2, 3] * (len(self.seen) // 3)
        assert all(len(set(keys[at : at + 3])) == 1 for at in range(0, len(keys), 3)), keys
        return keys[::3]


async def test_every_cause_has_one_key_for_all_attempts_and_no_other_fire_has_it(tmp_path: Path) -> None:
    noting = Noting()
    async with Cluster(tmp_path, noting.app) as cluster:
        job = await cluster.job(
            start=False,
            executor_handler="fail",
            executor_fail_retry_count=2,
            schedule_type=ScheduleType.CRON,
            schedule_conf="0 0 * * * ?",
        )
        for _ in range(2):  # by hand, twice
            await cluster.trigger(job)
            await cluster.advance(seconds=5)
        parent = await cluster.job(start=False, executor_handler="succeed", child_job_ids=(job.id,))
        await cluster.trigger(parent)
        await cluster.advance(seconds=5)
        asked = BatchRequest(key="k", start="2026-01-01T00:00:00Z", end="2026-01-01T01:00:00Z", limit=1)
        await cluster.db.tx(start_batch, job.id, asked, cluster.clock.now())
        await cluster.advance(seconds=30)
        keys = noting.keys_of_three()
        causes = [one.cause for one in await cluster.executions(job) if one.attempt == 1]
        assert {TriggerCause.MANUAL, TriggerCause.PARENT, TriggerCause.BATCH} == set(causes)
        assert len(set(keys)) == len(keys) == len(causes)
        assert {name for _attempt, _key, name in noting.seen} == {job.job_desc}


async def test_what_is_done_again_by_hand_has_the_key_of_what_it_repeats(tmp_path: Path) -> None:
    noting = Noting()
    async with Cluster(tmp_path, noting.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=2)
        await cluster.trigger(job)
        await cluster.advance(seconds=5)
        last = (await cluster.executions(job))[-1]
        assert (last.phase, last.attempt) == (Phase.ENDED, 3)
        await cluster.db.tx(do_again, last.id, TriggerCause.MANUAL, "k", cluster.clock.now())
        await cluster.advance(seconds=5)
        first, second = noting.keys_of_three()
        assert first == second


async def test_queues_carry_it_too(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        job = await site.job(executor_fail_retry_count=1)
        one = await site.trigger(job)
        async with Worker(site.channels) as worker:
            (first,) = await worker.take()
            await worker.accept(first)
            await worker.finish(first, 500)
            await site.until(one, lambda it: it.status.terminal)
            (second,) = await worker.take()
    assert [(it.trigger.attempt, it.trigger.job_name) for it in (first, second)] == [(1, "queued"), (2, "queued")]
    assert first.trigger.run_key is not None
    assert first.trigger.run_key == second.trigger.run_key


_CHILD = "from orth import helper; print(helper.get_attempt(), helper.get_run_key(), helper.get_job_name())"


def test_a_child_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"ORTH_JOB_ID": "3", "ORTH_JOB_LOG_ID": "8", "ORTH_JOB_ATTEMPT": "2", "ORTH_JOB_RUN_KEY": "k"}
    for name, value in {**told, "ORTH_JOB_NAME": "prices"}.items():
        monkeypatch.setenv(name, value)
    said = subprocess.run([sys.executable, "-c", _CHILD], env=os.environ, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["2", "k", "prices"]
