"""Channels that fail for a moment: executions wait, and go on by themselves when the channels answer again."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from orth.channels.interface import START, ChannelsUnavailable, Message
from orth.cluster.facts import NodeDied
from orth.coordinator.calling_off import CallingOff
from orth.coordinator.facts import OffersReclaimed, QueuesAway, QueuesBack
from orth.coordinator.queueing import WorkerEar
from orth.domain import reasons
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import Job
from orth.events import Event
from orth.settings import Settings
from orth.store.offering import Taking, record_taken
from orth.testing.clocks import ManualClock
from orth.wire.channel_messages import may_start
from tests.coordinator.queue_site import NAMES, QueueSite, Worker, eventually


async def test_a_failed_send_stops_nobody_for_longer_than_the_channels_are_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only message there was is not sent again, so nothing is left here to find out with that they are back."""
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site, Worker(site.channels) as worker:
        job = await site.job()

        async def send(_queue: str, _messages: Sequence[Message]) -> None:
            raise ChannelsUnavailable("away")

        with monkeypatch.context() as broken:
            broken.setattr(site.channels, "send", send)
            first = await site.trigger(job)
            await eventually(_told(site, QueuesAway), bool)
        await eventually(_told(site, QueuesBack), bool)
        second = await site.trigger(job)
        for _ in range(2):  # the second at once, the first when it is found missing
            (dispatch,) = await worker.take(20.0)
            await worker.accept(dispatch)
            await worker.finish(dispatch)
        for one in (first, second):
            assert (await site.until(one, lambda it: it.status.terminal)).status is Status.SUCCESS


