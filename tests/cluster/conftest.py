"""A SQLite database with the schema, and coordinators around it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.store.database import Database, open_database
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from tests.cluster.ownership_site import Site


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url, size=2) as database:
        yield database


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def site(db: Database, clock: ManualClock) -> Site:
    """Turned by hand."""
    return Site(db, clock)


@pytest.fixture
def live_site(db: Database) -> Site:
    """In real time."""
    return Site(db, SystemClock(), wait=0.1)
