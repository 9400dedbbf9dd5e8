"""The whole way: a handler that runs for a while is seen to run, and the one behind it to wait."""

import asyncio
import threading
from pathlib import Path

from orth.domain.executions import Phase, Status
from orth.executor.handlers import Handlers
from orth.testing import Cluster


async def pass_seconds(cluster: Cluster, seconds: int) -> None:
    """As ``advance``, without waiting for handlers to end."""
    for _ in range(seconds):
        for node in (*cluster.coordinators, *cluster.executors):
            for loop in node.loops:
                await loop.guarded_turn()
        await cluster.coordinators[0].work.dispatch.all_answered()
        cluster.clock.move(1.0)


async def test_one_that_runs_is_seen_and_the_one_behind_it_waits(tmp_path: Path) -> None:
    app = Handlers("tests")
    inside, go_on = threading.Event(), threading.Event()

    @app.job("long")
    def long() -> None:
        inside.set()
        go_on.wait(30)

    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="long")
        first, second = await cluster.trigger(job), await cluster.trigger(job)
        try:
            await pass_seconds(cluster, 2)
            assert await asyncio.to_thread(inside.wait, 10)
            began = cluster.clock.now()
            await pass_seconds(cluster, 4)
            runs, waits = await cluster.execution(first), await cluster.execution(second)
        finally:
            go_on.set()
        assert (runs.status, runs.phase, waits.phase) == (Status.PENDING, Phase.RUNNING, Phase.DISPATCHED)
        assert runs.start_time is not None
        assert runs.start_time <= began
        assert waits.start_time is None
        await cluster.advance(seconds=3)
        ended = await cluster.execution(first)
        assert (ended.status, ended.start_time) == (Status.SUCCESS, runs.start_time)
