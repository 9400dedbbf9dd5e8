"""Channels while Redis restarts, forgets everything, stands still, is full, or is tampered with."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import redis
import redis.asyncio

from orth.channels import redis_scripts as scripts
from orth.channels.interface import ChannelsUnavailable, Heard
from orth.channels.limits import Limits
from orth.channels.redis import RedisChannels
from orth.clock import SystemClock
from tests.conftest import StartServer
from tests.servers.redis import ForgetfulRedisServer, RedisServer

Q = "orchestrix.job.assigned"


@asynccontextmanager
async def opened(url: str, *, patience: float = 5.0, limits: Limits | None = None) -> AsyncIterator[RedisChannels]:
    channels = RedisChannels(url, SystemClock(), patience=patience, limits=limits)
    try:
        yield channels
    finally:
        await channels.close()


async def until(done: Callable[[], Awaitable[Any]], what: str, seconds: float = 20) -> Any:
    """Wait for a condition; what Redis cannot answer is not there yet."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                with suppress(ChannelsUnavailable, redis.RedisError):
                    if found := await done():
                        return found
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"waited {seconds} s for {what}")


def numbers(taken: dict[str, Any]) -> list[int]:
    return [delivery.message["n"] for deliveries in taken.values() for delivery in deliveries]


# --- restarts


async def test_what_was_sent_and_taken_survives_the_crash_of_a_server_with_persistence(
    start_server: StartServer,
) -> None:
    server = start_server(RedisServer)
    async with opened(server.url()) as channels:
        await channels.send(Q, [{"n": n} for n in range(4)])
        taken = await channels.take([Q], "one", limit=2, wait=0)
        await channels.post({"box": [{"n": 1}, {"n": 2}]})
        server.kill()
        with pytest.raises(ChannelsUnavailable):
            await channels.waiting(Q)
        server.start()
        assert await until(lambda: channels.waiting(Q), "the server to answer") == 2
        assert await channels.consumers(Q) == {"one": 2}
        await channels.done(Q, "one", [taken[Q][0].id])
        assert await channels.give_back(Q, "one") == 1
        assert numbers(await channels.take([Q], "two", limit=9, wait=0)) == [1, 2, 3]
        assert [entry.message["n"] for entry in (await channels.read({"box": ""}, limit=9))["box"]] == [1, 2]


async def test_after_a_restart_without_persistence_even_the_first_message_reaches_who_waited(
    start_server: StartServer,
) -> None:
    server = start_server(ForgetfulRedisServer)
    async with opened(server.url()) as producer, opened(server.url()) as consumer:
        assert await consumer.take([Q], "one", limit=9, wait=0) == {}
        server.kill()
        server.start()
        await until(lambda: _sent(producer, 1), "a message to be sent")  # the producer is there first: no group yet
        found = await until(lambda: consumer.take([Q], "one", limit=9, wait=1), "the message")
        assert numbers(found) == [1]


async def _sent(channels: RedisChannels, *values: int) -> bool:
    await channels.send(Q, [{"n": value} for value in values])
    return True


async def test_who_listens_hears_again_after_a_restart_and_knows_that_something_was_missed(
    start_server: StartServer,
) -> None:
    server = start_server(ForgetfulRedisServer)
    async with opened(server.url()) as channels, channels.listen(["topic"]) as ear, channels.news() as news:
        await channels.announce("topic", {"n": 1})
        assert await ear.next(5) == [Heard("topic", {"n": 1})]
        assert (ear.missed, news.missed) == (0, 0)
        server.kill()

        async def both_lost() -> bool:
            return not (ear.hears or news.hears)

        await until(both_lost, "both ears to know that they do not hear")
        server.start()

        async def both_know() -> bool:
            return ear.missed > 0 and news.missed > 0

        await until(both_know, "both ears to doubt")
        assert ear.hears
        assert news.hears
        assert await ear.next(0) == [], "who doubts is woken"
        await channels.announce("topic", {"n": 2})
        await channels.post({"box": [{"n": 3}]})
        assert await ear.next(5) == [Heard("topic", {"n": 2})]
        assert [heard.message for heard in await until(lambda: news.next(5), "news")] == [{"box": "box"}]


