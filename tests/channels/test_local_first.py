"""Channels of one process that another one joins."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.channels.interface import START, ChannelsUnavailable, Entry, Heard
from orth.channels.limits import Limits
from orth.channels.local_first import LocalFirst
from orth.channels.opening import open_local_first
from orth.clock import SystemClock
from orth.cluster.alone import AliveLocks
from orth.cluster.facts import NodeJoined
from orth.coordinator.opening_channels import share_with_others
from orth.events import Events
from orth.store.database import open_database
from orth.testing.stores import prepare_store


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[LocalFirst]:
    with open_database(f"sqlite:///{file}", size=2) as db:
        channels = open_local_first(db, SystemClock(), Events(), Limits())
        try:
            yield channels
        finally:
            await channels.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    prepare_store(f"sqlite:///{tmp_path / 'orth.db'}")
    return tmp_path / "orth.db"


async def test_those_who_share_hear_each_other(file: Path) -> None:
    async with asyncio.timeout(30), opened(file) as one, opened(file) as other:
        for channels in (one, other):
            channels.share()
            channels.share()
        async with one.listen(["topic"]) as ear:
            await other.announce("topic", {"n": 1})
            assert list(await ear.next(10)) == [Heard("topic", {"n": 1})]
        await one.send("queue", [{"n": 2}])
        taken = await other.take(["queue"], "me", limit=1, wait=10)
        assert [delivery.message for delivery in taken["queue"]] == [{"n": 2}]


async def test_who_listened_before_has_to_listen_anew(file: Path) -> None:
    async with (
        asyncio.timeout(30),
        opened(file) as channels,
        channels.listen(["topic"]) as ear,
        channels.news() as news,
    ):
        await channels.announce("topic", {"n": 1})
        assert list(await ear.next(10)) == [Heard("topic", {"n": 1})]
        waiting = asyncio.ensure_future(ear.next(3600))
        await asyncio.sleep(0)
        channels.share()
        with pytest.raises(ChannelsUnavailable, match="anew"):
            await waiting
        with pytest.raises(ChannelsUnavailable, match="anew"):
            await news.next(3600)


async def test_a_box_is_read_from_its_beginning_when_it_is_another_one(file: Path) -> None:
    """Positions of before mean nothing there: what is said first must not be skipped."""
    async with asyncio.timeout(30), opened(file) as channels:
        for number in range(50):
            await channels.post({"box": [{"n": number}]})
        read = (await channels.read({"box": START}, limit=100))["box"]
        assert [entry.message["n"] for entry in read] == list(range(50))
        last = read[-1].position
        assert not (await channels.read({"box": last}, limit=10)).get("box")
        channels.share()
        await channels.post({"box": [{"n": "first"}, {"n": "second"}]})
        first, second = (await channels.read({"box": last}, limit=10))["box"]
        assert (first.message, second.message) == ({"n": "first"}, {"n": "second"})
        assert await channels.read({"box": first.position}, limit=10) == {
            "box": [Entry(second.position, {"n": "second"})]
        }


async def test_they_are_shared_when_another_coordinator_is_there_and_not_for_a_dead_one(file: Path) -> None:
    events, locks, others = Events(), AliveLocks(file), AliveLocks(file)
    locks.hold("node-1")
    joined = NodeJoined("node-2", "process-2", "http://127.0.0.1:5081")
    async with opened(file) as channels, opened(file) as newcomers:
        share_with_others(channels, locks, events)
        events.emit(joined)  # a row that is left of it
        assert not channels.is_shared
        others.hold("node-2")
        share_with_others(newcomers, others, Events())
        assert newcomers.is_shared, "somebody was there before it"
        events.emit(joined)
        assert channels.is_shared
    locks.release()
    others.release()
