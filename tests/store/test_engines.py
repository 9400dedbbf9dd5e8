"""Where the three databases differ, they are made to do the same."""

import ast
import asyncio
import inspect
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, func, select, update
from sqlalchemy.exc import DataError

import orth.store
from orth.errors import CannotStart, Invalid
from orth.store.database import Database, open_database
from orth.store.engines import (
    among,
    insert_new,
    insert_returning_id,
    is_sqlite,
    locked,
    open_engine,
    read_url,
    share_locked,
    update_many,
    upsert,
)
from orth.store.tables import fires, groups, registry, secrets
from tests.store.builders import NOW, on_servers, on_sqlite, until_blocked


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("sqlite:///orth.db", "sqlite"),
        ("postgresql://me@host/db", "postgresql+psycopg"),
        ("postgresql+asyncpg://me@host/db", "postgresql+psycopg"),
        ("mysql://me@host/db", "mysql+pymysql"),
        ("mariadb://me@host/db", "mysql+pymysql"),
    ],
)
def test_an_address_gets_the_driver_we_use(text: str, driver: str) -> None:
    url = read_url(text)
    assert url.drivername == driver
    assert is_sqlite(url) == (driver == "sqlite")


@pytest.mark.parametrize("text", ["", "orth.db", "://", "postgresql://me:secret@host:port/db"])
def test_what_is_no_address_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(CannotStart, match="not a database address") as refusal:
        read_url(text)
    assert "sqlite:///path" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_an_unknown_database_is_refused_with_the_known_ones() -> None:
    with pytest.raises(CannotStart, match=r"'oracle'.* not supported\. Use sqlite, postgresql, mysql or mariadb"):
        read_url("oracle://me@host/db")


@pytest.mark.parametrize(
    ("text", "module"),
    [("postgresql://me@host/db", "psycopg"), ("mysql://me@host/db", "pymysql"), ("mariadb://me@host/db", "pymysql")],
)
def test_a_missing_driver_is_named_with_what_to_install(
    text: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # importing it now fails as if it were not there
    with pytest.raises(CannotStart, match=f"not installed.*{module}.*-m pip install '?{module}"):
        open_engine(read_url(text), size=1, patience=1.0)


@pytest.mark.parametrize("text", ["sqlite://", "sqlite:///:memory:"])
def test_sqlite_needs_a_file(text: str) -> None:
    with pytest.raises(CannotStart, match="must name a file"):
        open_database(text)


def test_the_folder_of_a_sqlite_file_is_made(tmp_path: Path) -> None:
    with open_database(f"sqlite:///{tmp_path}/new/deep/orth.db") as db, db.engine.connect():
        assert (tmp_path / "new/deep/orth.db").exists()


def test_only_its_owner_can_read_a_new_sqlite_file(tmp_path: Path) -> None:
    with open_database(f"sqlite:///{tmp_path}/new/orth.db") as db, db.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
        for file in (tmp_path / "new").iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["file/orth.db", "folder"])
def test_what_cannot_be_a_sqlite_file_is_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotStart, match=r"cannot be opened: .* Check store\.url and the folder\."):
        open_database(f"sqlite:///{tmp_path}/{place}")


@on_sqlite
async def test_opening_a_sqlite_file_again_does_not_give_up_its_locks(db: Database, empty_url: str) -> None:
    """Otherwise another process, thinking itself the last, removes the journal that we go on writing to."""

    def put(connection: Connection, name: str) -> None:
        insert_new(connection, secrets, [{"name": name, "value": "v", "created_at": NOW}])

    await db.tx(put, "before")
    open_database(empty_url).close()
    assert visit(db) == ["before"]
    await db.tx(put, "after")
    assert visit(db) == ["after", "before"]


_VISIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(*sorted(name for name, in connection.execute("SELECT name FROM orth_secret")))
connection.close()
"""


def visit(db: Database) -> list[str]:
    """What another process sees, that opens the file, reads, and closes it."""
    command = [sys.executable, "-I", "-S", "-c", _VISIT, str(db.url.database)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def a_fire(fire_time: int, reason: str) -> dict[str, object]:
    return {
        "job_id": 1,
        "fire_time": fire_time,
        "last_time": fire_time,
        "fires": 1,
        "decision": "run",
        "reason": reason,
        "job_version": 1,
        "epoch": 1,
        "decided_at": NOW,
    }


def reasons(connection: Connection) -> dict[int, str]:
    return {row.fire_time: row.reason for row in connection.execute(select(fires.c.fire_time, fires.c.reason))}


async def test_one_batch_keeps_the_rows_that_exist_and_inserts_the_others(db: Database) -> None:
    await db.tx(insert_new, fires, [a_fire(number, "first") for number in range(0, 700, 3)])
    await db.tx(insert_new, fires, [a_fire(number, "second") for number in range(700)])
    assert await db.read(reasons) == {number: "second" if number % 3 else "first" for number in range(700)}


async def test_an_empty_batch_is_nothing(db: Database) -> None:
    await db.tx(insert_new, fires, [])
    assert await db.read(reasons) == {}


@on_servers
async def test_a_value_that_does_not_fit_is_an_error_and_never_cut(db: Database) -> None:
    with pytest.raises(DataError):
        await db.tx(insert_new, fires, [a_fire(1, "r" * 256)])
    assert await db.read(reasons) == {}


@on_servers
async def test_nor_is_it_cut_by_an_update(db: Database) -> None:
    await db.tx(insert_new, fires, [a_fire(number, "old") for number in range(60)])
    for reason in ("r" * 256, "r" * 300):
        with pytest.raises(DataError):
            await db.tx(update_many, fires, ("job_id", "fire_time"), changed_to(reason, 60))
    assert set((await db.read(reasons)).values()) == {"old"}


def changed_to(reason: str, count: int) -> list[dict[str, object]]:
    return [{"job_id": 1, "fire_time": number, "reason": reason, "decided_at": number} for number in range(count)]


@pytest.mark.parametrize("count", [1, 49, 50, 700])
async def test_many_rows_are_updated_each_with_its_own(db: Database, count: int) -> None:
    await db.tx(insert_new, fires, [a_fire(number, "old") for number in range(800)])
    rows = [row | {"reason": f"new {row['fire_time']}"} for row in changed_to("", count)]
    await db.tx(update_many, fires, ("job_id", "fire_time"), [*rows, rows[0] | {"fire_time": 9_999}])
    assert await db.read(reasons) == {number: f"new {number}" if number < count else "old" for number in range(800)}


async def test_only_rows_for_which_the_condition_holds_are_updated(db: Database) -> None:
    await db.tx(insert_new, fires, [a_fire(number, "even" if number % 2 == 0 else "odd") for number in range(100)])
    await db.tx(update_many, fires, ("job_id", "fire_time"), changed_to("new", 100), fires.c.reason == "odd")
    assert await db.read(reasons) == {number: "even" if number % 2 == 0 else "new" for number in range(100)}
    await db.tx(update_many, fires, ("job_id", "fire_time"), [])


@pytest.mark.parametrize("wanted", [[], [3], list(range(0, 1200, 2))])
async def test_rows_are_found_by_a_list_of_values(db: Database, wanted: list[int]) -> None:
    await db.tx(insert_new, fires, [a_fire(number, "x") for number in range(700)])
    assert await db.read(times_among, wanted) == sorted(number for number in wanted if number < 700)


def times_among(connection: Connection, wanted: list[int]) -> list[int]:
    return sorted(connection.scalars(select(fires.c.fire_time).where(among(connection, fires.c.fire_time, wanted))))


@pytest.mark.parametrize("count", [2, 200])
async def test_an_unstorable_text_is_refused_also_in_a_list(db: Database, count: int) -> None:
    def look(connection: Connection, text: str) -> list[int]:
        wanted = [text, *(f"reason {number}" for number in range(count))]
        return list(connection.scalars(select(fires.c.fire_time).where(among(connection, fires.c.reason, wanted))))

    await db.tx(insert_new, fires, [a_fire(1, "reason 1")])
    assert await db.read(look, "another") == [1]
    for text in ("a\x00b", "\ud800"):
        with pytest.raises(Invalid):
            await db.read(look, text)


@on_sqlite
async def test_lists_of_any_length_make_few_statements(db: Database) -> None:
    """Each connection keeps its last 128 statements: a caller that chooses the length must not choose the text."""
    await db.tx(insert_new, fires, [a_fire(number, "kept") for number in range(700)])
    texts: set[str] = set()
    reading: Engine = db._reading.engine

    @event.listens_for(reading, "before_cursor_execute")
    def note(_connection: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        texts.add(statement)

    for count in (65, 100, 101, 5_000, 48_000, 300_000):
        assert len(await db.read(times_among, list(range(count)))) == min(count, 700)
    assert len(texts - {"BEGIN"}) == 1
    for count in range(1, 65):
        await db.read(times_among, list(range(count)))
    assert max(map(len, texts)) < 1_000
    assert len(texts) < 70


FIXED_LENGTHS = {
    "engines.among",
    "group_scopes.in_groups",  # the groups of a user's grants
    "overview._counted",
    "overview._within",
    "statistics._counted",
    "audit._conditions",  # actions that a caller of ours names
    "audit.newest_by_kind",
    "alarms._set_status",
    "ahead._sent_ahead",  # the terms of lost leaders
    "tables.has_outcome",
    "executor_entries.executor_at_port",
    "executor_entries._entries",
    "nodes.forget_nodes",
    "dispatching._waits_for_none_of",  # reasons
}
"""Functions whose lists have a length that no caller of the API and no executor chooses."""


def test_lists_that_callers_choose_are_given_to_among() -> None:
    found = set()
    for file in sorted(Path(inspect.getfile(orth.store)).parent.glob("*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef) and any(map(_lists_values, ast.walk(function))):
                found.add(f"{file.stem}.{function.name}")
    assert found == FIXED_LENGTHS


def _lists_values(node: ast.AST) -> bool:
    """Whether a statement compares with a list that is neither a constant of the module, a tuple nor a subquery."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("in_", "not_in")
    ):
        return False
    (values,) = node.args
    name = values.id if isinstance(values, ast.Name) else ast.unparse(values)
    is_constant = name.removeprefix("_").isupper() or isinstance(values, ast.Tuple)
    return not is_constant and "select(" not in name and name not in _SUBQUERIES


