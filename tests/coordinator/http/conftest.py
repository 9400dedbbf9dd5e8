"""A served coordinator with an empty store for each test, and callers of each kind."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator.http.live import Caller, Site, prepared_database
from tests.coordinator.http.rights_site import RightsSite


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_database(tmp_path_factory.mktemp("prepared") / "orth.db")


@pytest.fixture(scope="session")
def served(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(Path(shutil.copy(prepared, tmp_path_factory.mktemp("served") / "orth.db"))) as site:
        yield site


@pytest.fixture
def site(served: Site) -> Site:
    """A coordinator with an empty store, shared in turn."""
    served.reset()
    return served


@pytest.fixture
def own_site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A coordinator for this test alone, to be broken."""
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db"))) as site:
        yield site


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.admin()


@pytest.fixture
def stranger(site: Site) -> Caller:
    return site.stranger()


@pytest.fixture
def executor(site: Site) -> Caller:
    return site.executor()


@pytest.fixture(scope="module")
def with_rights(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RightsSite]:
    with Site(Path(shutil.copy(prepared, tmp_path_factory.mktemp("rights") / "orth.db"))) as site:
        yield RightsSite(site)


@pytest.fixture
def rights(with_rights: RightsSite) -> Iterator[RightsSite]:
    """Two groups with one of everything, and people of every role; put back as it was afterwards."""
    yield with_rights
    with_rights.restore()
