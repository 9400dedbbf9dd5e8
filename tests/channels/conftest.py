"""The channels of each backend, as one node or several see them.

``site`` is an empty backend of each kind; ``site.node()`` is what one process has of it. Within one process that is all
the same, so nodes of ``memory`` are one.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest

from orth.channels.interface import Channels
from orth.channels.limits import Limits
from orth.channels.opening import open_channels
from orth.clock import SystemClock
from orth.events import Events
from orth.store.database import Database, open_database
from orth.testing.stores import prepare_store
from tests.emptying import empty

KINDS = ("memory", "sqlite", "postgresql", "mariadb", "redis")
ON_DATABASES = ("sqlite", "postgresql", "mariadb")


class Site:
    """A backend, and the nodes that share it."""

    def __init__(self, kind: str, url: str, store_url: str | None) -> None:
        self.kind = kind
        self.url = url
        self.store_url = store_url or "sqlite:////nowhere/orth.db"
        self._open: list[Channels] = []
        self._stores = ExitStack()

    def node(self, limits: Limits | None = None) -> Channels:
        """The channels as another process has them."""
        if self.kind == "memory" and self._open:
            assert limits is None
            return self._open[0]
        channels = open_channels(self.url, self.store(), SystemClock(), Events(), limits=limits)
        self._open.append(channels)
        return channels

    def store(self) -> Database:
        """The database as another process has it; one that nobody asks where there is none."""
        return self._stores.enter_context(open_database(self.store_url, size=4))

    async def close(self) -> None:
        for channels in self._open:
            await channels.close()
        self._stores.close()


@pytest.fixture(scope="session", params=KINDS)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str | None]:
    """A kind of backend and, where it is a database, the address of one with the schema in it."""
    kind = request.param
    if kind not in ON_DATABASES:
        return kind, None
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('channels')}/orth.db"
    else:
        server = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}[kind]
        url = request.getfixturevalue(server).create_database()
    prepare_store(url)
    return kind, url


@pytest.fixture
async def site(backend: tuple[str, str | None], request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    kind, store_url = backend
    if store_url is not None:
        with open_database(store_url, size=1) as db, db.engine.begin() as connection:
            empty(connection)
    url = {"memory": "memory://", "redis": ""}.get(kind, "database://") or request.getfixturevalue("redis_url")
    site = Site(kind, url, store_url)
    yield site
    await site.close()


@pytest.fixture
def channels(site: Site) -> Channels:
    """The channels of one node."""
    return site.node()


@pytest.fixture
def other(channels: Channels, site: Site) -> Channels:
    """The same channels as another node has them."""
    return site.node()
