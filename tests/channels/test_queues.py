"""Queues: each message goes to one consumer, is his until it is done, and goes to another when he is gone."""

import asyncio
from collections import Counter

import pytest

from orth.channels.interface import START, Channels, ChannelsUnavailable, Delivery, Message
from orth.channels.limits import Limits
from orth.errors import Invalid, InvalidMessage, TooLarge
from tests.channels.conftest import Site

Q = "orchestrix.job.dispatch.reports.default"
URGENT = f"{Q}.p3"


async def take(
    channels: Channels, consumer: str = "c", *queues: str, limit: int = 100, wait: float = 0.0
) -> list[Delivery]:
    taken = await channels.take(queues or [Q], consumer, limit=limit, wait=wait)
    return [delivery for deliveries in taken.values() for delivery in deliveries]


def numbers(taken: list[Delivery]) -> list[int]:
    return [delivery.message["n"] for delivery in taken]


def messages(count: int, first: int = 1) -> list[Message]:
    return [{"n": number} for number in range(first, first + count)]


async def test_messages_come_oldest_first_and_no_more_than_asked_for(channels: Channels, other: Channels) -> None:
    await channels.send(Q, messages(3))
    await other.send(Q, messages(2, first=4))
    assert await channels.waiting(Q) == 5
    assert numbers(await take(other, limit=2)) == [1, 2]
    assert numbers(await take(channels, "another", limit=2)) == [3, 4]
    assert numbers(await take(other)) == [5]
    assert await take(other) == []


async def test_what_is_not_done_can_be_looked_through_whoever_has_it(channels: Channels, other: Channels) -> None:
    assert await channels.undone(Q, START, limit=10) == []
    await channels.send(Q, messages(5))
    await channels.send(URGENT, messages(1, first=10))
    first, second = await take(other, limit=2)
    await other.done(Q, "c", [first.id])
    entries = await channels.undone(Q, START, limit=2)
    assert [entry.message["n"] for entry in entries] == [2, 3]
    entries = await channels.undone(Q, entries[-1].position, limit=3)
    assert [entry.message["n"] for entry in entries] == [4, 5]
    assert await channels.undone(Q, entries[-1].position, limit=3) == []
    assert await channels.waiting(Q) == 3, "nothing was taken by looking"
    await channels.give_back(Q, "c")
    assert [entry.message["n"] for entry in await other.undone(Q, START, limit=10)] == [2, 3, 4, 5]
    assert numbers(await take(channels, "d", limit=1)) == [second.message["n"]]
    with pytest.raises(InvalidMessage):
        await channels.undone(Q, "no position", limit=1)


async def test_the_first_queue_is_emptied_before_the_next_is_looked_at(channels: Channels) -> None:
    await channels.send(Q, messages(3))
    await channels.send(URGENT, messages(2, first=10))
    taken = await channels.take([URGENT, Q], "c", limit=3, wait=0.0)
    assert {queue: numbers(some) for queue, some in taken.items()} == {URGENT: [10, 11], Q: [1]}
    taken = await channels.take([URGENT, Q], "c", limit=3, wait=0.0)
    assert {queue: numbers(some) for queue, some in taken.items()} == {Q: [2, 3]}


async def test_each_message_goes_to_one_of_those_who_compete(channels: Channels, other: Channels) -> None:
    taken: dict[str, list[int]] = {}

    async def consume(node: Channels, consumer: str) -> None:
        mine = taken.setdefault(consumer, [])
        while sum(map(len, taken.values())) < 200:
            some = await take(node, consumer, limit=3, wait=0.2)
            mine += numbers(some)
            await node.done(Q, consumer, [delivery.id for delivery in some])

    async def produce(node: Channels, first: int) -> None:
        for start in range(first, first + 100, 5):
            await node.send(Q, messages(5, first=start))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number, node in enumerate([channels, other, channels, other]):
            group.create_task(consume(node, f"c{number}"))
        group.create_task(produce(channels, 1))
        group.create_task(produce(other, 101))
    assert Counter(number for some in taken.values() for number in some) == Counter(range(1, 201))
    assert await channels.waiting(Q) == 0
    assert await channels.consumers(Q) == {}


async def test_what_one_sends_one_gets_in_that_order(channels: Channels, other: Channels) -> None:
    async def produce(node: Channels, first: int) -> None:
        for number in range(first, first + 30):
            await node.send(Q, messages(1, first=number))

    await asyncio.gather(produce(channels, 0), produce(other, 1000))
    got = numbers(await take(channels))
    assert [n for n in got if n < 1000] == list(range(30))
    assert [n for n in got if n >= 1000] == list(range(1000, 1030))


async def test_who_waits_is_woken_by_a_message_from_another_node(channels: Channels, other: Channels) -> None:
    for _ in range(3):
        waiting = asyncio.create_task(take(channels, "c", Q, URGENT, wait=60.0))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        started = asyncio.get_running_loop().time()
        await other.send(URGENT, messages(1))
        assert numbers(await waiting) == [1]
        assert asyncio.get_running_loop().time() - started < 4.0


