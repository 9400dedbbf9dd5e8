"""Attempts after pauses, results passed on, and dead letters, in a cluster turned by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

from orth.coordinator.killing import close
from orth.coordinator.why import Patience, Record, explain
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import ChildParam, Job, TriggerCause
from orth.domain.retries import RetryPolicy
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.executor.proposals import Retry
from orth.store.dead_letters import DeadLetter, LetterFilter, list_dead_letters
from orth.testing.cluster import Cluster

POLICY = RetryPolicy(delay=10, multiplier=3, cap=60)


@asynccontextmanager
async def cluster_of(folder: Path, *, plan_ahead: float = 0.0) -> AsyncIterator[Cluster]:
    app = Handlers("tests")

    @app.job("fail")
    def fail() -> None:
        raise ValueError("no")

    @app.job("give_up", retry=Retry(give_up_on=(ValueError,)))
    def give_up() -> None:
        raise ValueError("never")

    @app.job("count")
    def count(ctx: JobContext) -> str:
        return f"counted {ctx.param or 'nothing'}"

    async with Cluster(folder, app, plan_ahead=plan_ahead) as cluster:
        yield cluster


async def letters(cluster: Cluster) -> list[DeadLetter]:
    return await cluster.db.read(list_dead_letters, LetterFilter(), limit=100)


def next_of(one: Execution, job: Job, now: int) -> str:
    return explain(Record(one, job, None, []), Patience(3, 60, 600), now).next


async def test_attempts_come_after_the_pauses_of_the_policy(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, plan_ahead=8.0) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=3, retry_policy=POLICY)
        began = cluster.clock.now()
        await cluster.trigger(job)
        await cluster.advance(seconds=5)
        first, waiting = await cluster.executions(job)
        assert first.status is Status.FAILED
        assert (waiting.phase, waiting.cause, waiting.attempt) == (Phase.OPENED, TriggerCause.RETRY, 2)
        due = waiting.not_before
        assert due is not None
        assert began + 10_000 <= due <= began + 11_000
        told = next_of(waiting, job, cluster.clock.now())
        assert told.startswith("It is sent when the pause before attempt 2 is over, at 2026-01-30T10:00:10.")
        assert await letters(cluster) == []
        await cluster.advance(seconds=200)
        ended = await cluster.executions(job)
        assert [one.attempt for one in ended] == [1, 2, 3, 4]
        assert all(one.status is Status.FAILED for one in ended)
        starts = [one.start_time or 0 for one in ended]
        pauses = [later - earlier for earlier, later in pairwise(starts)]
        for pause, expected in zip(pauses, (10_000, 30_000, 60_000), strict=True):
            assert expected <= pause <= expected + 1_500, "never early, and not late"
        (letter,) = await letters(cluster)
        assert (letter.execution_id, letter.status) == (ended[-1].id, Status.FAILED)


async def test_an_attempt_that_waits_can_be_killed_and_is_not_sent_ahead(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, plan_ahead=8.0) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=3, retry_policy=POLICY)
        await cluster.trigger(job)
        await cluster.advance(seconds=8)
        waiting = (await cluster.executions(job))[-1]
        assert (waiting.phase, waiting.executor_address) == (Phase.OPENED, None)
        await cluster.db.tx(close, waiting.id, "admin", cluster.clock.now())
        await cluster.advance(seconds=300)
        ended = await cluster.executions(job)
        assert [one.reason_code for one in ended] == [None, reasons.KILLED]
        assert await letters(cluster) == [], "it was wanted so"


async def test_what_is_given_up_is_not_tried_again_and_is_a_dead_letter(tmp_path: Path) -> None:
    async with cluster_of(tmp_path) as cluster:
        policy = RetryPolicy(give_up=("failed",))
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=3, retry_policy=policy)
        one = await cluster.trigger(job)
        await cluster.advance(seconds=60)
        assert [execution.id for execution in await cluster.executions(job)] == [one]
        assert [letter.execution_id for letter in await letters(cluster)] == [one]


async def test_a_failure_its_handler_gives_up_on_is_not_tried_again(tmp_path: Path) -> None:
    async with cluster_of(tmp_path) as cluster:
        job = await cluster.job(start=False, executor_handler="give_up", executor_fail_retry_count=3)
        one = await cluster.trigger(job)
        await cluster.advance(seconds=2)
        (only,) = await cluster.executions(job)
        assert (only.id, only.status, only.reason_code) == (one, Status.FAILED, reasons.GIVEN_UP)
        assert [letter.execution_id for letter in await letters(cluster)] == [one]


async def test_without_a_policy_the_next_attempt_comes_at_once(tmp_path: Path) -> None:
    async with cluster_of(tmp_path) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=1)
        await cluster.trigger(job)
        await cluster.advance(seconds=2)
        first, second = await cluster.executions(job)
        assert second.not_before is None
        assert (first.status, second.status) == (Status.FAILED, Status.FAILED)


async def test_a_result_is_passed_on_to_the_jobs_that_follow(tmp_path: Path) -> None:
    async with cluster_of(tmp_path) as cluster:
        last = await cluster.job(start=False, executor_handler="count", executor_param="its own")
        middle = await cluster.job(
            start=False, executor_handler="count", executor_param="its own", child_job_ids=(last.id,)
        )
        first = await cluster.job(
            start=False, executor_handler="count", child_job_ids=(middle.id,), child_param=ChildParam.RESULT
        )
        await cluster.trigger(first, "apples")
        await cluster.advance(seconds=5)
        (passed,) = await cluster.executions(middle)
        assert passed.executor_param == "counted apples"
        assert passed.handle_msg == "counted counted apples"
        (own,) = await cluster.executions(last)
        assert own.executor_param == "its own"
