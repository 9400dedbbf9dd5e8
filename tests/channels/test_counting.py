"""Channels whose failures are counted: every verb passes through, and every failure is one of a kind."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from orth.channels.counting import CountedChannels, Failure
from orth.channels.interface import START, BoxFull, Channels, ChannelsUnavailable, Listening, Message
from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.clock import SystemClock
from orth.errors import Invalid

Q, TOPIC, BOX = "orchestrix.job.dispatch.app.a", "orchestrix.job.cancel", "orchestrix.job.7.status.1"


async def listen(channels: Channels) -> None:
    async with channels.listen([TOPIC]):
        pass


async def hear_news(channels: Channels) -> None:
    async with channels.news():
        pass


VERBS: Mapping[str, tuple[Failure, Callable[[Channels], Awaitable[object]]]] = {
    "send": (Failure.QUEUE, lambda channels: channels.send(Q, [{}])),
    "take": (Failure.QUEUE, lambda channels: channels.take([Q], "c", limit=1, wait=0)),
    "done": (Failure.QUEUE, lambda channels: channels.done(Q, "c", ["1"])),
    "bury": (Failure.QUEUE, lambda channels: channels.bury(Q, "c", ["1"])),
    "give_back": (Failure.QUEUE, lambda channels: channels.give_back(Q, "c", to_dead_after=2)),
    "consumers": (Failure.QUEUE, lambda channels: channels.consumers(Q)),
    "waiting": (Failure.QUEUE, lambda channels: channels.waiting(Q)),
    "undone": (Failure.QUEUE, lambda channels: channels.undone(Q, START, limit=1)),
    "dead_letters": (Failure.QUEUE, lambda channels: channels.dead_letters(Q, 1)),
    "announce": (Failure.TOPIC, lambda channels: channels.announce(TOPIC, {})),
    "listen": (Failure.TOPIC, listen),
    "post": (Failure.BOX, lambda channels: channels.post({BOX: [{}]})),
    "read": (Failure.BOX, lambda channels: channels.read({BOX: START}, limit=1)),
    "news": (Failure.BOX, hear_news),
    "remove": (Failure.BOX, lambda channels: channels.remove([BOX])),
    "clean": (Failure.BOX, lambda channels: channels.clean(1.0)),
    "check": (Failure.QUEUE, lambda channels: channels.check()),
}


def away(*_: object, **__: object) -> object:
    raise ChannelsUnavailable("away")


@pytest.mark.parametrize("verb", VERBS)
async def test_a_failure_is_counted_once_and_still_told(verb: str) -> None:
    inner = MemoryChannels(SystemClock())
    channels = CountedChannels(inner)
    failure, call = VERBS[verb]
    await call(channels)
    assert channels.failures == {}
    setattr(inner, verb, away)
    with pytest.raises(ChannelsUnavailable):
        await call(channels)
    assert channels.failures == {failure: 1}


def test_every_verb_passes_through() -> None:
    passed_on = set(vars(CountedChannels))
    assert {name for name in vars(Channels) if not name.startswith("_")} <= passed_on
    assert Channels.__abstractmethods__ - {"close"} == VERBS.keys()


async def test_a_full_box_and_what_can_never_work_are_no_fault_of_the_channels() -> None:
    channels = CountedChannels(MemoryChannels(SystemClock(), Limits(box=1)))
    with pytest.raises(BoxFull):
        await channels.post({BOX: [{}, {}]})
    with pytest.raises(Invalid):
        await channels.read({BOX: "nonsense"}, limit=1)
    assert channels.failures == {Failure.FULL: 1}


class Deaf(MemoryChannels):
    """Nobody can listen."""

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        raise ChannelsUnavailable(f"{len(topics)} topics cannot be heard.")
        yield

    async def announce(self, topic: str, message: Message) -> None:
        raise ChannelsUnavailable(f"{topic} does not take {message}.")


async def test_what_a_listener_meets_meanwhile_is_counted_as_what_it_is() -> None:
    channels = CountedChannels(Deaf(SystemClock()))
    with pytest.raises(ChannelsUnavailable):
        await listen(channels)
    with pytest.raises(ChannelsUnavailable):
        async with channels.news():
            await channels.announce(TOPIC, {})
    assert channels.failures == {Failure.TOPIC: 2}


async def test_what_was_given_up_is_passed_on() -> None:
    channels = CountedChannels(MemoryChannels(SystemClock()))
    await channels.send(Q, [{}, {}])
    await channels.take([Q], "c", limit=2, wait=0)
    assert await channels.give_back(Q, "c", to_dead_after=1) == 2
    assert (channels.buried, await channels.complaint()) == (2, None)
    await channels.close()
