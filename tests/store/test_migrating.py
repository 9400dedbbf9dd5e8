"""Bringing a database to the schema: once, by one at a time, again after a crash, and never backwards."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orth.errors import CannotStart, SchemaMismatch, StoreUnavailable
from orth.store import migrating
from orth.store.all_tables import metadata
from orth.store.database import open_database
from orth.store.engines import open_engine, read_url
from orth.store.migrating import VERSION_TABLE, check_schema, known_versions, schema_status, upgrade
from tests.servers.processes import wait_until
from tests.store.builders import write_lock_elsewhere
from tests.store.test_migrations import shape

NEWEST = known_versions()[-1]


@contextmanager
def opened(url: str) -> Iterator[sa.Engine]:
    engine = open_engine(read_url(url), size=1, patience=10.0)
    yield engine
    engine.dispose()


def run(url: str, *statements: str) -> None:
    with opened(url) as engine, engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def pretend_version(url: str, version: str) -> None:
    run(url, f"UPDATE {VERSION_TABLE} SET version_num = '{version}'")


def everything(url: str) -> tuple[dict[str, Any], Sequence[str] | None]:
    """The whole schema with its version, if it says one."""
    with opened(url) as engine:
        tables = shape(engine)
        has_version = sa.inspect(engine).has_table(VERSION_TABLE)
        with engine.connect() as connection:
            query = sa.text(f"SELECT version_num FROM {VERSION_TABLE}")
            return tables, connection.execute(query).scalars().all() if has_version else None


def test_an_upgrade_tells_what_it_did_and_the_second_does_nothing(store_url: str) -> None:
    assert upgrade(store_url) == f"The schema was brought from version none to {NEWEST}."
    before = everything(store_url)
    assert upgrade(store_url) == f"The schema is up to date (version {NEWEST})."
    assert everything(store_url) == before
    check_schema(store_url)
    assert schema_status(store_url) == f"database version {NEWEST}, program version {NEWEST}: up to date"


def test_rows_survive_an_upgrade(store_url: str) -> None:
    upgrade(store_url)
    run(store_url, "INSERT INTO orth_secret (name, value, created_at) VALUES ('kept', 'v', 1)")
    upgrade(store_url)
    with opened(store_url) as engine, engine.connect() as connection:
        assert connection.execute(sa.text("SELECT name FROM orth_secret")).scalars().all() == ["kept"]


def test_records_of_jobs_that_have_moved_belong_where_they_arose(store_url: str) -> None:
    """What is known by its execution stays there; the rest belongs where its job is."""
    upgrade(store_url)
    with opened(store_url) as engine:
        fill(engine, "orth_job_info", {"id": 7, "job_group": 2}, {"id": 8, "job_group": 2})
        fill(
            engine, "orth_job_log", {"id": 30, "job_id": 7, "job_group": 1, "batch_id": 40}, {"id": 31, "job_group": 2}
        )
        for table in ("orth_alarm", "orth_alarm_standing"):
            fill(engine, table, *({"id": n, "job_id": n, "execution_id": 23 + n, "job_group": 0} for n in (7, 8, 9)))
        fill(engine, "orth_batch", *({"id": 33 + n, "job_id": n, "job_group": 0} for n in (7, 8, 9)))
        silences = ({"id": 1, "job_id": 7}, {"id": 2, "job_group": 5}, {"id": 3})
        fill(engine, "orth_silence", *({"job_id": None, "job_group": None} | one for one in silences))
    pretend_version(store_url, "0020")
    upgrade(store_url)
    assert groups_in(store_url, "orth_alarm", "job_id") == {7: 1, 8: 2, 9: 0}
    assert groups_in(store_url, "orth_alarm_standing", "job_id") == {7: 1, 8: 2, 9: 0}
    assert groups_in(store_url, "orth_batch", "job_id") == {7: 1, 8: 2, 9: 0}
    assert groups_in(store_url, "orth_silence", "id") == {1: 2, 2: 5, 3: None}


def test_executions_that_were_cancelled_before_an_upgrade_are_listed_as_cancelled(store_url: str) -> None:
    upgrade(store_url)
    failed = {"phase": "ended", "trigger_code": 200, "handle_code": 500, "outcome": 2, "reason_code": "job_stopped"}
    with opened(store_url) as engine:
        others = ({}, {"start_time": 7}, {"reason_code": None}, {"outcome": 4})
        rows = ({**failed, **other, "id": n, "job_id": n} for n, other in enumerate(others, 1))
        fill(engine, "orth_job_log", *rows)
    pretend_version(store_url, "0029")
    upgrade(store_url)
    with opened(store_url) as engine, engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, outcome FROM orth_job_log ORDER BY id"))
        assert [tuple(row) for row in rows] == [(1, 5), (2, 2), (3, 2), (4, 5)]


def fill(engine: sa.Engine, name: str, *rows: dict[str, object]) -> None:
    """Store rows of a table; what they do not name is anything that may stand there."""
    table = metadata.tables[name]
    with engine.begin() as connection:
        for row in rows:
            known = {key: value for key, value in row.items() if key in table.c}
            needed = [column for column in table.c if not column.nullable and column.name not in known]
            made = {one.name: 0 if isinstance(one.type, sa.Integer) else f"of {row}" for one in needed}
            short = {key: str(value)[:8] if isinstance(value, str) else value for key, value in made.items()}
            connection.execute(table.insert().values(**short, **known))


def groups_in(url: str, table: str, key: str) -> dict[int, int | None]:
    with opened(url) as engine, engine.connect() as connection:
        return {row[0]: row[1] for row in connection.execute(sa.text(f"SELECT {key}, job_group FROM {table}"))}


# --- many at once, and not to the end ---

_UPGRADE_WHEN_TOLD = """
import os, signal, sys
import sqlalchemy as sa
from orth.store.migrating import upgrade