async def test_of_many_who_wait_enough_are_woken(channels: Channels, other: Channels) -> None:
    waiting = [asyncio.create_task(take(channels, f"c{n}", limit=1, wait=60.0)) for n in range(6)]
    waiting += [asyncio.create_task(take(other, f"d{n}", limit=1, wait=60.0)) for n in range(6)]
    await asyncio.sleep(0.2)
    for number in range(1, 5):
        await channels.send(Q, messages(1, first=number))
    await other.send(Q, messages(8, first=5))
    async with asyncio.timeout(20):
        got = await asyncio.gather(*waiting)
    assert sorted(number for some in got for number in numbers(some)) == list(range(1, 13))


async def test_who_waits_in_vain_gets_nothing_after_that_time(channels: Channels) -> None:
    started = asyncio.get_running_loop().time()
    assert await channels.take([Q], "c", limit=1, wait=0.3) == {}
    assert 0.25 < asyncio.get_running_loop().time() - started < 10.0


async def test_no_time_makes_a_message_somebody_elses(channels: Channels, other: Channels) -> None:
    await channels.send(Q, messages(1))
    [mine] = await take(channels, "slow")
    assert mine.deliveries == 1
    assert await take(channels, "slow", wait=0.5) == []
    assert await take(other, "quick", wait=1.0) == []
    assert await channels.consumers(Q) == {"slow": 1}
    assert await channels.waiting(Q) == 0


async def test_what_is_done_is_gone(channels: Channels, other: Channels) -> None:
    await channels.send(Q, messages(3))
    first, second, third = await take(channels, "c")
    await other.done(Q, "c", [first.id, third.id])
    assert await channels.consumers(Q) == {"c": 1}
    assert await other.give_back(Q, "c") == 1
    [again] = await take(other, "d")
    assert (again.message, again.deliveries) == (second.message, 2)


async def test_what_somebody_had_who_is_gone_goes_to_others_before_anything_newer(
    channels: Channels, other: Channels
) -> None:
    await channels.send(Q, messages(4))
    taken = await take(channels, "gone", limit=2)
    await take(channels, "alive", limit=1)
    assert await other.consumers(Q) == {"gone": 2, "alive": 1}
    assert await other.give_back(Q, "gone") == 2
    assert await other.give_back(Q, "gone") == 0
    got = await take(other, "d")
    assert [(one.message["n"], one.deliveries) for one in got] == [(1, 2), (2, 2), (4, 1)]
    await channels.done(Q, "gone", [one.id for one in taken])  # a zombie: they are not its any more
    assert await channels.consumers(Q) == {"alive": 1, "d": 3}


async def test_giving_back_wakes_those_who_wait(channels: Channels, other: Channels) -> None:
    await channels.send(Q, messages(1))
    await take(channels, "gone")
    waiting = asyncio.create_task(take(other, "d", wait=60.0))
    await asyncio.sleep(0.2)
    await channels.give_back(Q, "gone")
    async with asyncio.timeout(20):
        assert numbers(await waiting) == [1]


async def test_a_message_that_ends_whoever_takes_it_is_given_up(channels: Channels) -> None:
    await channels.send(Q, messages(3))
    for _ in range(3):
        assert len(await take(channels, "c", limit=2)) == 2
        assert await channels.give_back(Q, "c", to_dead_after=3) == 2
    assert channels.buried == 2
    assert await channels.dead_letters(Q, 10) == [{"n": 2}, {"n": 1}]
    assert await channels.dead_letters(Q, 1) == [{"n": 2}]
    assert await channels.dead_letters(URGENT, 10) == []
    assert numbers(await take(channels, "d")) == [3]


async def test_of_dead_letters_the_newest_are_kept(site: Site) -> None:
    channels = site.node(Limits(dead=3))
    for start in (1, 4):
        await channels.send(Q, messages(3, first=start))
        await take(channels, "c")
        await channels.give_back(Q, "c", to_dead_after=1)
    assert await channels.dead_letters(Q, 10) == [{"n": 6}, {"n": 5}, {"n": 4}]


async def test_a_full_queue_takes_all_or_none(site: Site) -> None:
    channels = site.node(Limits(queue=10))
    await channels.send(Q, messages(6))
    await channels.send(Q, messages(2, first=7))
    with pytest.raises(ChannelsUnavailable, match="full"):
        await channels.send(Q, messages(3, first=9))
    assert await channels.waiting(Q) == 8
    await channels.send(Q, messages(2, first=9))
    with pytest.raises(ChannelsUnavailable, match="full"):
        await channels.send(Q, messages(1))
    await channels.send(URGENT, messages(1))
    taken = await take(channels, "c", limit=4)
    with pytest.raises(ChannelsUnavailable, match="full"):  # they are still there, in somebody's hands
        await channels.send(Q, messages(1))
    await channels.done(Q, "c", [one.id for one in taken])
    await channels.send(Q, messages(4, first=11))
    assert numbers(await take(channels, "d")) == list(range(5, 15))


