"""A served coordinator with an empty store for each test, and callers of each kind."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.coordinator import signing
from orth.coordinator.signing import hash_of_nothing, hash_password
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.users import set_password
from tests.coordinator.http.live import PASSWORD, QUICK, Caller, Site, prepared_database
from tests.coordinator.http.rights_site import RightsSite

_REAL = (signing._hasher, signing._NOBODY)
with pytest.MonkeyPatch.context() as _patch:
    _patch.setattr(signing, "_hasher", QUICK)
    _QUICK_NOBODY = hash_of_nothing()


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of passwords are true and cheap: who tests what they cost takes ``costly_passwords``."""
    monkeypatch.setattr(signing, "_hasher", QUICK)
    monkeypatch.setattr(signing, "_NOBODY", _QUICK_NOBODY)


@pytest.fixture
def costly_passwords(quick_passwords: None, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes as they are made elsewhere, the administrator's among them."""
    for name, value in zip(("_hasher", "_NOBODY"), _REAL, strict=True):
        monkeypatch.setattr(signing, name, value)
    site.tx(set_password, "admin", hash_password(PASSWORD), site.clock.now())


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
def strict(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A coordinator that takes few requests of one caller."""
    security = SecuritySection(rate=10, rate_burst=40, stranger_burst=1_000)
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), Settings(security=security)) as site:
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
