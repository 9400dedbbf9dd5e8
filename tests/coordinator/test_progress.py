"""How far an execution is: what was said last, by the process that has it, for whoever asks any coordinator."""

from pathlib import Path
from typing import Any

from orth.channels.interface import Entry
from orth.coordinator.progress import newest_in
from orth.wire.channel_messages import Dispatch, Standing
from orth.wire.messages import ProgressTold
from tests.coordinator.queue_site import QueueSite, Worker


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
