"""A database of each kind with the schema in it, emptied before every test.

Migrating takes a third of a second and emptying a hundredth, so the schema is made once per kind and process. Tests
that need a database without a schema take ``store_url``.
"""

from collections.abc import Iterator

import pytest

from orth.store.database import Database, open_database
from orth.testing.stores import prepare_store
from tests.emptying import empty
from tests.store.builders import KINDS


@pytest.fixture(scope="session", params=KINDS)
def schema_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that has the schema; a test that takes it runs once per kind."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/orth.db"
    else:
        server = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}[request.param]
        url = request.getfixturevalue(server).create_database()
    prepare_store(url)
    return url


@pytest.fixture(scope="session")
def nodes(schema_url: str) -> Iterator[tuple[Database, Database]]:
    with open_database(schema_url, size=4) as one, open_database(schema_url, size=4) as other:
        yield one, other


@pytest.fixture
def db(nodes: tuple[Database, Database]) -> Database:
    """An open store without rows."""
    with nodes[0].engine.begin() as connection:
        empty(connection)
    return nodes[0]


@pytest.fixture
def peer(db: Database, nodes: tuple[Database, Database]) -> Database:
    """The same store as another node has it open."""
    return nodes[1]


@pytest.fixture
def empty_url(db: Database, schema_url: str) -> str:
    """The address of the same store, for tests that open it in their own way."""
    return schema_url
