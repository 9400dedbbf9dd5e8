"""``orth audit``: listed and exported through a served coordinator, verified in the database."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.audit_chain import read_head
from orth.store.audit import purge, record
from orth.store.database import open_database
from orth.store.migrating import upgrade
from tests.cli.conftest import Run
from tests.cli.running import orth as run_orth
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site

DAY = 86_400_000
LATER = 1_750_000_001_000
"""After all that ``write`` writes."""


class Orth(SignedIn):
    command = "audit"


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def write(file: Path, count: int) -> None:
    url = f"sqlite:///{file}"
    upgrade(url)
    with open_database(url) as db, db.engine.begin() as connection:
        for number in range(count):
            deed = Deed("job.update", "job", str(number), 2, {"n": 0}, {"n": 1})
            record(connection, Actor(ActorKind.USER, "ann", "10.0.0.1"), deed, 1_750_000_000_000 + number)


def test_what_was_done_is_listed_and_exported(orth: Orth) -> None:
    group = orth.site.group("demo")
    head, row = orth("list", "--object", "group").splitlines()
    assert head.split() == ["ENTRY", "AT", "ACTOR", "FROM", "ACTION", "OBJECT", "CHANGED"]
    assert row.split()[2:6] == ["admin", "127.0.0.1", "group.create", f"group:{group}"]
    assert json.loads(orth("list", "--action", "group.create", "-o", "json"))[0]["after"]["app_name"] == "demo"
    lines = [json.loads(line) for line in orth("export", "--object", "group").splitlines()]
    assert [one["action"] for one in lines] == ["group.create"]
    [row_of_table] = csv.DictReader(io.StringIO(orth("export", "--object", "group", "--format", "csv")))
    assert row_of_table["action"] == "group.create"


def test_a_whole_record_is_told_with_its_head(tmp_path: Path) -> None:
    write(tmp_path / "orth.db", 3)
    told = run_orth("audit", "verify", "--store", "sqlite:///orth.db", cwd=tmp_path)
    assert told.returncode == 0, told
    first, head = told.stdout.splitlines()
    assert first == "The audit is whole: 3 entries."
    kept = read_head(head.removeprefix("Head: "))
    assert kept is not None
    assert kept.seq == 3
    write(tmp_path / "orth.db", 2)
    again = run_orth("audit", "verify", "--store", "sqlite:///orth.db", "--expect", str(kept), cwd=tmp_path)
    assert again.stdout.startswith("The audit is whole: 5 entries.")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE orth_audit SET actor = 'bob' WHERE seq = 2", "Entry 2: it was changed after it was written."),
        ("DELETE FROM orth_audit WHERE seq = 2", "Entry 2: entries 2 to 2 are missing."),
        ("DELETE FROM orth_audit WHERE seq = 3", "Entry 3: entries 3 to 3 are missing at the end."),
    ],
)
def test_a_record_that_was_tampered_with_is_told_in_one_line(tmp_path: Path, statement: str, told: str) -> None:
    write(tmp_path / "orth.db", 3)
    with closing(sqlite3.connect(tmp_path / "orth.db")) as connection, connection:
        connection.execute(statement)
    verified = run_orth("audit", "verify", "--store", "sqlite:///orth.db", cwd=tmp_path)
    assert (verified.returncode, verified.stderr) == (1, f"orth: The audit is not whole. {told}\n")


def test_an_expected_head_that_was_purged_confirms_nothing(tmp_path: Path) -> None:
    file = tmp_path / "orth.db"
    write(file, 4)
    with closing(sqlite3.connect(file)) as reading:
        heads = [
            f"{seq}:{digest}" for seq, digest in reading.execute("SELECT seq, digest FROM orth_audit ORDER BY seq")
        ]
    with open_database(f"sqlite:///{file}") as db, db.engine.begin() as connection:
        assert purge(connection, LATER, limit=10, node_id="n", now=LATER + 365 * DAY) == 3

    def verify(expected: str) -> tuple[int, str]:
        done = run_orth("audit", "verify", "--store", "sqlite:///orth.db", "--expect", expected, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    for number in (1, 3):
        code, told = verify(heads[number - 1])
        assert code == 1
        assert (
            f"The audit cannot be confirmed. Entry {number}: it cannot be confirmed: entries up to 3 were purged on "
            in told
        )
    code, told = verify(heads[3])
    assert code == 0
    assert (
        "Purged on 2026-06-15T15:06:41.000Z: 3 entries written before 2025-06-15T15:06:41.000Z, up to 3; what is "
        "missing at the beginning rests on it.\n" in told
    )


def test_a_purge_of_young_entries_fails_though_the_expected_head_is_still_there(tmp_path: Path) -> None:
    file = tmp_path / "orth.db"
    write(file, 4)
    with closing(sqlite3.connect(file)) as reading:
        [(seq, digest)] = reading.execute("SELECT seq, digest FROM orth_audit_head")
    with open_database(f"sqlite:///{file}") as db, db.engine.begin() as connection:
        assert purge(connection, LATER, limit=10, node_id="n", now=LATER + 30 * DAY) == 3
    asked = ("audit", "verify", "--store", "sqlite:///orth.db", "--expect", f"{seq}:{digest}")
    found = run_orth(*asked, cwd=tmp_path)
    assert found.returncode == 1
    assert "Entry 5: it is a purge of entries up to 3 that had to be kept longer." in found.stderr
    assert "Purged on 2025-07-15" in found.stdout
    assert run_orth(*asked, "--retention", "30d", cwd=tmp_path).returncode == 0


def test_what_is_no_head_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "orth.db", 1)
    told = run_orth("audit", "verify", "--store", "sqlite:///orth.db", "--expect", "7", cwd=tmp_path)
    assert told.returncode == 1
    assert "is not a head" in told.stderr
