"""Offers that may be older than what the channels tell are begun only if a coordinator says that they stand."""

import asyncio
from pathlib import Path

import pytest

from orth.channels.redis import RedisChannels
from orth.clock import SystemClock
from orth.errors import Unavailable
from orth.executor.facts import DispatchWithdrawn, ExecutionStarted
from orth.executor.handlers import Handlers
from orth.executor.queue_doubt import SETTLING, Doubt
from orth.executor.queue_reports import Taken
from orth.wire.channel_messages import Dispatch
from orth.wire.coordinator_calls import NotKnownThere
from orth.wire.open_offers import OpenOffers, OpenOffersQuestion
from tests.conftest import StartServer
from tests.executor.bench import Desk, HandClock
from tests.executor.queue_bench import APP, NAMES, Owner, QueueRig, dispatch, sooner_or_later
from tests.servers.redis import RedisServer

LINE = NAMES.dispatch(f"{APP}.default")


@pytest.fixture
def app() -> Handlers:
    handlers = Handlers(APP)

    @handlers.job
    def hello() -> str:
        return "greeted"

    return handlers


def began(rig: QueueRig) -> list[int]:
    return [event.log_id for event in rig.ears.of(ExecutionStarted)]


async def test_what_ended_while_redis_was_away_is_not_begun_though_nobody_is_left_to_withdraw_it(
    app: Handlers, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(RedisServer)
    ours, theirs = (RedisChannels(server.url(), SystemClock()) for _ in range(2))
    async with asyncio.timeout(60), Owner(theirs) as owner, QueueRig(app, tmp_path, ours) as rig:
        await sooner_or_later(lambda: bool(rig.desk.asked))
        await asyncio.to_thread(server.kill)
        await sooner_or_later(lambda: rig.transport.doubt.unanswered)
        rig.desk.knows_no_offers = Unavailable("the coordinators are away as well")
        await asyncio.to_thread(server.start)
        rig.desk.ended.add(1)
        await owner.send(dispatch(1, "hello"), dispatch(2, "hello"))
        rig.desk.knows_no_offers = None
        await sooner_or_later(lambda: 2 in owner.results(), 20)
        assert began(rig) == [2]
        assert [event.count for event in rig.ears.of(DispatchWithdrawn)] == [1]
    await ours.close()
    await theirs.close()


async def test_what_ended_before_an_executor_was_started_is_not_begun(
    app: Handlers, tmp_path: Path, redis_url: str
) -> None:
    ours, theirs = (RedisChannels(redis_url, SystemClock()) for _ in range(2))
    async with asyncio.timeout(30), Owner(theirs) as owner:
        await owner.send(dispatch(1, "hello"), dispatch(2, "hello"))
        rig = QueueRig(app, tmp_path, ours)
        rig.desk.ended.add(1)
        async with rig:
            await sooner_or_later(lambda: 2 in owner.results())
            assert began(rig) == [2]
    await ours.close()
    await theirs.close()


async def test_what_nobody_can_be_asked_about_waits_in_its_queue(app: Handlers, tmp_path: Path, redis_url: str) -> None:
    ours, theirs = (RedisChannels(redis_url, SystemClock()) for _ in range(2))
    async with asyncio.timeout(30), Owner(theirs) as owner:
        await owner.send(dispatch(1, "hello"))
        rig = QueueRig(app, tmp_path, ours)
        rig.desk.knows_no_offers = Unavailable("nobody is there")
        async with rig:
            await sooner_or_later(lambda: len(owner.beats) > 3)
            assert await theirs.waiting(LINE) == 1, "it is not even taken: too many hands would make it a dead letter"
            rig.desk.knows_no_offers = None
            await sooner_or_later(lambda: 1 in owner.results())
    await ours.close()
    await theirs.close()


async def test_coordinators_of_an_earlier_version_are_believed(app: Handlers, tmp_path: Path, redis_url: str) -> None:
    ours, theirs = (RedisChannels(redis_url, SystemClock()) for _ in range(2))
    async with asyncio.timeout(30), Owner(theirs) as owner:
        await owner.send(dispatch(1, "hello"))
        rig = QueueRig(app, tmp_path, ours)
        rig.desk.knows_no_offers = NotKnownThere("404")
        async with rig:
            await sooner_or_later(lambda: 1 in owner.results())
    await ours.close()
    await theirs.close()


async def test_an_outage_is_noticed_also_while_nothing_is_taken(
    app: Handlers, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(RedisServer)
    channels = RedisChannels(server.url(), SystemClock())
    async with asyncio.timeout(60), QueueRig(app, tmp_path, channels) as rig:
        rig.transport.taking.end()
        await rig.transport.taking.over()
        rig.transport.doubt.unanswered = False
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await sooner_or_later(lambda: rig.transport.doubt.unanswered)
    await channels.close()


# --- who is asked about


def taken(log_id: int) -> Taken:
    return Taken(Dispatch.model_validate(dispatch(log_id, "hello")))


async def test_what_is_newer_than_the_doubt_costs_no_question() -> None:
    clock, desk = HandClock(), Desk()
    doubt = Doubt(desk, clock)
    desk.newest, desk.ended = 10, {7}
    assert [one.id for one in await doubt.standing([taken(7), taken(8), taken(12)])] == [8, 12]
    assert doubt.covers(99), "others may not know yet that the channels are back"
    clock.advance(SETTLING)
    await doubt.somebody_answers()
    desk.asked.clear()
    assert await doubt.standing([taken(11), taken(12)])
    assert not desk.asked
    assert [one.id for one in await doubt.standing([taken(7), taken(11)])] == [11]
    (question,) = desk.asked
    assert [one.execution_id for one in question.offers] == [7]


async def test_a_doubt_that_arises_while_somebody_is_asked_stays() -> None:
    clock = HandClock()

    class Shaken(Desk):
        def open_offers(self, question: OpenOffersQuestion) -> OpenOffers:
            clock.advance(1.0)
            doubt.arise()
            return super().open_offers(question)

    doubt = Doubt(Shaken(), clock)
    clock.advance(SETTLING)
    await doubt.somebody_answers()
    assert doubt.unanswered
    assert doubt.covers(1)
