"""The user of Redis that ``docs/security.md`` proposes: enough for the channels, and for nothing else (A77)."""

import re
from pathlib import Path

import pytest
import redis

from orth.channels.redis import RedisChannels
from orth.clock import SystemClock
from tests.conftest import StartServer
from tests.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
QUEUE, TOPIC, BOX = "orchestrix.job.dispatch.default", "orchestrix.job.cancel", "orchestrix.job.7.status"


@pytest.fixture
def url(start_server: StartServer) -> str:
    """A Redis that lets in only the user of the page."""
    server = start_server(RedisServer)
    found = re.search(r"`(ACL SETUSER [^`]+)`", PAGE.read_text())
    assert found is not None
    with redis.Redis.from_url(server.url()) as client:
        client.execute_command(*found[1].split())
        client.execute_command("ACL", "SETUSER", "default", "off")
    return server.url().replace("//", "//orth:password@")


async def test_it_is_enough_for_every_verb(url: str) -> None:
    channels = RedisChannels(url, SystemClock())
    try:
        await channels.check()
        async with channels.listen([TOPIC]) as heard, channels.news() as news:
            await channels.send(QUEUE, [{"n": 1}, {"n": 2}])
            (first, _) = (await channels.take([QUEUE], "one", limit=2, wait=1.0))[QUEUE]
            await channels.done(QUEUE, "one", [first.id])
            assert await channels.consumers(QUEUE) == {"one": 1}
            assert await channels.give_back(QUEUE, "one", to_dead_after=1) == 1
            await channels.waiting(QUEUE)
            await channels.dead_letters(QUEUE, 5)
            await channels.announce(TOPIC, {"cancel": 7})
            assert [one.message for one in await heard.next(5.0)] == [{"cancel": 7}]
            await channels.post({BOX: [{"seq": 1}]})
            assert [one.message for one in (await channels.read({BOX: ""}, limit=5))[BOX]] == [{"seq": 1}]
            assert await news.next(5.0)
            await channels.remove([BOX])
        await channels.clean(0.0)
        await channels.complaint()
    finally:
        await channels.close()


@pytest.mark.parametrize(
    "command",
    [
        "FLUSHALL",
        "CONFIG GET dir",
        "KEYS *",
        "SET other 1",
        "CLIENT LIST",
        "ACL LIST",
        "SHUTDOWN",
        "MODULE LIST",
    ],
)
def test_it_is_not_enough_for_anything_else(url: str, command: str) -> None:
    with redis.Redis.from_url(url) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())


def test_nobody_else_gets_in(url: str) -> None:
    stranger = url.replace("orth:password@", "")
    with redis.Redis.from_url(stranger) as client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()