async def test_what_is_done_while_redis_is_away_is_said_when_it_is_back(start_server: StartServer) -> None:
    server = start_server(RedisServer)
    async with opened(server.url()) as channels:
        await channels.send(Q, [{"n": 1}, {"n": 2}])
        taken = await channels.take([Q], "one", limit=2, wait=0)
        server.halt()
        with pytest.raises(ChannelsUnavailable):
            await channels.done(Q, "one", [delivery.id for delivery in taken[Q]])
        server.start()
        await until(lambda: _took(channels, 0), "the server to answer")
        assert await channels.consumers(Q) == {}
        assert await channels.waiting(Q) == 0


async def _took(channels: RedisChannels, wait: float) -> bool:
    await channels.take([Q], "one", limit=1, wait=wait)
    return True


# --- forgetting


async def test_emptied_again_and_again_under_load_it_loses_nothing_that_is_sent_again_and_does_not_spin(
    start_server: StartServer,
) -> None:
    server = start_server(ForgetfulRedisServer)
    async with (
        opened(server.url()) as producer,
        opened(server.url()) as consumer,
        redis.asyncio.Redis.from_url(server.url()) as outsider,
    ):
        seen: set[int] = set()
        stopping = asyncio.Event()

        async def consume(name: str) -> None:
            while not stopping.is_set():
                taken = await consumer.take([Q, f"{Q}.other"], name, limit=10, wait=0.3)
                seen.update(numbers(taken))
                for queue, deliveries in taken.items():
                    await consumer.done(queue, name, [delivery.id for delivery in deliveries])

        async def produce() -> None:
            while len(seen) < 300:
                unanswered = [n for n in range(300) if n not in seen][:20]
                await producer.send(Q, [{"n": n} for n in unanswered])
                await asyncio.sleep(0.02)
            stopping.set()

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for name in ("one", "two", "three"):
                group.create_task(consume(name))
            group.create_task(produce())
            for _ in range(30):
                await outsider.flushall()
                await asyncio.sleep(0.03)
        assert seen == set(range(300))

        await outsider.config_resetstat()
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two", "three"):
                group.create_task(consumer.take([Q], name, limit=1, wait=1.5))
            for _ in range(30):  # with nobody who sends
                await outsider.delete(Q)
                await asyncio.sleep(0.05)
        calls = await outsider.info("commandstats")
        assert calls["cmdstat_xreadgroup"]["calls"] < 3 * 15 * 4, "at most a few tries for each tenth of a second"


async def test_a_foreign_trim_takes_messages_away_and_nothing_else(start_server: StartServer) -> None:
    server = start_server(RedisServer)
    async with opened(server.url()) as channels, redis.asyncio.Redis.from_url(server.url()) as outsider:
        await channels.send(Q, [{"n": n} for n in range(6)])
        await channels.take([Q], "one", limit=2, wait=0)
        await channels.take([Q], "two", limit=2, wait=0)
        await channels.give_back(Q, "one")
        await outsider.xtrim(Q, maxlen=1, approximate=False)
        assert await channels.waiting(Q) == 0, "never below nothing"
        await channels.give_back(Q, "two")
        assert numbers(await channels.take([Q], "three", limit=9, wait=0)) == [5]
        assert await channels.consumers(Q) == {"three": 1}
        assert await channels.waiting(Q) == 0


# --- standing still