_SUBQUERIES = {"theirs", "names", "_attempts(connection, one)", "sorted(EXPECTED)", "sorted(CANCELLED)"}


def beat(address: str, at: int) -> dict[str, object]:
    return {
        "registry_group": "EXECUTOR",
        "registry_key": "app",
        "registry_value": address,
        "update_time": at,
        "incarnation": f"at {at}",
        "extensions": "",
    }


def beats(connection: Connection) -> list[tuple[str, int, str]]:
    rows = connection.execute(select(registry.c.registry_value, registry.c.update_time, registry.c.incarnation))
    return sorted((row.registry_value, row.update_time, row.incarnation) for row in rows)


KEYS = ("registry_group", "registry_key", "registry_value")


async def test_an_upsert_changes_the_row_with_the_same_keys_and_no_other(db: Database) -> None:
    for address, at in (("a", 1), ("b", 2), ("a", 3)):
        await db.tx(upsert, registry, [beat(address, at)], KEYS)
    assert await db.read(beats) == [("a", 3, "at 3"), ("b", 2, "at 2")]


async def test_many_rows_are_upserted_each_for_itself(db: Database) -> None:
    await db.tx(upsert, registry, [beat("a", 1), beat("b", 1)], KEYS)
    await db.tx(upsert, registry, [beat("b", 2), beat("c", 2)], KEYS)
    await db.tx(upsert, registry, [], KEYS)
    assert await db.read(beats) == [("a", 1, "at 1"), ("b", 2, "at 2"), ("c", 2, "at 2")]


async def test_many_upserts_of_one_key_at_once_leave_one_whole_row(db: Database, peer: Database) -> None:
    async def many(node: Database, instants: range) -> None:
        for at in instants:
            await node.tx(upsert, registry, [beat("a", at)], KEYS)

    await asyncio.gather(many(db, range(80)), many(peer, range(100, 180)))
    [(address, at, incarnation)] = await db.read(beats)
    assert address == "a"
    assert at in (79, 179)  # the last of one or of the other
    assert incarnation == f"at {at}"


async def test_ids_of_removed_rows_are_not_given_again(db: Database) -> None:
    def insert_and_remove(connection: Connection) -> int:
        row = {"app_name": "app", "title": "", "address_type": 0, "update_time": NOW}
        number = insert_returning_id(connection, groups, row)
        connection.execute(groups.delete())
        return number

    first, second = await db.tx(insert_and_remove), await db.tx(insert_and_remove)
    assert second > first


# --- locks ---


def two_secrets(connection: Connection) -> None:
    insert_new(connection, secrets, [{"name": name, "value": "v", "created_at": NOW} for name in ("a", "b")])


def lock_a(connection: Connection) -> str:
    return str(connection.execute(locked(select(secrets.c.value).where(secrets.c.name == "a"), connection)).scalar())


def lock_free_ones(connection: Connection) -> list[str]:
    statement = locked(select(secrets.c.name).order_by(secrets.c.name), connection, skip=True)
    return list(connection.execute(statement).scalars())


def share_a(connection: Connection) -> str | None:
    return connection.execute(share_locked(select(secrets.c.value).where(secrets.c.name == "a"), connection)).scalar()


def change_a(connection: Connection, value: str) -> None:
    connection.execute(update(secrets).where(secrets.c.name == "a").values(value=value))


@on_servers
async def test_a_locked_row_is_waited_for_and_then_seen_as_it_became(db: Database, peer: Database) -> None:
    await db.tx(two_secrets)
    with db.engine.begin() as holder:
        lock_a(holder)
        waiting = asyncio.create_task(peer.tx(lock_a))
        await until_blocked(db)
        change_a(holder, "changed")
        assert not waiting.done()
    assert await waiting == "changed"


@on_servers
async def test_locked_rows_can_be_skipped(db: Database, peer: Database) -> None:
    await db.tx(two_secrets)
    with db.engine.begin() as holder:
        lock_a(holder)
        assert await peer.tx(lock_free_ones) == ["b"]
    assert await peer.tx(lock_free_ones) == ["a", "b"]


@on_servers
async def test_share_locks_stand_side_by_side_and_keep_writers_out(db: Database, peer: Database) -> None:
    await db.tx(two_secrets)
    with db.engine.begin() as holder:
        assert share_a(holder) == "v"
        assert await peer.tx(share_a) == "v"
        writing = asyncio.create_task(peer.tx(change_a, "changed"))
        await until_blocked(db)
        assert share_a(holder) == "v"
        assert not writing.done()
    await writing
    assert await db.read(share_a) == "changed"


async def test_locking_reads_find_the_same_rows_on_every_database(db: Database) -> None:
    await db.tx(two_secrets)
    assert await db.tx(lock_a) == await db.tx(share_a) == "v"
    assert await db.tx(lock_free_ones) == ["a", "b"]
    assert await db.read(lambda connection: connection.execute(select(func.count()).select_from(secrets)).scalar()) == 2