async def test_what_was_killed_while_the_channels_were_away_is_called_off_when_they_are_back(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site, Worker(site.channels) as worker:
        job, (one, other) = await _offered(site)
        (coordinator,) = site.coordinators
        site.channels.away = True
        killed = await coordinator.care.time_limits._killing.kill(one, Actor(ActorKind.USER, "admin"))
        assert not killed.told
        async with site.channels.listen([NAMES.cancel]) as ear:
            site.channels.away = False
            await eventually(_said_of(site, job.id, one), bool)
            (heard, *_again) = await ear.next(5.0)
            assert heard.message["executionId"] == one
        (dispatch, second) = await worker.take(limit=2)
        assert not may_start(dispatch, await _said_of(site, job.id, one)(), worker.incarnation)
        assert may_start(second, await _said_of(site, job.id, other)(), worker.incarnation)


async def test_what_nobody_is_left_to_call_off_is_found_by_the_next_leader(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site, Worker(site.channels) as worker:
        job, (one, other) = await _offered(site)
        (coordinator,) = site.coordinators
        site.channels.away = True
        await coordinator.care.time_limits._killing.kill(one, Actor(ActorKind.USER, "admin"))
        await site.kill(coordinator)
        await coordinator.work.election.resign()  # else its successor would wait for its lease to run out
        site.channels.away = False
        site.start()
        await eventually(_said_of(site, job.id, one), bool)
        (dispatch, second) = await worker.take(limit=2)
        assert not may_start(dispatch, await _said_of(site, job.id, one)(), worker.incarnation)
        assert may_start(second, await _said_of(site, job.id, other)(), worker.incarnation)


async def test_what_a_node_that_died_could_not_call_off_the_leader_does(tmp_path: Path) -> None:
    """The channels were away from that one alone: nobody else has noticed anything."""
    clock, url = ManualClock(), f"sqlite:///{tmp_path / 'orth.db'}"
    async with QueueSite(url, tmp_path, clock=clock, settings=Settings()) as site:
        hand = HandTurned(site, clock)
        await hand.begin()
        job = await site.job()
        one = await site.trigger(job)
        await hand.coordinator.work.dispatch.turn()
        await hand.coordinator.work.offering.all_sent()
        await hand.look()
        (calling_off,) = (loop for loop in hand.coordinator.queues.loops if isinstance(loop, CallingOff))
        site.channels.away = True
        await hand.coordinator.care.time_limits._killing.kill(one, Actor(ActorKind.USER, "admin"))
        site.channels.away = False
        calling_off._owed.clear()  # that was another node's memory
        for died in (False, True):
            if died:
                site.events.emit(NodeDied("other", "its-process", 30.0))
            await hand.look()
            await calling_off.turn()
            assert bool(await _said_of(site, job.id, one)()) == died


async def _offered(site: QueueSite) -> tuple[Job, list[int]]:
    job = await site.job()
    ids = [await site.trigger(job) for _ in range(2)]
    for one in ids:
        await site.until(one, lambda it: it.phase is Phase.OFFERED)
    await site.coordinators[0].work.offering.all_sent()
    return job, ids


def _said_of(site: QueueSite, job_id: int, execution_id: int) -> Callable[[], Awaitable[list[Message]]]:
    async def look() -> list[Message]:
        box = NAMES.status(job_id, execution_id)
        return [entry.message for entry in (await site.channels.read({box: START}, limit=10)).get(box, [])]

    return look


class HandTurned:
    """A coordinator that leads, turned by hand, and an execution that an executor took after its last beat."""

    def __init__(self, site: QueueSite, clock: ManualClock) -> None:
        self.site, self.clock, self.worker = site, clock, Worker(site.channels)
        (self.coordinator,) = site.coordinators
        queueing = self.coordinator.queues.queueing
        assert queueing is not None
        self.queueing = queueing
        (self.ear,) = (one for one in self.coordinator.queues.loops if isinstance(one, WorkerEar))
        self.id = 0

    async def begin(self) -> None:
        await self.pass_seconds(0)
        await self.hear(self.worker.beat)
        self.id = await self.site.trigger(await self.site.job())
        await self.coordinator.work.dispatch.turn()
        await self.coordinator.work.offering.all_sent()
        await self.worker.take()
        taking = Taking(self.id, "queue://worker", self.worker.incarnation, running=True)
        await self.site.db.tx(record_taken, [taking], self.clock.now())

    async def pass_seconds(self, seconds: float) -> None:
        self.clock.move(seconds)
        self.coordinator.work.election.worked()
        await self.coordinator.work.election.turn()

    async def hear(self, say: Callable[[], Awaitable[None]]) -> None:
        """What is said now, or happens to the ear, is heard."""
        await self.ear._open()
        await say()
        await self.ear.turn()

    async def look(self) -> Execution:
        await self.queueing.guarded_turn()
        return await self.site.execution(self.id)


async def test_silence_while_the_channels_were_away_is_nobodys_loss(tmp_path: Path) -> None:
    clock = ManualClock()
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    async with QueueSite(url, tmp_path, clock=clock, settings=Settings()) as site:
        hand = HandTurned(site, clock)
        await hand.begin()
        await hand.look()  # it is not named: the executor has not beaten since
        site.channels.away = True
        for _ in range(8):
            await hand.pass_seconds(5)
            await hand.look()
        site.channels.away = False

        async def heard_again() -> None:
            site.channels._audience.doubt()

        await hand.hear(heard_again)
        found = await hand.look()
        assert found.status is Status.PENDING, found.handle_msg
        for _ in range(6):  # what was missed before does not add up with what comes
            await hand.pass_seconds(5)
            found = await hand.look()
        assert found.status is Status.PENDING, found.handle_msg


async def test_what_a_process_says_for_long_that_it_does_not_have_is_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    async with QueueSite(url, tmp_path, clock=clock, settings=Settings()) as site:
        hand = HandTurned(site, clock)
        await hand.begin()
        found = await hand.look()
        for _ in range(4):
            await hand.pass_seconds(10)
            assert found.status is Status.PENDING, "long before"
            await hand.hear(hand.worker.beat)
            found = await hand.look()
        assert found.reason_code == reasons.RESULT_LOST


async def test_nobody_is_dead_to_an_ear_that_does_not_hear_yet(tmp_path: Path) -> None:
    """The channels answer again, and this node has not begun to listen: what others have in hand stays theirs."""
    clock = ManualClock()
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    async with QueueSite(url, tmp_path, clock=clock, settings=Settings()) as site:
        hand = HandTurned(site, clock)
        await hand.begin()
        second = await site.trigger(await site.job())
        await hand.coordinator.work.dispatch.turn()
        await hand.coordinator.work.offering.all_sent()
        await hand.worker.take(done=False)

        async def lost() -> None:
            site.channels._audience.lose()

        await hand.hear(lost)
        for _ in range(8):
            await hand.pass_seconds(5)
            await hand.look()
        assert not site.recorder.all(OffersReclaimed)
        assert (await site.execution(second)).status is Status.INIT


def _told(site: QueueSite, fact: type[Event]) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return len(site.recorder.all(fact))

    return look