async def test_a_server_that_stands_still_is_given_up_in_time_and_a_take_it_makes_later_is_not_lost(
    start_server: StartServer,
) -> None:
    server = start_server(RedisServer)
    async with opened(server.url(), patience=1) as channels, opened(server.url(), patience=1) as other:
        await other.send(Q, [{"n": n} for n in range(3)])
        await channels.take([Q], "one", limit=1, wait=0)  # connected, and something known to be in hand
        os.kill(server.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(12):
                with pytest.raises(ChannelsUnavailable):
                    await channels.take([Q], "one", limit=2, wait=0)
                with pytest.raises(ChannelsUnavailable):
                    await other.send(Q, [{"n": 9}])
        finally:
            os.kill(server.pid, signal.SIGCONT)

        async def carried_out() -> bool:
            return await other.consumers(Q) == {"one": 3}

        await until(carried_out, "the server to carry out what lay in its socket")
        again = await channels.take([Q], "one", limit=9, wait=1)
        assert numbers(again)[:2] == [1, 2], "what it had without knowing, and not what it knew of"
        assert again[Q][0].deliveries == 1, "nobody has seen it before"


async def test_a_cancelled_take_leaves_nothing_in_unknowing_hands(redis_url: str) -> None:
    async with opened(redis_url) as channels, opened(redis_url) as producer:
        got: list[int] = []
        for n in range(60):
            waiting = asyncio.create_task(channels.take([Q], "one", limit=5, wait=5))
            await asyncio.sleep(0.002 * (n % 5))
            sending = asyncio.create_task(producer.send(Q, [{"n": n}]))
            await asyncio.sleep(0.0005 * (n % 7))
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                got += numbers(await waiting)
            await sending
        while taken := await channels.take([Q], "one", limit=100, wait=0.2):
            got += numbers(taken)
        assert sorted(got) == list(range(60))


# --- slow, full, evicting


async def test_who_hears_slowly_keeps_the_newest_and_knows_how_many_it_missed(redis_url: str) -> None:
    async with opened(redis_url, limits=Limits(ear=50)) as channels, channels.listen(["topic"]) as ear:
        for n in range(120):
            await channels.announce("topic", {"n": n})

        async def all_came() -> bool:
            return ear.missed == 70

        await until(all_came, "the oldest to be dropped")
        assert [heard.message["n"] for heard in await ear.next(1)] == list(range(70, 120))


async def test_a_slow_consumer_fills_its_queue_and_what_does_not_fit_is_refused_whole(redis_url: str) -> None:
    async with opened(redis_url, limits=Limits(queue=10, box=3)) as channels:
        await channels.send(Q, [{"n": n} for n in range(8)])
        taken = await channels.take([Q], "slow", limit=5, wait=0)
        with pytest.raises(ChannelsUnavailable, match="full"):
            await channels.send(Q, [{"n": n} for n in range(8, 11)])
        assert await channels.waiting(Q) == 3
        await channels.done(Q, "slow", [taken[Q][0].id])
        await channels.send(Q, [{"n": n} for n in range(8, 11)])
        with pytest.raises(ChannelsUnavailable, match="narrow is full"):
            await channels.post({"narrow": [{"n": n} for n in range(4)], "wide": [{"n": 1}]})
        assert set(await channels.read({"narrow": "", "wide": ""}, limit=9)) == {"wide"}, "one does not stop the others"


async def test_out_of_memory_it_refuses_what_is_new_and_lets_out_what_it_has(start_server: StartServer) -> None:
    server = start_server(RedisServer)
    async with opened(server.url()) as channels, redis.asyncio.Redis.from_url(server.url()) as outsider:
        await channels.send(Q, [{"n": n, "text": "x" * 1000} for n in range(100)])
        first = await channels.take([Q], "one", limit=1, wait=0)
        await outsider.config_set("maxmemory", 1)
        with pytest.raises(ChannelsUnavailable, match="maxmemory"):
            await channels.send(Q, [{"n": 1}, {"n": 2}])
        with pytest.raises(ChannelsUnavailable, match="maxmemory"):
            await channels.post({"box": [{"n": 1}]})
        await channels.done(Q, "one", [first[Q][0].id])
        rest = await channels.take([Q], "one", limit=200, wait=0)
        assert numbers(rest) == list(range(1, 100)), "all or none: nothing of what was refused"
        assert await channels.give_back(Q, "one") == 99
        await outsider.config_set("maxmemory", 0)
        await channels.send(Q, [{"n": 100}])
        assert await channels.waiting(Q) == 100


async def test_a_server_that_evicts_is_complained_about(start_server: StartServer) -> None:
    server = start_server(RedisServer)
    async with opened(server.url()) as channels, redis.asyncio.Redis.from_url(server.url()) as outsider:
        assert await channels.complaint() is None
        await outsider.config_set("maxmemory-policy", "volatile-lru")  # what has no end of life is safe from it
        assert await channels.complaint() is None
        await outsider.config_set("maxmemory-policy", "allkeys-lru")
        complaint = await channels.complaint()
        assert complaint is not None
        assert "allkeys-lru" in complaint
        assert "noeviction" in complaint
        await channels.check()  # it answers


async def test_who_listens_can_leave_while_redis_is_away(start_server: StartServer) -> None:
    server = start_server(RedisServer)
    for moment in range(8):
        async with (
            opened(server.url()) as channels,
            asyncio.timeout(10),
            channels.listen(["topic"]),
            channels.news(),
        ):
            server.kill()
            await asyncio.sleep(0.05 * moment)
        server.start()


# --- foreign hands, neighbours, cleaning


async def test_what_nobody_can_read_goes_to_the_dead_letters_and_the_rest_goes_on(redis_url: str) -> None:
    async with opened(redis_url) as channels, redis.asyncio.Redis.from_url(redis_url) as outsider:
        await outsider.xadd(Q, {"data": "{broken"})
        await outsider.xadd(Q, {"data": b"\xff\xfe"})
        await outsider.xadd(Q, {"other": "[1]"})
        await channels.send(Q, [{"n": 1}])
        assert numbers(await channels.take([Q], "one", limit=9, wait=0)) == [1]
        assert await channels.consumers(Q) == {"one": 1}
        letters = await channels.dead_letters(Q, 10)
        assert [letter["unreadable"] for letter in letters] == ["[1]", "\ufffd\ufffd", "{broken"]
        async with channels.listen(["topic"]) as ear, channels.news() as news:
            for spoilt in ("{broken", "7", "[]"):
                await outsider.publish(f"topic@{redis_url.rpartition('/')[2]}", spoilt)
                await outsider.publish(f"orchestrix.news@{redis_url.rpartition('/')[2]}", spoilt)
            await channels.announce("topic", {"n": 1})
            await channels.post({"box": [{"n": 1}]})
            assert [heard.message for heard in await until(lambda: ear.next(5), "the topic")] == [{"n": 1}]
            assert [heard.message for heard in await until(lambda: news.next(5), "the news")] == [{"box": "box"}]


async def test_two_databases_of_one_server_do_not_hear_each_other(redis_server: RedisServer) -> None:
    async with (
        opened(redis_server.create_database()) as here,
        opened(redis_server.create_database()) as there,
        here.listen(["topic"]) as ear,
    ):
        await there.announce("topic", {"n": 1})
        await here.announce("topic", {"n": 2})
        assert await ear.next(5) == [Heard("topic", {"n": 2})]


async def test_cleaning_forgets_consumers_that_are_gone_and_never_one_that_holds_something(redis_url: str) -> None:
    async with opened(redis_url) as channels, redis.asyncio.Redis.from_url(redis_url) as outsider:
        await channels.send(Q, [{"n": 1}, {"n": 2}])
        await channels.take([Q], "holder", limit=1, wait=0)
        taken = await channels.take([Q], "idle", limit=1, wait=0)
        await channels.done(Q, "idle", [taken[Q][0].id])
        await channels.clean(3600)
        assert {one["name"] for one in await outsider.xinfo_consumers(Q, "takers")} == {b"holder", b"idle"}
        await channels.clean(0)
        assert {one["name"] for one in await outsider.xinfo_consumers(Q, "takers")} == {b"holder"}
        assert await channels.consumers(Q) == {"holder": 1}


async def test_no_consumer_goes_with_what_it_has(redis_url: str) -> None:
    async with opened(redis_url) as channels:
        await channels.send(Q, [{"n": 1}, {"n": 2}])
        await channels.take([Q], "one", limit=2, wait=0)
        assert await channels.give_back(Q, "one") == 2
        arguments = (scripts.BACK, 5, 500, 10)
        assert await channels._run(scripts.GIVE_BACK, [Q, Q + scripts.DEAD], arguments) == [2, 0]
        assert numbers(await channels.take([Q], "two", limit=9, wait=0)) == [1, 2]


async def test_redis_that_is_not_there_is_described_in_our_words(free_port: int) -> None:
    async with opened(f"redis://127.0.0.1:{free_port}/0") as channels:
        with pytest.raises(ChannelsUnavailable) as reached:
            await channels.send("q", [{"n": 1}])
        with pytest.raises(ChannelsUnavailable) as heard:
            async with channels.listen(["t"]):
                pass
    for refused, what in ((reached, "reached"), (heard, "listened to")):
        assert str(refused.value) == f"Redis cannot be {what}: 127.0.0.1:{free_port} refused the connection"
