"""How far an execution is: what was said last, by the process that has it, for whoever asks any coordinator."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

from orth.channels.interface import Entry
from orth.coordinator.progress import newest_in
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.testing import Cluster
from orth.testing.network import Line
from orth.wire.channel_messages import Dispatch, Standing
from orth.wire.messages import ProgressTold
from tests.coordinator.queue_site import QueueSite, Worker, eventually


def said(status: str, progress: object = None) -> Entry:
    return Entry("1", {"status": status, "progress": progress})


def test_the_last_word_counts() -> None:
    first, second = said("Progress", {"done": 1}), said("Progress", {"done": 2, "total": 4, "message": "rows"})
    assert newest_in([said("Accepted"), first, said("Running"), second], None) == ProgressTold(
        done=2, total=4, message="rows"
    )
    assert newest_in([said("Running")], ProgressTold(done=7)) == ProgressTold(done=7)


def test_what_another_process_had_said_is_over() -> None:
    told = said("Progress", {"done": 1})
    assert newest_in([told, said("Returned")], None) is None
    assert newest_in([told, said("Accepted")], ProgressTold(done=7)) is None


def test_what_is_no_progress_is_passed_over() -> None:
    nonsense = (None, "half", {}, {"done": "much"}, {"done": float("inf")}, {"done": 1, "total": float("nan")})
    for told in nonsense:
        assert newest_in([said("Progress", told)], ProgressTold(done=7)) == ProgressTold(done=7)


async def test_every_coordinator_shows_what_a_queue_executor_says(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, coordinators=2) as site:
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            assert await shown(site, one) == [None, None]
            await tell(worker, dispatch, done=1, total=3)
            assert await shown(site, one) == [ProgressTold(done=1, total=3)] * 2
            for done in range(600):  # more than one look reads
                await tell(worker, dispatch, done=done, total=600, message="rows", eta=0.5)
            assert await shown(site, one) == [ProgressTold(done=599, total=600, message="rows", eta=0.5)] * 2
            await worker.finish(dispatch)
            await site.until(one, lambda it: it.status.terminal)
            assert await shown(site, one) == [None, None]


async def tell(worker: Worker, dispatch: Dispatch, **progress: Any) -> None:
    await worker.say(dispatch, Standing.PROGRESS, progress=progress)


async def shown(site: QueueSite, execution_id: int) -> list[ProgressTold | None]:
    found = await site.execution(execution_id)
    return [await coordinator.records.progress.of(found) for coordinator in site.coordinators]


async def test_who_was_sent_an_execution_is_asked_how_far_it_is(tmp_path: Path) -> None:
    handlers, told, go_on = Handlers("tests"), Event(), Event()

    @handlers.job("counts")
    def counts(ctx: JobContext) -> None:
        ctx.progress(1, 4, "rows")
        ctx.progress(2, 4, "rows")  # too soon to be told, and known all the same
        told.set()
        go_on.wait(30)

    async with Cluster(tmp_path, handlers) as cluster:
        job = await cluster.job(start=False, executor_handler="counts")
        one = await cluster.trigger(job)
        advancing = asyncio.create_task(cluster.advance(seconds=1))
        reading = cluster.coordinators[0].records.progress

        async def look() -> ProgressTold | None:
            return await reading.of(await cluster.execution(one))

        try:
            assert await asyncio.to_thread(told.wait, 10)
            progress = await eventually(look, lambda found: found is not None)
            assert progress is not None
            assert (progress.done, progress.total, progress.message) == (2, 4, "rows")
            cluster.set_line(cluster.executors[0], Line.REFUSED)
            assert await look() is None
            cluster.set_line(cluster.executors[0], Line.UP)
        finally:
            go_on.set()
            await advancing
        assert await look() is None