async def test_taking_that_is_broken_off_loses_nothing(channels: Channels, other: Channels) -> None:
    """A long poll may be cut at any moment: what was about to be taken must not stay with somebody who lives on."""
    await channels.send(Q, messages(40))
    for number in range(40):
        taking = asyncio.create_task(take(channels, "c", limit=1, wait=5.0))
        await asyncio.sleep(0.0005 * (number % 12))
        if taking.done():  # it was quicker
            await channels.done(Q, "c", [one.id for one in taking.result()])
            await channels.send(Q, [one.message for one in taking.result()])
        taking.cancel()
        await asyncio.wait([taking])
    got: list[int] = []
    async with asyncio.timeout(30):
        while len(got) < 40:
            # The same consumer, too, for whatever only it may still find.
            for node, consumer in ((other, "d"), (channels, "c")):
                some = await take(node, consumer, wait=0.1)
                got += numbers(some)
                await node.done(Q, consumer, [one.id for one in some])
    assert sorted(got) == list(range(1, 41))
    assert await other.consumers(Q) == {}


STRANGE = {
    "text": 'Grüße, 你好 👋 \x00 \ud800 "quoted" \\ \r\n\u2028',
    "number": 2**53,
    "half": 0.5,
    "nothing": None,
    "nested": [{"deep": [1, [2, [3]]]}, True, ""],
}


async def test_a_message_arrives_as_it_was_sent(channels: Channels, other: Channels) -> None:
    large = {"text": "é" * 150_000}
    await channels.send(Q, [STRANGE, large, {}])
    assert [one.message for one in await take(other)] == [STRANGE, large, {}]


async def test_what_is_no_message_or_too_large_is_refused(site: Site) -> None:
    channels = site.node(Limits(message=1000))
    with pytest.raises(TooLarge):
        await channels.send(Q, [{"n": 1}, {"text": "x" * 1000}])
    with pytest.raises(Invalid):
        await channels.send(Q, [{"n": 1}, {"text": object()}])
    with pytest.raises(Invalid):
        await channels.send(Q, [{"n": float("nan")}])
    with pytest.raises(Invalid):
        await channels.send("x" * 256, messages(1))
    with pytest.raises(Invalid):
        await channels.send(f"{Q} ", messages(1))
    assert await channels.waiting(Q) == 0
    await channels.send(Q, [])
    await channels.send("ü" * 255, messages(1))
    assert numbers(await take(channels, "c", "ü" * 255)) == [1]


async def test_names_are_compared_letter_by_letter(channels: Channels) -> None:
    for number, name in enumerate(("a.b", "A.b", "á.b", "a%b", "a_b")):
        await channels.send(name, messages(1, first=number))
    for number, name in enumerate(("a.b", "A.b", "á.b", "a%b", "a_b")):
        assert numbers(await take(channels, "c", name)) == [number]


async def test_asking_for_nothing_gives_nothing(channels: Channels) -> None:
    await channels.send(Q, messages(1))
    assert await channels.take([Q], "c", limit=0, wait=0.0) == {}
    assert await channels.take([], "c", limit=1, wait=0.0) == {}
    await channels.done(Q, "c", [])
    await channels.done(Q, "c", ["no id", "999999999"])
    assert await channels.give_back(Q, "c") == 0
    assert await channels.waiting(Q) == 1


async def test_a_backend_that_answers_says_so(channels: Channels) -> None:
    await channels.check()


@pytest.mark.parametrize("name", ["(given back)", "(else)", "", " c"])
async def test_nobody_takes_under_a_name_that_is_reserved_or_none(channels: Channels, name: str) -> None:
    await channels.send(Q, messages(2))
    await channels.take([Q], "c", limit=1, wait=0.0)
    await channels.give_back(Q, "c")
    with pytest.raises(Invalid):
        await channels.take([Q], name, limit=1, wait=0.0)
    with pytest.raises(Invalid):
        await channels.done(Q, name, ["1"])
    if name == "(given back)":
        with pytest.raises(Invalid):
            await channels.give_back(Q, name)
    assert numbers(await take(channels, "d")) == [1, 2]


async def test_what_is_buried_is_dead_and_only_what_one_has_can_be(channels: Channels, other: Channels) -> None:
    await channels.send(Q, messages(4))
    mine, others = await take(channels, "mine", limit=3), await take(other, "others", limit=1)
    await channels.bury(Q, "mine", [mine[0].id, mine[2].id, others[0].id, "nonsense"])
    await channels.bury(Q, "mine", [mine[0].id])
    assert [message["n"] for message in await channels.dead_letters(Q, 10)] == [3, 1]
    assert channels.buried >= 2
    assert await channels.consumers(Q) == {"mine": 1, "others": 1}
    await channels.done(Q, "mine", [mine[1].id])
    assert await channels.give_back(Q, "mine") == 0


async def test_the_newest_of_what_is_buried_are_kept(site: Site) -> None:
    channels = site.node(Limits(dead=2))
    await channels.send(Q, messages(4))
    await channels.bury(Q, "c", [delivery.id for delivery in await take(channels)])
    assert [message["n"] for message in await channels.dead_letters(Q, 10)] == [4, 3]
