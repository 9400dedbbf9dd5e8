"""The channels through a coordinator: a real one, on a real port."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from orth.channels.interface import START, Channels, ChannelsUnavailable
from orth.channels.names import Names
from orth.channels.opening import open_channels
from orth.channels.remote import RemoteChannels
from orth.clock import SystemClock
from orth.events import Events
from orth.store.database import open_database
from orth.wire.channel_calls import ChannelCalls
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.enrolment_calls import Enrolment
from orth.wire.signatures import Signer
from orth.wire.work_keys import OwnKey, incarnation_of
from tests.servers.processes import free_port
from tests.walk.processes import TOKEN, Site

NAMES = Names()
KEY, OTHER_KEY = (OwnKey(digit * 64, digit * 32) for digit in "12")
ONE, TWO = incarnation_of(KEY.work_key), incarnation_of(OTHER_KEY.work_key)
_numbers = count(1)


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('remote') / 'orth.db'}"


@pytest.fixture(scope="module")
def coordinator(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Site(tmp_path_factory.mktemp("site"), store_url, ORTH_CHANNELS__URL="database://") as site:
        site.coordinator()
        yield site.url


@pytest.fixture
async def inside(coordinator: str, store_url: str) -> AsyncIterator[Channels]:
    """The channels as coordinators have them."""
    with open_database(store_url, size=2) as db:
        channels = open_channels("database://", db, SystemClock(), Events())
        yield channels
        await channels.close()


@pytest.fixture
def remote(coordinator: str) -> Iterator[RemoteChannels]:
    yield from _reached(coordinator)


@pytest.fixture
def queue() -> str:
    return NAMES.dispatch(f"remote-tests.q{next(_numbers)}")


def _reached(*urls: str, token: str = TOKEN, own: OwnKey = KEY) -> Iterator[RemoteChannels]:
    clock = SystemClock()
    enrolment = Enrolment(own.executor_key, token, "remote-tests", "http://127.0.0.1:9", clock)
    signer = Signer(incarnation_of(own.work_key), clock)
    calls = CoordinatorCalls(urls, token, signer=signer, enrolment=enrolment)
    yield RemoteChannels(ChannelCalls(calls, own.process))
    calls.close()


async def test_a_message_is_taken_done_and_given_back(
    remote: RemoteChannels, inside: Channels, queue: str, coordinator: str
) -> None:
    await inside.send(queue, [{"n": 1}, {"n": 2}, {"n": 3}])
    taken = (await remote.take([queue], ONE, limit=2, wait=0))[queue]
    assert [delivery.message for delivery in taken] == [{"n": 1}, {"n": 2}]
    await remote.done(queue, ONE, [taken[0].id])
    assert await remote.give_back(queue, ONE) == 1
    for other in _reached(coordinator, own=OTHER_KEY):
        again = (await other.take([queue], TWO, limit=10, wait=0))[queue]
        assert sorted(delivery.message["n"] for delivery in again) == [2, 3]
        assert max(delivery.deliveries for delivery in again) == 2
        assert await other.take([queue], TWO, limit=10, wait=0) == {}


async def test_what_is_buried_is_not_given_back(remote: RemoteChannels, inside: Channels, queue: str) -> None:
    await inside.send(queue, [{"n": 1}, {"n": 2}])
    first, _ = (await remote.take([queue], ONE, limit=2, wait=0))[queue]
    await remote.bury(queue, ONE, [first.id])
    assert await remote.give_back(queue, ONE) == 1


async def test_taking_waits_for_what_comes(remote: RemoteChannels, inside: Channels, queue: str) -> None:
    taking = asyncio.create_task(remote.take([queue], ONE, limit=1, wait=10))
    await asyncio.wait([taking], timeout=0.2)
    assert not taking.done()
    await inside.send(queue, [{"n": 1}])
    async with asyncio.timeout(5):
        assert list(await taking) == [queue]


async def test_the_own_box_is_read_and_removed(remote: RemoteChannels, inside: Channels) -> None:
    box, own = NAMES.status(7, next(_numbers)), NAMES.acknowledged(ONE)
    await inside.post({own: [{"seq": 1}, {"seq": 2}]})
    first = (await remote.read({own: START}, limit=1))[own]
    assert [entry.message for entry in first] == [{"seq": 1}]
    rest = (await remote.read({own: first[0].position}, limit=10))[own]
    assert [entry.message for entry in rest] == [{"seq": 2}]
    await remote.remove([own])
    assert not any((await remote.read({own: START}, limit=10)).values())
    with pytest.raises(ChannelsUnavailable, match=r"no business|may not use the"):
        await remote.remove([box])


async def test_listening_waits_and_misses_nothing(remote: RemoteChannels) -> None:
    async with remote.listen([NAMES.cancel]) as ear:
        assert await ear.next(0.0) == []
        waiting = asyncio.create_task(ear.next(1.0))
        await asyncio.wait([waiting], timeout=0.2)
        assert not waiting.done()
        assert await waiting == []
        assert ear.missed == 0


@pytest.mark.parametrize("forbidden", ["job.assigned", "job.handoff", "coordinator.heartbeat"])
async def test_what_coordinators_tell_each_other_is_not_open(remote: RemoteChannels, forbidden: str) -> None:
    with pytest.raises(ChannelsUnavailable, match=r"no business|may not use the"):
        await remote.take([f"orchestrix.{forbidden}"], ONE, limit=1, wait=0)
    with pytest.raises(ChannelsUnavailable, match=r"no business|may not use the"):
        await remote.announce(f"orchestrix.{forbidden}", {})


async def test_without_the_token_there_is_nothing(coordinator: str, queue: str) -> None:
    for stranger in _reached(coordinator, token="guessed", own=OwnKey("3" * 64, "3" * 32)):
        with pytest.raises(ChannelsUnavailable, match="token"):
            await stranger.take([queue], ONE, limit=1, wait=0)


async def test_a_coordinator_that_is_away_is_passed_over(coordinator: str, inside: Channels, queue: str) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    await inside.send(queue, [{"n": 1}])
    for remote in _reached(away, coordinator):
        assert list(await remote.take([queue], ONE, limit=1, wait=0)) == [queue]
    for remote in _reached(away):
        with pytest.raises(ChannelsUnavailable):
            await remote.post({NAMES.status(1, 1): [{}]})
