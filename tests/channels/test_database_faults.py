"""Channels through a database that goes away, loses answers, or holds what no program of ours wrote."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

from orth.channels.database import DatabaseChannels
from orth.channels.interface import START, Channels, ChannelsUnavailable, Listening
from orth.channels.limits import Limits
from orth.clock import SystemClock
from orth.errors import Invalid, StoreUnavailable
from orth.events import Events
from orth.store import channel_messages
from orth.store.channel_tables import announcements, box_entries, queue_messages
from orth.store.database import Database, open_database
from orth.store.migrating import upgrade
from tests.channels.conftest import ON_DATABASES, Site
from tests.conftest import StartServer
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.server import Server

Q, BOX, TOPIC = "orchestrix.job.assigned", "orchestrix.job.1.status.1", "orchestrix.job.cancel"

on_databases = pytest.mark.parametrize("backend", ON_DATABASES, indirect=True)
on_postgres = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Channels]:
    with open_database(url, size=4, patience=4.0) as db:
        channels = DatabaseChannels(db, SystemClock(), Events(), Limits())
        try:
            yield channels
        finally:
            await channels.close()


async def hear(ear: Listening, wanted: Callable[[Any], bool]) -> None:
    async with asyncio.timeout(60):
        while not any(wanted(one.message) for one in await ear.next(5.0)):
            pass


async def insist(call: Callable[[], Any]) -> Any:
    """What everybody does who uses channels: try again."""
    async with asyncio.timeout(60):
        while True:
            with suppress(ChannelsUnavailable):
                return await call()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", [PostgresServer, MariaDBServer], ids=lambda kind: kind.name)
async def test_a_server_that_is_killed_and_comes_back(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind, durable=True)
    url = server.create_database()
    upgrade(url)
    async with opened(url) as one, opened(url) as two, two.listen([TOPIC]) as ear, two.news() as news:
        await one.send(Q, [{"n": 1}, {"n": 2}])
        await one.post({BOX: [{"n": 1}]})
        await one.take([Q], "c", limit=1, wait=0.0)
        waiting = asyncio.create_task(two.take(["orchestrix.job.handoff"], "d", limit=1, wait=120.0))
        await asyncio.to_thread(server.kill)
        for call in (
            lambda: one.send(Q, [{"n": 3}]),
            lambda: one.take([Q], "c", limit=1, wait=0.0),
            lambda: one.post({BOX: [{"n": 3}]}),
            lambda: one.read({BOX: START}, limit=10),
            lambda: one.announce(TOPIC, {"n": 3}),
            lambda: one.check(),
        ):
            async with asyncio.timeout(20):
                with pytest.raises(ChannelsUnavailable):
                    await call()
        async with asyncio.timeout(20):
            with pytest.raises(ChannelsUnavailable):
                await waiting
        await asyncio.to_thread(server.start)
        await insist(one.check)

        taken = await insist(lambda: two.take([Q], "d", limit=10, wait=0.0))
        assert [delivery.message for delivery in taken[Q]] == [{"n": 2}]
        assert await one.consumers(Q) == {"c": 1, "d": 1}
        assert [entry.message for entry in (await two.read({BOX: START}, limit=10))[BOX]] == [{"n": 1}]
        while not ear.missed:
            await ear.next(1.0)
        assert news.missed  # whoever listens knows that he may not have heard everything
        speaking = asyncio.create_task(keep_saying(one))
        await hear(ear, lambda message: message.get("n") == 4)
        await hear(news, lambda message: message == {"box": BOX})
        speaking.cancel()


async def keep_saying(channels: Channels) -> None:
    while True:
        await channels.announce(TOPIC, {"n": 4})
        await channels.post({BOX: [{"n": 4}]})
        await asyncio.sleep(0.2)


async def test_nobody_at_the_address(free_port: int) -> None:
    async with opened(f"postgresql://orth@127.0.0.1:{free_port}/orth") as channels:
        with pytest.raises(ChannelsUnavailable):
            await channels.take([Q], "c", limit=1, wait=10.0)
        with pytest.raises(ChannelsUnavailable):
            async with channels.listen([TOPIC]):
                pass


@on_postgres
async def test_a_connection_that_is_cut_is_made_again(site: Site) -> None:
    one, two = site.node(), site.node()
    db = site.store()
    async with two.listen([TOPIC]) as ear:
        assert await db.tx(end_listeners) == 1
        while not ear.missed:
            await ear.next(1.0)
        speaking = asyncio.create_task(keep_saying(one))
        await hear(ear, lambda message: message == {"n": 4})
        speaking.cancel()


def end_listeners(connection: Connection) -> int:
    ended = text(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    )
    return connection.execute(ended).scalar_one()


class LosesAnswers(Database):
    """Commits what is taken and then does not say so, as a server does that is cut off in that moment."""

    lose = False

    async def tx(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        answer = await super().tx(fn, *args, **kwargs)
        if self.lose and fn is channel_messages.take_messages:
            self.lose = False
            raise StoreUnavailable("The connection was lost.")
        return answer


@on_databases
async def test_what_was_taken_without_an_answer_waits_again(site: Site) -> None:
    other = site.node()
    await other.send(Q, [{"n": 1}, {"n": 2}])
    db = LosesAnswers(site.store_url, size=2, patience=8.0)
    channels = DatabaseChannels(db, SystemClock(), Events(), Limits())
    assert len((await channels.take([Q], "c", limit=1, wait=0.0))[Q]) == 1
    db.lose = True
    with pytest.raises(ChannelsUnavailable):
        await channels.take([Q], "c", limit=1, wait=0.0)
    assert await other.consumers(Q) == {"c": 2}
    [again] = (await channels.take([Q], "c", limit=10, wait=0.0))[Q]
    assert (again.message, again.deliveries) == ({"n": 2}, 1)
    await channels.close()
    db.close()


@on_databases
async def test_what_somebody_said_who_left_meanwhile_is_heard_here_too(site: Site) -> None:
    """A request may be broken off after its change is on the way: then nobody but us can tell this process of it."""
    channels = site.node()
    async with channels.news() as news, channels.listen([TOPIC]) as ear:
        waiting = asyncio.create_task(channels.take([Q], "c", limit=1, wait=60.0))
        await asyncio.sleep(0.1)
        calls = (channels.post({BOX: [{"n": 1}]}), channels.announce(TOPIC, {"n": 1}), channels.send(Q, [{"n": 1}]))
        leaving = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for one in leaving:
            assert one.cancel()
        await asyncio.wait(leaving)
        await hear(news, lambda message: message == {"box": BOX})
        await hear(ear, lambda message: message == {"n": 1})
    waiting.cancel()


@on_databases
async def test_what_nobody_can_read_is_put_aside(site: Site) -> None:
    channels = site.node()
    rows = [
        {"queue": Q, "consumer": None, "deliveries": 0, "payload": payload}
        for payload in ("not json", "[1]", '{"n": 1}', '"text"')
    ]
    await site.store().tx(lambda connection: connection.execute(insert(queue_messages), rows) and None)
    [readable] = (await channels.take([Q], "c", limit=10, wait=0.0))[Q]
    assert readable.message == {"n": 1}
    assert [letter["unreadable"] for letter in await channels.dead_letters(Q, 10)] == ['"text"', "[1]", "not json"]
    assert await channels.consumers(Q) == {"c": 1}


@on_databases
async def test_what_a_stranger_may_send_is_refused_before_the_database_sees_it(site: Site) -> None:
    channels = site.node()
    await channels.send(Q, [{"n": 1}])
    await channels.post({BOX: [{"n": 1}]})
    for name in ("", "x" * 256, "a\x00b", "a\ud800", " a", "a\n"):
        for call in (
            channels.send(name, [{}]),
            channels.take([Q, name], "c", limit=1, wait=0.0),
            channels.take([Q], name, limit=1, wait=0.0),
            channels.done(Q, name, ["1"]),
            channels.give_back(name, "c"),
            channels.announce(name, {}),
            channels.post({name: [{}]}),
            channels.read({name: START}, limit=1),
            channels.remove([BOX, name]),
        ):
            with pytest.raises(Invalid):
                await call
    for position in ("x", "-1", "1.5", "9" * 30, "٣"):
        with pytest.raises(Invalid):
            await channels.read({BOX: position}, limit=1)
    await channels.done(Q, "c", ["x", "-1", "9" * 30, "٣", ""])
    assert await channels.waiting(Q) == 1
    [message] = (await channels.take([Q], "c" * 255, limit=1, wait=0.0))[Q]
    assert message.deliveries == 1


@on_databases
async def test_only_what_cannot_be_read_comes_and_the_wait_goes_on(site: Site) -> None:
    channels = site.node()
    row = {"queue": Q, "consumer": None, "deliveries": 0, "payload": "{"}
    await site.store().tx(lambda connection: connection.execute(insert(queue_messages), [row]) and None)
    waiting = asyncio.create_task(channels.take([Q], "c", limit=1, wait=30.0))
    async with asyncio.timeout(20):
        while not await channels.dead_letters(Q, 1):
            assert not waiting.done()
            await asyncio.sleep(0.02)
        await channels.send(Q, [{"n": 1}])
        assert [one.message for one in (await waiting)[Q]] == [{"n": 1}]


@on_databases
async def test_an_entry_that_cannot_be_read_does_not_hide_those_behind_it(site: Site) -> None:
    channels = site.node()
    await channels.post({BOX: [{"n": 1}, {"n": 2}, {"n": 3}]})
    await site.store().tx(spoil_second)
    entries = (await channels.read({BOX: START}, limit=10))[BOX]
    assert [entry.message for entry in entries] == [{"n": 1}, {"unreadable": "{"}, {"n": 3}]


def spoil_second(connection: Connection) -> None:
    second = box_entries.select().order_by(box_entries.c.position).offset(1).limit(1)
    position = connection.execute(second).one().position
    connection.execute(box_entries.update().where(box_entries.c.position == position).values(payload="{"))


@on_databases
async def test_words_of_strangers_are_not_listened_to(site: Site) -> None:
    channels, other = site.node(), site.node()
    async with channels.listen([TOPIC]) as ear, channels.news() as news:
        await site.store().tx(say_nonsense)
        await other.announce(TOPIC, {"n": 1})
        await hear(ear, lambda message: message == {"n": 1})
        assert (ear.missed, list(await news.next(0.0))) == (0, [])


def say_nonsense(connection: Connection) -> None:
    nonsense = ["", "{", "[]", '{"topic": 1}', '{"queues": {"a": "b"}}', '{"boxes": "x"}', '{"boxes": [1, null]}']
    for payload in nonsense:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_notify('orth_channels', :said)"), {"said": payload})
            connection.execute(text("SELECT pg_notify('orth_channels', :said)"), {"said": f"x 1 1 {payload}"})
        else:
            connection.execute(insert(announcements).values(origin="x", payload=payload))
