"""Boxes: what is said about one execution, kept in order until it is removed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

import pytest

from orth.channels.interface import START, BoxFull, Channels, ChannelsUnavailable, Entry, Message
from orth.channels.limits import Limits
from orth.errors import Invalid, InvalidMessage, TooLarge
from tests.channels.conftest import Site

STATUS, LOGS = "orchestrix.job.7.status.1001", "orchestrix.job.7.logs.1001"


def messages(count: int, first: int = 1) -> list[Message]:
    return [{"n": number} for number in range(first, first + count)]


def numbers(entries: list[Entry]) -> list[int]:
    return [entry.message["n"] for entry in entries]


async def contents(channels: Channels, box: str, after: str = START, limit: int = 1000) -> list[int]:
    return numbers((await channels.read({box: after}, limit=limit)).get(box, []))


async def test_whoever_comes_later_reads_from_the_first(channels: Channels, other: Channels) -> None:
    await channels.post({STATUS: messages(3)})
    assert await contents(other, STATUS) == [1, 2, 3]
    assert await contents(other, STATUS) == [1, 2, 3]
    assert await channels.read({LOGS: START}, limit=10) == {}


async def test_reading_goes_on_from_a_position(channels: Channels, other: Channels) -> None:
    await channels.post({STATUS: messages(5)})
    first = (await channels.read({STATUS: START}, limit=2))[STATUS]
    assert numbers(first) == [1, 2]
    assert await contents(other, STATUS, first[-1].position) == [3, 4, 5]
    last = (await other.read({STATUS: first[-1].position}, limit=10))[STATUS][-1].position
    assert await channels.read({STATUS: last}, limit=10) == {}
    await other.post({STATUS: messages(1, first=6)})
    assert await contents(channels, STATUS, last) == [6]


@pytest.mark.parametrize("box", [STATUS, LOGS], ids=["there", "not there"])
async def test_what_is_no_position_is_refused_and_the_backend_is_not_blamed(channels: Channels, box: str) -> None:
    await channels.post({STATUS: messages(1)})
    (entry,) = (await channels.read({STATUS: START}, limit=1))[STATUS]
    for garbage in (
        "x",
        "-1",
        "1.5",
        "$",
        "+",
        "0-0-0",
        "1-",
        "9" * 30,
        f"{'9' * 20}-0",
        "٣",
        "a b",
        entry.position + "\n",
    ):
        with pytest.raises(InvalidMessage, match="is not a position in a box") as refused:
            await channels.read({STATUS: START, box: garbage}, limit=1)
        assert refused.value.status == 400
    assert await contents(channels, STATUS) == [1]


async def test_many_boxes_at_once_each_from_its_own_position(channels: Channels, other: Channels) -> None:
    names = [f"orchestrix.job.{number}.status.{number}" for number in range(1, 151)]
    await channels.post({name: messages(3, first=10 * number) for number, name in enumerate(names)})
    found = await other.read({**dict.fromkeys(names, START), "none": START}, limit=2)
    assert {name: numbers(entries) for name, entries in found.items()} == {
        name: [10 * number, 10 * number + 1] for number, name in enumerate(names)
    }
    after = {name: found[name][number % 2].position for number, name in enumerate(names)}
    again = await other.read(after, limit=10)
    expected = {name: [10 * n + 2] if n % 2 else [10 * n + 1, 10 * n + 2] for n, name in enumerate(names)}
    assert {name: numbers(entries) for name, entries in again.items()} == expected


async def test_who_follows_a_box_misses_nothing_however_many_write(channels: Channels, other: Channels) -> None:
    """Of those who write at once, none may become visible behind the back of a reader."""

    async def write(node: Channels, first: int) -> None:
        for number in range(first, first + 40):
            await node.post({STATUS: messages(1, first=number), LOGS: messages(2, first=number)})
            await asyncio.sleep(0)

    async def follow(node: Channels) -> list[int]:
        read: list[int] = []
        position = START
        with suppress(TimeoutError):  # what is missing is seen below
            async with asyncio.timeout(40):
                while len(read) < 160:
                    for entry in (await node.read({STATUS: position}, limit=7)).get(STATUS, []):
                        position = entry.position
                        read.append(entry.message["n"])
                    await asyncio.sleep(0)
        return read

    nodes = [channels, other, channels, other]
    followers = [asyncio.create_task(follow(node)) for node in (channels, other)]
    await asyncio.gather(*(write(node, 1000 * number) for number, node in enumerate(nodes)))
    for read in await asyncio.gather(*followers):
        for number in range(4):
            wanted = list(range(1000 * number, 1000 * number + 40))
            assert [one for one in read if one // 1000 == number] == wanted
    assert len(await contents(other, LOGS)) == 320


async def test_news_of_boxes_reach_everybody(channels: Channels, other: Channels) -> None:
    await channels.post({STATUS: messages(1)})
    async with channels.news() as mine, other.news() as theirs, other.listen([STATUS]) as topic:
        await channels.post({LOGS: messages(1), STATUS: messages(1)})
        await channels.post({LOGS: messages(1)})
        for ear in (mine, theirs):
            heard: set[str] = set()
            async with asyncio.timeout(20):
                while heard != {LOGS, STATUS}:
                    some = await ear.next(5.0)
                    assert all(one.message == {"box": one.topic} for one in some)
                    heard |= {one.topic for one in some}
            assert ear.missed == 0
        assert list(await topic.next(0.0)) == []


async def test_news_come_at_once(channels: Channels, other: Channels) -> None:
    async with channels.news() as ear:
        waiting = asyncio.ensure_future(ear.next(60.0))
        await asyncio.sleep(0.3)
        started = asyncio.get_running_loop().time()
        await other.post({STATUS: messages(1)})
        assert [one.topic for one in await waiting] == [STATUS]
        assert asyncio.get_running_loop().time() - started < 4.0
    assert await contents(channels, STATUS) == [1]


async def test_news_of_one_box_do_not_drown_those_of_another(site: Site) -> None:
    channels = site.node(Limits(ear=3))
    async with channels.news() as ear:
        for number in range(10):
            await channels.post({STATUS: messages(1, first=number)})
        await channels.post({LOGS: messages(1)})
        heard: set[str] = set()
        async with asyncio.timeout(20):
            while heard != {STATUS, LOGS}:
                heard |= {one.topic for one in await ear.next(5.0)}
        assert ear.missed == 0
        await channels.post({f"box {number}": messages(1) for number in range(5)})
        heard = set()
        async with asyncio.timeout(20):
            while len(heard) < 3:
                heard |= {one.topic for one in await ear.next(5.0)}
        assert ear.missed == 2


async def test_a_removed_box_is_gone_and_a_new_one_goes_on_after_it(channels: Channels, other: Channels) -> None:
    await channels.post({STATUS: messages(3), LOGS: messages(1)})
    last = (await other.read({STATUS: START}, limit=10))[STATUS][-1].position
    await other.remove([STATUS, "none"])
    await other.remove([])
    assert await channels.read({STATUS: START, LOGS: START}, limit=10) == await channels.read({LOGS: START}, limit=10)
    await asyncio.sleep(0.02)
    await channels.post({STATUS: messages(1, first=9)})
    assert await contents(other, STATUS, last) == [9]
    assert await contents(other, STATUS) == [9]


async def test_boxes_may_come_and_go_under_those_who_write(channels: Channels, other: Channels) -> None:
    async def insist(call: Callable[[], Awaitable[None]]) -> None:
        """As callers do: MariaDB may choose the same one as the victim of deadlocks several times in a row."""
        for _ in range(4):
            with suppress(ChannelsUnavailable):
                return await call()
        return await call()

    async def write(node: Channels, box: str) -> None:
        for number in range(30):
            await insist(partial(node.post, {box: messages(1, first=number), f"{box}.too": messages(1)}))
            await asyncio.sleep(0)

    async def remove() -> None:
        for _ in range(30):
            await insist(partial(other.remove, [STATUS, LOGS, f"{STATUS}.too"]))
            await asyncio.sleep(0.003)

    async with asyncio.timeout(60):
        await asyncio.gather(write(channels, STATUS), write(other, LOGS), write(other, STATUS), remove())
    await channels.post({STATUS: messages(1, first=77)})
    assert (await contents(channels, STATUS))[-1] == 77


async def test_a_full_box_takes_a_post_whole_or_not_at_all(site: Site) -> None:
    channels = site.node(Limits(box=5))
    await channels.post({STATUS: messages(4)})
    with pytest.raises(ChannelsUnavailable, match="full"):
        await channels.post({STATUS: messages(2, first=5)})
    assert await contents(channels, STATUS) == [1, 2, 3, 4]
    await channels.post({STATUS: messages(1, first=5), LOGS: messages(5)})
    assert await contents(channels, STATUS) == [1, 2, 3, 4, 5]
    await channels.remove([LOGS])
    with pytest.raises(BoxFull) as refused:
        await channels.post({STATUS: messages(1), LOGS: messages(1, first=7)})
    assert refused.value.boxes == {STATUS}
    assert await contents(channels, LOGS) == [7], "the others have theirs"
    await channels.remove([STATUS])
    await channels.post({STATUS: messages(5)})


async def test_what_is_old_is_forgotten(channels: Channels, other: Channels) -> None:
    queue = "orchestrix.job.assigned"
    await channels.post({STATUS: messages(3), LOGS: messages(1)})
    await channels.send(queue, messages(2))
    await channels.take([queue], "c", limit=1, wait=0.0)
    await channels.give_back(queue, "c", to_dead_after=1)
    assert await other.clean(3600.0) == 0
    assert await contents(channels, STATUS) == [1, 2, 3]
    assert await channels.dead_letters(queue, 10) == [{"n": 1}]
    await asyncio.sleep(0.05)
    assert await other.clean(0.01) >= 3
    assert await channels.read({STATUS: START, LOGS: START}, limit=10) == {}
    assert await channels.dead_letters(queue, 10) == []
    assert await channels.waiting(queue) == 1
    assert await other.clean(0.01) == 0


async def test_nonsense_is_refused(site: Site) -> None:
    channels = site.node(Limits(message=100))
    bad: list[tuple[type[Exception], Mapping[str, list[Message]]]] = [
        (TooLarge, {STATUS: [{"text": "x" * 100}]}),
        (Invalid, {STATUS: [{"n": 1}, {"text": object()}]}),
        (Invalid, {"": messages(1)}),
        (Invalid, {"x" * 256: messages(1)}),
    ]
    for error, post in bad:
        with pytest.raises(error):
            await channels.post({LOGS: messages(1), **post})
    assert await channels.read({STATUS: START, LOGS: START}, limit=10) == {}
    await channels.post({})
