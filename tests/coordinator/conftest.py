"""A database of each kind with the schema in it, for what must hold on all of them."""

import pytest

from orth.testing.stores import prepare_store
from tests.store.builders import KINDS


@pytest.fixture(scope="session", params=KINDS)
def race_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Shared by the tests that take it: each works with rows of its own."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('race')}/orth.db"
    else:
        server = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}[request.param]
        url = request.getfixturevalue(server).create_database()
    prepare_store(url)
    return url
