"""From an address to channels."""

import pytest

from orth.channels.database import DatabaseChannels
from orth.channels.interface import Channels
from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.channels.names import Names
from orth.channels.opening import open_channels
from orth.channels.redis import RedisChannels
from orth.clock import SystemClock
from orth.errors import CannotStart
from orth.events import Events
from orth.store.database import open_database


def opened(url: str, sqlite_url: str) -> Channels:
    with open_database(sqlite_url) as db:
        return open_channels(url, db, SystemClock(), Events())


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryChannels),
        ("database://", DatabaseChannels),
        ("redis://127.0.0.1:1/0", RedisChannels),
        ("rediss://127.0.0.1:1/0", RedisChannels),
    ],
)
def test_the_scheme_says_what_they_are_made_of(url: str, kind: type[Channels], sqlite_url: str) -> None:
    assert type(opened(url, sqlite_url)) is kind


@pytest.mark.parametrize("url", ["kafka://host", "", "redis://:secret@host:nonsense/0"])
def test_other_addresses_are_refused_without_telling_secrets(url: str, sqlite_url: str) -> None:
    with pytest.raises(CannotStart, match=r"channels\.url") as refusal:
        opened(url, sqlite_url)
    assert "secret" not in str(refusal.value)


async def test_clusters_with_different_prefixes_share_a_redis(redis_url: str, sqlite_url: str) -> None:
    with open_database(sqlite_url) as db:
        one, two = (
            open_channels(redis_url, db, SystemClock(), Events(), prefix=prefix, limits=Limits(queue=2))
            for prefix in ("one", "two")
        )
        try:
            async with one.news() as ear:
                await two.post({Names("two").status(1, 1): [{"n": 1}]})
                await two.send(Names("two").assigned, [{"n": 1}])
                assert await one.waiting(Names("one").assigned) == 0
                await one.post({Names("one").status(1, 1): [{"n": 1}]})
                assert [heard.topic for heard in await ear.next(10.0)] == [Names("one").status(1, 1)]
        finally:
            await one.close()
            await two.close()
