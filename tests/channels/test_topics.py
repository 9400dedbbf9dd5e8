"""Topics: everybody who listens hears, and nobody else."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from orth.channels.interface import Channels, Heard, Listening
from orth.channels.limits import Limits
from orth.errors import Invalid, TooLarge
from tests.channels.conftest import Site

CANCEL, BEATS = "orchestrix.job.cancel", "orchestrix.worker.heartbeat"


async def hear(ear: Listening, count: int) -> list[Heard]:
    heard: list[Heard] = []
    async with asyncio.timeout(20):
        while len(heard) < count:
            heard += await ear.next(5.0)
    return heard


def numbers(heard: Sequence[Heard]) -> list[int]:
    return [one.message["n"] for one in heard]


async def test_everybody_hears_in_order_whatever_node_they_are_on(channels: Channels, other: Channels) -> None:
    async with AsyncExitStack() as stack:
        ears = [await stack.enter_async_context(node.listen([CANCEL])) for node in (channels, channels, other, other)]
        for number in range(1, 11):
            await channels.announce(CANCEL, {"n": number})
        await other.announce(BEATS, {"n": -1})
        for ear in ears:
            heard = await hear(ear, 10)
            assert numbers(heard) == list(range(1, 11))
            assert {one.topic for one in heard} == {CANCEL}
            assert (list(await ear.next(0.0)), ear.missed) == ([], 0)


async def test_nothing_is_missed_of_many_who_speak_at_once(channels: Channels, other: Channels) -> None:
    async def speak(node: Channels, first: int) -> None:
        for number in range(first, first + 40):
            await node.announce(CANCEL, {"n": number})
            await asyncio.sleep(0)

    async with channels.listen([CANCEL]) as mine, other.listen([CANCEL]) as theirs:
        nodes = [channels, other, channels, other, channels, other]
        speaking = asyncio.gather(*(speak(node, 1000 * number) for number, node in enumerate(nodes)))
        for ear in (mine, theirs):
            heard = numbers(await hear(ear, 240))
            assert len(heard) == 240
            for number in range(6):
                wanted = list(range(1000 * number, 1000 * number + 40))
                assert [one for one in heard if one // 1000 == number] == wanted
            assert ear.missed == 0
        await speaking


async def test_what_was_said_before_is_not_heard(channels: Channels, other: Channels) -> None:
    await other.announce(CANCEL, {"n": 1})
    async with channels.listen([CANCEL]) as ear:
        await other.announce(CANCEL, {"n": 2})
        assert numbers(await hear(ear, 1)) == [2]
    async with channels.listen([CANCEL]) as ear:
        assert list(await ear.next(0.3)) == []


async def test_several_topics_with_one_ear(channels: Channels, other: Channels) -> None:
    async with channels.listen([CANCEL, BEATS]) as ear:
        await other.announce(BEATS, {"n": 1})
        await other.announce(CANCEL, {"n": 2})
        await channels.announce("orchestrix.coordinator.heartbeat", {"n": 3})
        assert sorted((one.topic, one.message["n"]) for one in await hear(ear, 2)) == [(CANCEL, 2), (BEATS, 1)]


async def test_who_waits_hears_at_once(channels: Channels, other: Channels) -> None:
    async with channels.listen([CANCEL]) as ear:
        waiting = asyncio.ensure_future(ear.next(60.0))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        started = asyncio.get_running_loop().time()
        await other.announce(CANCEL, {"n": 1})
        assert numbers(await waiting) == [1]
        assert asyncio.get_running_loop().time() - started < 4.0


async def test_who_is_slow_loses_the_oldest_and_knows_it(site: Site) -> None:
    channels = site.node(Limits(ear=5))
    async with channels.listen([CANCEL]) as ear, channels.listen([BEATS]) as quiet:
        for number in range(1, 13):
            await channels.announce(CANCEL, {"n": number})
        await channels.announce(BEATS, {"n": 0})
        assert numbers(await hear(quiet, 1)) == [0]
        heard = await hear(ear, 5)
        assert numbers(heard) == [8, 9, 10, 11, 12]
        assert ear.missed == 7


async def test_an_announcement_may_be_long(channels: Channels, other: Channels) -> None:
    """A heartbeat that names all that runs is longer than what a database carries in one piece."""
    long = {"n": 1, "running": list(range(40_000)), "text": "ü" * 20_000}
    async with other.listen([BEATS]) as ear, channels.listen([BEATS]) as mine:
        await asyncio.gather(*(channels.announce(BEATS, {**long, "n": number}) for number in range(4)))
        for heard in (await hear(ear, 4), await hear(mine, 4)):
            assert sorted(numbers(heard)) == [0, 1, 2, 3]
            assert all(one.message == {**long, "n": one.message["n"]} for one in heard)


async def test_what_was_said_stays_as_it_was(channels: Channels) -> None:
    said = {"n": 1, "list": [1]}
    async with channels.listen([CANCEL]) as ear:
        await channels.announce(CANCEL, said)
        said["list"].append(2)  # type: ignore[attr-defined]
        assert (await hear(ear, 1))[0].message == {"n": 1, "list": [1]}


async def test_nonsense_is_refused(site: Site) -> None:
    channels = site.node(Limits(message=100))
    with pytest.raises(TooLarge):
        await channels.announce(CANCEL, {"text": "x" * 100})
    with pytest.raises(Invalid):
        await channels.announce(CANCEL, {"text": object()})
    with pytest.raises(Invalid):
        await channels.announce("", {})