def die_at(number):
    def count(connection, cursor, statement, *rest):
        nonlocal number
        number -= statement.lstrip().startswith("CREATE")
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    sa.event.listen(sa.Engine, "before_cursor_execute", count)

print("ready", flush=True)
for line in sys.stdin:
    url, last = line.split()
    if last != "-":
        die_at(int(last))
    print(upgrade(url), flush=True)
"""


class Migrator:
    """A process that upgrades databases when told to."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _UPGRADE_WHEN_TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.answer() == "ready"

    def ask(self, url: str, *, die_at_create: int | None = None) -> None:
        """Let it upgrade ``url``; with ``die_at_create``, kill itself instead of the n-th table or index."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{url} {die_at_create or '-'}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture(scope="module")
def migrators() -> Iterator[list[Migrator]]:
    """Four of them, used for one database after another: starting them is most of the work."""
    four = [Migrator() for _ in range(4)]
    yield four
    assert [migrator.close() for migrator in four] == [0] * 4


def test_four_processes_may_upgrade_at_once(store_url: str, migrators: list[Migrator]) -> None:
    for migrator in migrators:
        migrator.ask(store_url)
    up_to_date = f"The schema is up to date (version {NEWEST})."
    brought = f"The schema was brought from version none to {NEWEST}."
    assert sorted(migrator.answer() for migrator in migrators) == [up_to_date] * 3 + [brought]
    tables, version = everything(store_url)
    assert (set(tables), version) == (set(metadata.tables), [NEWEST])


def test_what_a_killed_process_began_the_next_completes(store_url: str, migrators: list[Migrator]) -> None:
    killed = Migrator()
    killed.ask(store_url, die_at_create=20)
    assert killed.close() == -signal.SIGKILL
    tables, version = everything(store_url)
    # Only MariaDB keeps what came before the end; nobody says that it is the whole.
    assert bool(tables) == store_url.startswith("mysql")
    assert not version
    migrators[0].ask(store_url)
    assert migrators[0].answer() == f"The schema was brought from version none to {NEWEST}."
    tables, version = everything(store_url)
    assert (set(tables), version) == (set(metadata.tables), [NEWEST])


@pytest.mark.parametrize(
    "lost",
    [
        [f"DELETE FROM {VERSION_TABLE}"],
        ["DROP INDEX ix_log_phase ON orth_job_log", f"DELETE FROM {VERSION_TABLE}"],
        ["DROP TABLE orth_secret, orth_audit, orth_queue_message", f"DROP TABLE {VERSION_TABLE}"],
    ],
    ids=["version", "index", "tables"],
)
def test_an_upgrade_adds_what_is_missing_and_keeps_what_is_there(mariadb_url: str, lost: list[str]) -> None:
    upgrade(mariadb_url)
    whole = everything(mariadb_url)
    run(mariadb_url, "INSERT INTO orth_epoch (shard_id, epoch) VALUES (0, 7)", *lost)
    assert everything(mariadb_url) != whole
    upgrade(mariadb_url)
    assert everything(mariadb_url) == whole
    with opened(mariadb_url) as engine, engine.connect() as connection:
        assert connection.execute(sa.text("SELECT epoch FROM orth_epoch")).scalar() == 7


def test_the_lock_is_held_until_the_new_version_can_be_seen(mariadb_url: str) -> None:
    """Let go before the commit, it would let the next node in, who would write the same version again."""
    holders: list[int | None] = []

    def look(connection: sa.Connection) -> None:
        if connection.engine is not watcher:
            holders.append(lock_holder(watcher))

    with opened(mariadb_url) as watcher:
        sa.event.listen(sa.Engine, "commit", look)
        try:
            upgrade(mariadb_url)
        finally:
            sa.event.remove(sa.Engine, "commit", look)
        assert holders
        assert None not in holders
        wait_until(lambda: lock_holder(watcher) is None, "the lock to end with its session")


def lock_holder(engine: sa.Engine) -> int | None:
    with engine.connect() as connection:
        return connection.execute(sa.text("SELECT IS_USED_LOCK('orth_migration')")).scalar()


@pytest.mark.parametrize(
    ("kind", "take_lock"),
    [
        ("postgres_url", f"SELECT pg_advisory_lock({0x6F727468})"),
        ("mariadb_url", "SELECT GET_LOCK('orth_migration', 0)"),
    ],
)
def test_who_waits_too_long_for_another_migrator_is_told(
    kind: str, take_lock: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue(kind)
    with opened(url) as engine, engine.connect() as other, monkeypatch.context() as impatient:
        impatient.setattr(migrating, "_PATIENCE", 1.0)
        other.execute(sa.text(take_lock))
        with pytest.raises(CannotStart, match=r"Another node has been migrating"):
            upgrade(url)
    assert "brought" in upgrade(url)


# --- refusing ---


def test_a_newer_schema_is_refused_and_left_alone(store_url: str) -> None:
    upgrade(store_url)
    run(store_url, "DROP TABLE orth_secret")
    pretend_version(store_url, "9999")
    before = everything(store_url)
    for refuse in (upgrade, check_schema):
        with pytest.raises(SchemaMismatch) as refusal:
            refuse(store_url)
        assert f"has schema version 9999; this program knows only up to {NEWEST}." in str(refusal.value)
        assert "A newer orth has been here: install that version or a later one." in str(refusal.value)
    assert "newer than this program" in schema_status(store_url)
    assert everything(store_url) == before


def test_a_database_without_schema_is_refused_with_what_to_do(store_url: str) -> None:
    with opened(store_url):  # which makes the file, if it is one
        pass
    with pytest.raises(SchemaMismatch) as refusal:
        check_schema(store_url)
    assert f"The database has schema version none, this program needs {NEWEST}." in str(refusal.value)
    assert "Run: orth db upgrade" in str(refusal.value)
    assert schema_status(store_url) == f"database version none, program version {NEWEST}: run: orth db upgrade"
    assert everything(store_url) == ({}, None)


@pytest.mark.parametrize("url", ["postgresql://orth@127.0.0.1:{}/orth", "mysql://root@127.0.0.1:{}/orth"])
@pytest.mark.parametrize("verb", [upgrade, check_schema, schema_status])
def test_nobody_at_the_address(verb: Callable[[str], object], url: str, free_port: int) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        verb(url.format(free_port))
    said = f"The database cannot be opened: 127.0.0.1:{free_port} refused the connection."
    assert str(refused.value) == f"{said} Check store.url and that the server runs."


def test_a_server_that_lets_nobody_in_is_reached(postgres_url: str, mariadb_url: str) -> None:
    for url in (postgres_url, mariadb_url):
        missing = read_url(url).set(database="not_there").render_as_string(hide_password=False)
        with pytest.raises(CannotStart, match=r"cannot be opened: [^(]*not_there") as refused:
            schema_status(missing)
        assert "FATAL" not in str(refused.value)


def test_looking_at_the_version_makes_no_file(sqlite_url: str) -> None:
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    for verb in (check_schema, schema_status):
        with pytest.raises(CannotStart, match=f"There is no database file {file}") as refused:
            verb(sqlite_url)
        assert "orth db upgrade" in str(refused.value)
        assert not file.exists()


def test_looking_at_the_version_does_not_wait_for_a_writer(sqlite_url: str) -> None:
    upgrade(sqlite_url)
    with open_database(sqlite_url) as db, write_lock_elsewhere(db):
        begun = time.monotonic()
        check_schema(sqlite_url)
        assert "up to date" in schema_status(sqlite_url)
        assert time.monotonic() - begun < 5.0
