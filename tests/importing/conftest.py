"""A store to import into, and installations to import from."""

from collections.abc import Callable, Iterator

import pytest

from orth.testing.stores import prepare_store
from tests.importing.installations import Installation
from tests.servers.mariadb import MariaDBServer

Install = Callable[[str], Installation]


@pytest.fixture
def install(mariadb_server: MariaDBServer) -> Iterator[Install]:
    """``install("3.4")``: an empty xxl-job of that version."""
    made: list[Installation] = []

    def install(version: str) -> Installation:
        made.append(Installation(mariadb_server.create_database(), version))
        return made[-1]

    yield install
    for one in made:
        one.close()
        mariadb_server.drop_database(one.url)


@pytest.fixture
def store(store_url: str) -> str:
    """An empty Orth store of each kind."""
    prepare_store(store_url)
    return store_url


@pytest.fixture
def sqlite_store(sqlite_url: str) -> str:
    """An empty Orth store, where its kind does not matter."""
    prepare_store(sqlite_url)
    return sqlite_url
