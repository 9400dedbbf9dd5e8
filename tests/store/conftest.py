"""A database of each kind with the schema in it, emptied before every test.

Migrating takes a third of a second and emptying a hundredth, so the schema is made once per kind and process. Tests
that need a database without a schema take ``store_url``.
"""

from collections.abc import Iterator

import pytest

from orth.store.database import Database, open_database
from orth.store.engines import open_engine, read_url
from orth.store.migrating import upgrade
from orth.store.tables import metadata
from tests.store.builders import KINDS


@pytest.fixture(scope="session", params=KINDS)
def schema_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that has the schema; a test that takes it runs once per kind."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/orth.db"
    else:
        server = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}[request.param]
        url = request.getfixturevalue(server).create_database()
    upgrade(url)
    return url


@pytest.fixture
def empty_url(schema_url: str) -> str:
    """The same, with no row in any table."""
    engine = open_engine(read_url(schema_url), size=1, patience=10.0)
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    engine.dispose()
    return schema_url


@pytest.fixture
def db(empty_url: str) -> Iterator[Database]:
    """An open store without rows."""
    with open_database(empty_url, size=4) as database:
        yield database


@pytest.fixture
def peer(empty_url: str) -> Iterator[Database]:
    """The same store as another node has it open."""
    with open_database(empty_url, size=4) as database:
        yield database
