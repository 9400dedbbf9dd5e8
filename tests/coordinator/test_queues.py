"""Executions on queue transport, from their trigger to their result, with a coordinator that turns."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from orth.channels.interface import START, ChannelsUnavailable, Message
from orth.channels.limits import Limits
from orth.coordinator import ended_logs
from orth.coordinator.facts import (
    AnswersUndelivered,
    OfferImpossible,
    OffersReclaimed,
    OffersRepeated,
    QueuesAway,
    QueuesBack,
)
from orth.coordinator.log_keeping import LEFT_OUT
from orth.coordinator.logs.pages import gap_note
from orth.coordinator.logs.reading import Page
from orth.coordinator.node import Coordinator
from orth.domain import reasons
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import Phase, Status
from orth.store.database import Connection
from orth.store.executions import find_execution
from orth.store.tables import executions
from orth.wire.channel_messages import Standing, may_start
from orth.wire.entry_signatures import refusal_of
from orth.wire.signatures import key_of
from tests.coordinator.queue_site import (
    APP,
    NAMES,
    TOKEN,
    ForgetfulChannels,
    QueueSite,
    Worker,
    eventually,
    quick_settings,
)

QUEUE = NAMES.dispatch(f"{APP}.a", 1)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[QueueSite]:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        yield site


def _dispatched(connection: Connection) -> Sequence[Any]:
    chosen = select(executions.c.id, executions.c.phase_time).where(executions.c.phase == Phase.DISPATCHED)
    return connection.execute(chosen).all()


async def test_an_execution_goes_through_a_queue_and_its_result_comes_back(site: QueueSite) -> None:
    job = await site.job(executor_param="p")
    one = await site.trigger(job)
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        assert (dispatch.execution_id, dispatch.job_id, dispatch.queue) == (one, job.id, f"{APP}.a")
        assert (dispatch.job_type, dispatch.arguments, dispatch.trigger.log_id) == ("work", "p", one)
        waiting = await site.execution(one)
        assert (waiting.phase, waiting.status, waiting.queue) == (Phase.OFFERED, Status.INIT, f"{APP}.a")

        await worker.accept(dispatch)
        taken = await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
        assert (taken.executor_address, taken.incarnation) == ("queue://worker", worker.incarnation)
        assert taken.status is Status.PENDING
        await worker.say(dispatch, Standing.RUNNING)
        await site.until(one, lambda it: it.phase is Phase.RUNNING)

        await worker.finish(dispatch, message="done")
        ended = await site.until(one, lambda it: it.status.terminal)
        assert (ended.status, ended.handle_msg) == (Status.SUCCESS, "done")
        assert await eventually(worker.acknowledged, bool) == {one: "stored"}


async def test_a_short_execution_is_written_only_twice(site: QueueSite) -> None:
    """Once when it is offered and once when it ends: who had it is not worth a write of its own."""
    job = await site.job()
    one = await site.trigger(job)
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await worker.finish(dispatch)
        ended = await site.until(one, lambda it: it.status.terminal)
        assert ended.status is Status.SUCCESS
        assert ended.incarnation is None  # its acceptance was never written


async def test_news_of_one_does_not_put_off_what_is_to_be_written_of_another(site: QueueSite) -> None:
    job = await site.job()
    first, second = [await site.trigger(job) for _ in range(2)]
    async with Worker(site.channels) as worker:
        dispatches = {one.execution_id: one for _ in range(2) for one in await worker.take()}
        await worker.accept(dispatches[first])
        await asyncio.sleep(0.4)  # a little less than after which it is written
        await worker.accept(dispatches[second])
        await site.until(second, lambda it: it.phase is Phase.DISPATCHED)
        written = {row.id: row.phase_time for row in await site.db.read(_dispatched)}
        assert written[second] - written[first] > 100, "both waited for the second"


async def test_a_higher_priority_is_taken_first(site: QueueSite) -> None:
    jobs = [await site.job(priority=priority) for priority in (0, 1, 3, 2)]
    ids = [await site.trigger(job) for job in jobs]
    for one in ids:
        await site.until(one, lambda it: it.phase is Phase.OFFERED)
    await site.coordinators[0].work.offering.all_sent()
    worker = Worker(site.channels)
    taken = [(await worker.take())[0].execution_id for _ in ids]
    assert taken == [ids[2], ids[3], ids[1], ids[0]]


async def test_a_log_is_read_while_it_grows_and_outlives_its_boxes(site: QueueSite) -> None:
    job = await site.job()
    one = await site.trigger(job)
    logs = site.coordinators[0].records.logs

    async def page(line: int) -> Page:
        return await logs.page(await logs.source(one), line)

    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await worker.log(dispatch, 1, "first\nsecond")
        live = await page(1)
        assert (list(live.lines.texts), live.end) == (["first", "second"], False)
        await worker.log(dispatch, 3, "third")
        assert list((await page(3)).lines.texts) == ["third"]
        assert list((await logs.tail(await logs.source(one), 2)).lines.texts) == ["second", "third"]
        await worker.log(dispatch, 4, "last", end=True)
        await worker.finish(dispatch)
        await site.until(one, lambda it: it.status.terminal)
        box = NAMES.logs(job.id, one)
        await eventually(lambda: site.channels.read({box: START}, limit=1), lambda found: not found.get(box))
        kept = await page(1)
        assert (list(kept.lines.texts), kept.end, kept.archived) == (["first", "second", "third", "last"], True, True)


async def test_what_is_gone_from_its_queue_is_offered_again_and_the_earlier_offer_is_void(site: QueueSite) -> None:
    job = await site.job()
    one = await site.trigger(job)
    async with Worker(site.channels) as worker:
        (lost,) = await worker.take()  # and never heard of again
        (again,) = await worker.take(wait=20.0)
        assert again.execution_id == one
        assert again.sending > lost.sending
        box = NAMES.status(job.id, one)
        said = [entry.message for entry in (await site.channels.read({box: START}, limit=10))[box]]
        assert not may_start(lost, said, worker.incarnation)
        assert may_start(again, said, worker.incarnation)
        await worker.accept(again)
        await worker.finish(again)
        assert (await site.until(one, lambda it: it.status.terminal)).status is Status.SUCCESS
    assert site.recorder.all(OffersRepeated)


@pytest.mark.parametrize("use", ["waits", "in hand"])
async def test_what_is_gone_from_a_queue_in_use_is_offered_again(site: QueueSite, use: str) -> None:
    """Others that wait there, or that somebody has in hand and is not done with, do not speak for it."""
    job = await site.job()
    gone = [await site.trigger(job) for _ in range(3)]
    for one in gone:
        await site.until(one, lambda it: it.phase is Phase.OFFERED)
    await eventually(lambda: site.channels.waiting(QUEUE), lambda count: count == 3)
    site.channels.lose_everything()
    async with Worker(site.channels) as worker:
        beside = [await site.trigger(job) for _ in range(2)]
        await eventually(lambda: site.channels.waiting(QUEUE), lambda count: count == 2)
        if use == "in hand":
            held = await worker.take(limit=2, done=False)
            assert [one.execution_id for one in held] == beside
        there = await eventually(lambda: site.channels.undone(QUEUE, START, limit=10), lambda found: len(found) == 5)
        assert {entry.message["executionId"] for entry in there} == {*gone, *beside}
        # Where the machine stood still between them, they fall due in different turns.
        assert sum(one.count for one in site.recorder.all(OffersRepeated)) == 3, "those that are there are left alone"


async def test_a_queue_in_which_nothing_waits_for_long_is_not_read_through(site: QueueSite) -> None:
    job = await site.job()
    async with Worker(site.channels) as worker:
        for _ in range(30):
            one = await site.trigger(job)
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await worker.finish(dispatch)
            await site.until(one, lambda it: it.status.terminal)
    assert site.channels.looked_at == 0


async def test_the_result_of_an_offer_that_was_given_up_is_taken(site: QueueSite) -> None:
    job = await site.job()
    one = await site.trigger(job)
    async with Worker(site.channels) as worker, Worker(site.channels, name="other") as other:
        (first,) = await worker.take()
        (again,) = await other.take(wait=20.0)
        await worker.finish(first, message="it was there after all")
        ended = await site.until(one, lambda it: it.status.terminal)
        assert (ended.status, ended.handle_msg) == (Status.SUCCESS, "it was there after all")
        await other.finish(again, message="second")
        assert (await site.execution(one)).handle_msg == "it was there after all"


async def test_what_a_dead_process_had_in_hand_goes_to_another(site: QueueSite) -> None:
    job = await site.job()
    one = await site.trigger(job)
    async with Worker(site.channels, name="dying") as dying:
        await dying.take(done=False)
        dying.fall_silent()
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take(wait=20.0)
        assert dispatch.execution_id == one
        await worker.accept(dispatch)
        await worker.finish(dispatch)
        await site.until(one, lambda it: it.status is Status.SUCCESS)
    assert site.recorder.all(OffersReclaimed)


async def test_what_waits_longer_than_its_bound_fails(tmp_path: Path) -> None:
    settings = quick_settings(tmp_path, offer_bound="2s")
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, settings=settings) as site:
        one = await site.trigger(await site.job())
        ended = await site.until(one, lambda it: it.status.terminal, 20.0)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NOBODY_TOOK_IT)


async def test_an_executor_that_refuses_ends_it(site: QueueSite) -> None:
    one = await site.trigger(await site.job())
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        await worker.say(dispatch, Standing.REFUSED, message="no such handler")
        ended = await site.until(one, lambda it: it.status.terminal)
        assert (ended.status, ended.trigger_msg) == (Status.TRIGGER_FAILED, "no such handler")


async def test_what_is_returned_waits_again(site: QueueSite) -> None:
    one = await site.trigger(await site.job())
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
        await worker.say(dispatch, Standing.RETURNED)
        worker.running.clear()
        waiting = await site.until(one, lambda it: it.phase is Phase.OFFERED)
        assert (waiting.status, waiting.executor_address) == (Status.INIT, None)


async def test_what_is_given_back_is_offered_again_once_nobody_names_it(tmp_path: Path) -> None:
    """Nobody has put it into a queue, so there is nothing to wait for; but whoever says that he has it is believed."""
    settings = quick_settings(tmp_path, silent_after="60s")
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, settings=settings) as site:
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
            await worker.say(dispatch, Standing.RETURNED, offer_again=True)
            waiting = await site.until(one, lambda it: it.phase is Phase.OFFERED)
            assert (waiting.status, waiting.reason_code) == (Status.INIT, reasons.OFFERED_AGAIN)
            assert await worker.take(wait=1.5) == []
            worker.running.clear()
            await worker.beat()
            (again,) = await worker.take(wait=15.0)
            assert (again.execution_id, again.sending > dispatch.sending) == (one, True)


async def test_a_process_that_left_with_an_execution_has_lost_it(tmp_path: Path) -> None:
    settings = quick_settings(tmp_path, lost_after="1s")
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, settings=settings) as site:
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
            worker.fall_silent()
            await asyncio.sleep(0)
            await worker.beat("Stopped")
        ended = await site.until(one, lambda it: it.status.terminal, 30.0)
        assert (ended.status, ended.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


async def test_a_process_that_only_fell_silent_has_lost_it_long_before_lost_after(tmp_path: Path) -> None:
    """One that was killed says no good-bye."""
    settings = quick_settings(tmp_path, lost_after="10m", silent_after="1s")
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, settings=settings) as site:
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
            worker.fall_silent()
            ended = await site.until(one, lambda it: it.status.terminal, 30.0)
        assert (ended.status, ended.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


async def test_a_killed_execution_is_cancelled_everywhere_and_never_begun(site: QueueSite) -> None:
    job = await site.job()
    one = await site.trigger(job)
    await site.until(one, lambda it: it.phase is Phase.OFFERED)
    coordinator = site.coordinators[0]
    async with site.channels.listen([NAMES.cancel]) as ear:
        killing = coordinator.care.time_limits._killing
        killed = await killing.kill(one, Actor(ActorKind.USER, "admin"))
        assert killed.told
        (heard,) = await ear.next(5.0)
        assert heard.message["executionId"] == one
        assert refusal_of(heard.message, NAMES.cancel, key_of(TOKEN), 0) is None
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        box = NAMES.status(job.id, one)
        said = [entry.message for entry in (await site.channels.read({box: START}, limit=10))[box]]
        assert not may_start(dispatch, said, worker.incarnation)
    found = await site.db.read(find_execution, one)
    assert found is not None
    assert found.reason_code == reasons.KILLED


async def test_the_next_owner_reads_what_was_said_before_it_came(tmp_path: Path) -> None:
    """The coordinator that followed it dies; another one finds the words in the box."""
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        first = site.coordinators[0]
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
            await first.work.election.resign()
            await site.kill(first)
            await worker.finish(dispatch)
            site.start()
            ended = await site.until(one, lambda it: it.status.terminal, 60.0)
            assert ended.status is Status.SUCCESS
            assert await eventually(worker.acknowledged, bool) == {one: "stored"}


class Busy:
    """Executors that take whatever there is, run it for a moment and report it; who began what is counted."""

    def __init__(self, site: QueueSite, count: int) -> None:
        self._workers = [Worker(site.channels, name=f"worker-{number}") for number in range(count)]
        self._site = site
        self._tasks: list[asyncio.Task[None]] = []
        self.begun: list[int] = []

    async def __aenter__(self) -> "Busy":
        for worker in self._workers:
            await worker.__aenter__()
            self._tasks.append(asyncio.create_task(self._work(worker)))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in self._workers:
            await worker.__aexit__()

    async def _work(self, worker: Worker) -> None:
        while True:
            for dispatch in await worker.take(1.0, limit=5):
                box = NAMES.status(dispatch.job_id, dispatch.execution_id)
                found = (await self._site.channels.read({box: START}, limit=100)).get(box, [])
                if not may_start(dispatch, [entry.message for entry in found], worker.incarnation):
                    continue
                self.begun.append(dispatch.execution_id)
                await worker.accept(dispatch)
                await worker.log(dispatch, 1, f"log of {dispatch.execution_id}", end=True)
                await worker.finish(dispatch)


async def test_three_coordinators_share_the_work_and_one_may_die(store_url: str, tmp_path: Path) -> None:
    async with QueueSite(store_url, tmp_path, coordinators=3) as site:
        jobs = [await site.job(executor_queue=queue) for queue in ("a", "a", "a")]
        leader = await eventually(lambda: _leader(site), lambda found: found is not None)
        ids = [await site.trigger(jobs[number % 3]) for number in range(60)]
        async with Busy(site, 3) as busy:
            follower = next(one for one in site.coordinators if one is not leader)
            await site.kill(follower)
            ids += [await site.trigger(jobs[number % 3]) for number in range(60)]
            for one in ids:
                assert (await site.until(one, lambda it: it.status.terminal, 60.0)).status is Status.SUCCESS
            assert sorted(busy.begun) == sorted(ids), "each was begun once"
            logs = site.coordinators[0].records.logs
            for one in (ids[0], ids[-1]):

                async def page(one: int = one) -> Page:
                    return await logs.page(await logs.source(one), 1)

                kept = await eventually(page, lambda found: found.archived, 30.0)
                assert list(kept.lines.texts) == [f"log of {one}"]


async def test_nothing_is_claimed_for_queues_while_they_are_away(site: QueueSite) -> None:
    job = await site.job()
    site.channels.away = True
    tried = await site.trigger(job)
    await site.recorder.seen(QueuesAway)
    waiting = await site.trigger(job)
    held = await site.until(waiting, lambda it: it.reason_code == reasons.CHANNELS_AWAY)
    assert held.phase is Phase.OPENED
    site.channels.away = False
    await site.recorder.seen(QueuesBack)
    async with Busy(site, 1) as busy:
        for one in (tried, waiting):
            assert (await site.until(one, lambda it: it.status.terminal, 20.0)).status is Status.SUCCESS
        assert sorted(busy.begun) == [tried, waiting]


async def test_one_that_does_not_fit_keeps_nobody_back(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        site.channels = ForgetfulChannels(site.clock, Limits(message=5_000))
        await site.kill(site.coordinators[0])
        job = await site.job()
        ids = [await site.trigger(job, "x" * (10_000 if number == 2 else 10)) for number in range(5)]
        site.start()
        async with Busy(site, 1):
            for one in (*ids[:2], *ids[3:]):
                assert (await site.until(one, lambda it: it.status.terminal, 20.0)).status is Status.SUCCESS
        assert (await site.recorder.seen(OfferImpossible)).execution_id == ids[2]


async def test_channels_that_forget_everything_cost_time_and_nothing_else(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        job = await site.job()
        ids = [await site.trigger(job) for _ in range(30)]
        for one in ids:
            await site.until(one, lambda it: it.phase is Phase.OFFERED)
        await site.coordinators[0].work.offering.all_sent()
        site.channels.lose_everything()
        async with Busy(site, 2) as busy:
            for one in ids:
                assert (await site.until(one, lambda it: it.status.terminal, 30.0)).status is Status.SUCCESS
            assert sorted(busy.begun) == sorted(ids)


async def _leader(site: QueueSite) -> Coordinator | None:
    return next((one for one in site.coordinators if one.work.election.term is not None), None)


def narrow_site(folder: Path, **coordinator: Any) -> QueueSite:
    """One whose boxes hold five messages."""
    settings = quick_settings(folder, **coordinator)
    site = QueueSite(f"sqlite:///{folder / 'orth.db'}", folder, settings=settings)
    site.channels = ForgetfulChannels(site.clock, Limits(box=5))
    return site


async def test_a_full_status_box_keeps_nobody_from_ending(tmp_path: Path) -> None:
    async with narrow_site(tmp_path, lost_after="1s") as site:
        ids = [await site.trigger(await site.job()) for _ in range(2)]
        async with Worker(site.channels) as worker:
            for dispatch in await worker.take(limit=1) + await worker.take(limit=1):
                await worker.accept(dispatch)
                for _ in range(4 if dispatch.execution_id == ids[0] else 0):
                    await worker.say(dispatch, Standing.PROGRESS)
            for one in ids:
                await site.until(one, lambda it: it.phase in (Phase.DISPATCHED, Phase.RUNNING))
            worker.fall_silent()
            await asyncio.sleep(0)
            await worker.beat("Stopped")
        for one in ids:
            ended = await site.until(one, lambda it: it.status.terminal, 30.0)
            assert (ended.status, ended.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


class Mute(ForgetfulChannels):
    """Channels that take no word, once they are full of something else."""

    full = False

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        if self.full:
            raise ChannelsUnavailable("There is no memory left for any box.")
        await super().post(boxes)


async def test_what_is_lost_ends_though_nothing_can_be_said_of_it(tmp_path: Path) -> None:
    site = QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, settings=quick_settings(tmp_path, lost_after="1s"))
    site.channels = channels = Mute(site.clock)
    async with site:
        one = await site.trigger(await site.job())
        async with Worker(channels) as worker:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
            channels.full = True
            worker.fall_silent()
            await asyncio.sleep(0)
            await worker.beat("Stopped")
        ended = await site.until(one, lambda it: it.status.terminal, 30.0)
        assert (ended.status, ended.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


async def test_one_with_a_full_status_box_is_told_of_its_kill(tmp_path: Path) -> None:
    async with narrow_site(tmp_path) as site:
        one = await site.trigger(await site.job())
        async with Worker(site.channels) as worker, site.channels.listen([NAMES.cancel]) as ear:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            for _ in range(4):
                await worker.say(dispatch, Standing.PROGRESS)
            killed = await site.coordinators[0].care.time_limits._killing.kill(one, Actor(ActorKind.USER, "admin"))
            assert killed.told
            (heard,) = await ear.next(5.0)
            assert heard.message["executionId"] == one


async def test_an_executor_that_cannot_be_answered_holds_nothing_up(tmp_path: Path) -> None:
    async with narrow_site(tmp_path) as site:
        job = await site.job()
        one, other = await site.trigger(job), await site.trigger(await site.job())
        async with Worker(site.channels) as worker:
            await site.channels.post({NAMES.acknowledged(worker.incarnation): [{"executionId": 1}] * 5})
            first, second = await worker.take(limit=1) + await worker.take(limit=1)
            assert [first.execution_id, second.execution_id] == [one, other]
            await worker.accept(first)
            await worker.log(first, 1, "all of it", end=True)
            await worker.finish(first)
            assert (await site.until(one, lambda it: it.status.terminal)).status is Status.SUCCESS
            await site.recorder.seen(AnswersUndelivered)
            await worker.accept(second)
            await site.until(other, lambda it: it.phase is Phase.DISPATCHED)
            box = NAMES.logs(job.id, one)
            await eventually(lambda: site.channels.read({box: START}, limit=1), lambda found: not found.get(box))
        assert len(site.recorder.all(AnswersUndelivered)) == 1, "the result was not read again and again"


@pytest.mark.parametrize("end_came", [True, False])
async def test_a_log_of_which_something_did_not_come_is_not_called_complete(
    site: QueueSite, end_came: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_logs, "_PAUSES", (0.1,) * len(ended_logs._PAUSES))
    job = await site.job()
    one = await site.trigger(job)
    coordinator = site.coordinators[0]
    logs = coordinator.records.logs
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
        await worker.log(dispatch, 1, "first\nsecond")
        if end_came:
            await worker.log(dispatch, 9, "", end=True)
        await worker.finish(dispatch)
        await site.until(one, lambda it: it.status.terminal)
        box = NAMES.logs(job.id, one)
        await eventually(lambda: site.channels.read({box: START}, limit=1), lambda found: not found.get(box), 20.0)
    source = await logs.source(one)
    assert source.archived is not None
    assert not source.archived.complete
    page = await logs.page(source, 2)
    assert list(page.lines.texts) == ["second"]
    page = await logs.page(source, 3)
    assert (list(page.lines.texts), page.end) == ([gap_note(3, 8) if end_came else LEFT_OUT], True)
