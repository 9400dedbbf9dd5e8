"""A served coordinator per test, and callers of each kind."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator.http.live import Caller, Site, prepared_database


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_database(tmp_path_factory.mktemp("prepared") / "orth.db")


@pytest.fixture
def site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A coordinator with an empty store."""
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db"))) as served:
        yield served


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.admin()


@pytest.fixture
def stranger(site: Site) -> Caller:
    return site.stranger()


@pytest.fixture
def executor(site: Site) -> Caller:
    return site.executor()
