"""``orth secret`` against a served coordinator, and ``orth db reseal``."""

import secrets
from pathlib import Path

import pytest

from orth.coordinator.sealing import Sealing
from orth.errors import Invalid
from orth.store.database import open_database
from orth.store.secrets import SealedSecret, find_secret, put_secret
from tests.cli.conftest import Run
from tests.cli.running import orth as run_orth
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site

CANARY = "canary-of-this-test"


class Orth(SignedIn):
    command = "secret"

    def typed(self, text: str, *arguments: str) -> str:
        result = self._run(self.command, *arguments, typed=text, **self.environ)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_a_secret_is_read_from_standard_input_listed_and_deleted(orth: Orth) -> None:
    group = orth.site.group("demo")
    assert orth.typed(f"{CANARY}\n", "set", "DB_PASSWORD", "--group", str(group)) == "DB_PASSWORD has version 1.\n"
    assert orth.typed(CANARY, "set", "DB_PASSWORD", "--group", str(group)) == "DB_PASSWORD has version 2.\n"
    orth.typed(CANARY, "set", "SHARED")
    head, *rows = orth("list").splitlines()
    assert head.split() == ["NAME", "GROUP", "VERSION", "UPDATED", "BY"]
    assert [row.split()[:3] for row in rows] == [["DB_PASSWORD", str(group), "2"], ["SHARED", "all", "1"]]
    stored = orth.site.tx(find_secret, group, "DB_PASSWORD")
    assert stored is not None
    assert orth.site.app.state.tools.sealing.open(stored.sealed, stored.context) == CANARY.encode()
    assert CANARY not in orth("list", "-o", "json")
    orth("delete", "DB_PASSWORD", "--group", str(group))
    assert len(orth("list").splitlines()) == 2


@pytest.mark.parametrize(("typed", "says"), [("", "The value is empty"), ("abc\n", "The value is too short")])
def test_a_value_that_is_none_is_refused_in_words(orth: Orth, run: Run, typed: str, says: str) -> None:
    refused = run("secret", "set", "DB_PASSWORD", typed=typed, **orth.environ).exception
    assert isinstance(refused, Invalid)
    assert f"{says}: a secret has at least 4 characters." in str(refused)
    assert len(orth("list").splitlines()) == 1


def test_everything_is_sealed_with_the_newest_key(tmp_path: Path) -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    assert run_orth("db", "upgrade", cwd=tmp_path).returncode == 0
    url = f"sqlite:///{tmp_path}/.orth/orth.db"
    secret = SealedSecret(1, "NAME", "")
    with open_database(url) as db, db.engine.begin() as connection:
        put_secret(connection, SealedSecret(1, "NAME", Sealing(old).seal(b"value", secret.context)))
    keys = f"{new.hex()},{old.hex()}"
    told = run_orth("db", "reseal", cwd=tmp_path, ORTH_SECURITY__MASTER_KEY=keys)
    assert told.stdout == f"1 values were sealed anew, with the key {Sealing(new).newest}.\n", told
    with open_database(url) as db, db.engine.begin() as connection:
        stored = find_secret(connection, 1, "NAME")
    assert stored is not None
    assert Sealing(new).open(stored.sealed, stored.context) == b"value"
    lost = run_orth("db", "reseal", cwd=tmp_path, ORTH_SECURITY__MASTER_KEY=secrets.token_hex(32))
    assert lost.returncode == 1
    assert "which this node does not have" in lost.stderr
