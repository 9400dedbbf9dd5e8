"""Transactions: whole or not at all, repeated when the database asks, bounded in time and number."""

import asyncio
import threading
import time

import pytest
from sqlalchemy import Connection, select, text, update
from sqlalchemy.exc import IntegrityError

from orth.errors import StoreUnavailable
from orth.store.database import Database, open_database, ping
from orth.store.tables import secrets
from tests.store.builders import NOW, on_servers, on_sqlite, until, write_lock_elsewhere


def put(connection: Connection, name: str, value: str = "0") -> None:
    connection.execute(secrets.insert().values(name=name, value=value, created_at=NOW))


def names(connection: Connection) -> list[str]:
    return list(connection.execute(select(secrets.c.name).order_by(secrets.c.name)).scalars())


async def test_a_transaction_gives_the_result_and_keeps_what_was_written(db: Database, peer: Database) -> None:
    def put_two(connection: Connection, first: str, *, second: str) -> int:
        put(connection, first)
        put(connection, second)
        return 2

    assert await db.tx(put_two, "a", second="b") == 2
    assert await peer.read(names) == ["a", "b"]


async def test_a_dry_run_gives_the_result_and_keeps_nothing(db: Database, peer: Database) -> None:
    def put_and_list(connection: Connection, name: str, *, value: str) -> list[str]:
        put(connection, name, value)
        return names(connection)

    assert await db.dry_run(put_and_list, "a", value="1") == ["a"]
    assert await peer.read(names) == []
    with pytest.raises(ZeroDivisionError):
        await db.dry_run(lambda _connection: 1 // 0)


async def test_an_exception_undoes_everything_and_arrives_unchanged(db: Database) -> None:
    class OutOfCoffee(Exception):
        pass

    def put_and_fail(connection: Connection) -> None:
        put(connection, "a")
        raise OutOfCoffee

    with pytest.raises(OutOfCoffee):
        await db.tx(put_and_fail)
    assert await db.read(names) == []


async def test_a_broken_rule_is_no_outage(db: Database) -> None:
    await db.tx(put, "a")
    with pytest.raises(IntegrityError):
        await db.tx(put, "a")
    await db.tx(ping)


# --- repeating ---


class Attempts:
    """Counts how often a unit was begun."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self.count += 1
            return self.count


@on_servers
async def test_a_deadlocked_unit_is_repeated_and_succeeds(db: Database, peer: Database) -> None:
    await db.tx(put, "a")
    await db.tx(put, "b")
    both_hold_one = threading.Barrier(2, timeout=10)
    attempts = Attempts()

    def count_up(connection: Connection, first: str, second: str) -> None:
        begun = attempts.next()
        _increment(connection, first)
        if begun <= 2:
            both_hold_one.wait()
        _increment(connection, second)

    await asyncio.gather(db.tx(count_up, "a", "b"), peer.tx(count_up, "b", "a"))
    assert attempts.count == 3
    assert await db.read(_values) == {"a": "2", "b": "2"}


def _increment(connection: Connection, name: str) -> None:
    value = connection.execute(select(secrets.c.value).where(secrets.c.name == name).with_for_update()).scalar_one()
    connection.execute(update(secrets).where(secrets.c.name == name).values(value=str(int(value) + 1)))


def _values(connection: Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(select(secrets.c.name, secrets.c.value))}


@on_servers
async def test_a_unit_that_never_succeeds_is_given_up(db: Database) -> None:
    attempts = Attempts()

    def always_a_victim(connection: Connection) -> None:
        attempts.next()
        put(connection, "a")
        if connection.dialect.name == "postgresql":
            connection.execute(text("DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$"))
        connection.execute(text("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'deadlock'"))

    with pytest.raises(StoreUnavailable, match="deadlock"):
        await db.tx(always_a_victim)
    assert attempts.count == 5
    assert await db.read(names) == []


# --- patience ---


@on_sqlite
async def test_a_writer_waits_for_another_process(db: Database) -> None:
    with write_lock_elsewhere(db) as let_go:
        writing = asyncio.create_task(db.tx(put, "a"))
        done, _ = await asyncio.wait([writing], timeout=0.3)
        assert not done
        let_go()
        await writing
    assert await db.read(names) == ["a"]


@on_sqlite
async def test_a_writer_that_is_locked_out_gives_up_after_its_patience(empty_url: str) -> None:
    with open_database(empty_url, patience=0.6) as db, write_lock_elsewhere(db):
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match="locked"):
            await db.tx(put, "a")
        assert 0.5 < time.monotonic() - begun < 5.0
    with open_database(empty_url) as later:
        await later.tx(put, "b")
        assert await later.read(names) == ["b"]


@on_sqlite
async def test_many_writers_that_are_locked_out_wait_no_longer_than_one(empty_url: str) -> None:
    with open_database(empty_url, patience=0.6) as db:
        with write_lock_elsewhere(db):
            begun = time.monotonic()
            urgent = asyncio.create_task(db.urgent.tx(put, "urgent"))
            failed = await asyncio.gather(*(db.tx(put, str(one)) for one in range(10)), urgent, return_exceptions=True)
            assert {type(one) for one in failed} == {StoreUnavailable}
            assert time.monotonic() - begun < 2.0, "one after the other they would have waited for 6.6 s"
        await db.tx(put, "afterwards")
        with write_lock_elsewhere(db) as let_go:
            writing = asyncio.create_task(db.tx(put, "patient"))
            assert not (await asyncio.wait([writing], timeout=0.3))[0], "it is waited for again"
            let_go()
            await writing
        assert sorted(await db.read(names)) == ["afterwards", "patient"]


@on_servers
async def test_a_lock_is_waited_for_no_longer_than_the_patience(db: Database, empty_url: str) -> None:
    await db.tx(put, "a")
    with db.engine.begin() as holder, open_database(empty_url, patience=1.0) as hasty:
        _increment(holder, "a")
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await hasty.tx(_increment, "a")
        assert 0.9 < time.monotonic() - begun < 8.0


@on_servers
async def test_a_statement_is_cut_off_after_the_patience(empty_url: str) -> None:
    def dawdle(connection: Connection) -> None:
        put(connection, "a")
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_sleep(30)"))
        connection.execute(text("SELECT SLEEP(30)"))

    with open_database(empty_url, patience=1.0) as db:
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await db.tx(dawdle)
        assert time.monotonic() - begun < 15.0
        assert await db.read(names) == []


@on_servers
async def test_a_transaction_that_stands_still_is_cut_off_after_the_patience(db: Database, empty_url: str) -> None:
    begun, cut_off = threading.Event(), threading.Event()
    sessions = []

    def stand_still(connection: Connection) -> None:
        put(connection, "a")
        sessions.append(_session(connection))
        begun.set()
        assert cut_off.wait(20)
        put(connection, "b")

    with open_database(empty_url, patience=1.0) as frozen:
        standing = asyncio.create_task(frozen.tx(stand_still))
        assert await asyncio.to_thread(begun.wait, 10)
        await until(lambda: sessions[0] not in _living_sessions(db), "the server to end it", 5.0)
        cut_off.set()
        with pytest.raises(StoreUnavailable):
            await standing
        assert await frozen.read(names) == []


def _session(connection: Connection) -> int:
    own = "pg_backend_pid()" if connection.dialect.name == "postgresql" else "connection_id()"
    return int(connection.execute(text(f"SELECT {own}")).scalar_one())


def _living_sessions(db: Database) -> set[int]:
    with db.engine.connect() as connection:
        on_postgres = connection.dialect.name == "postgresql"
        living = "pid FROM pg_stat_activity" if on_postgres else "id FROM information_schema.processlist"
        return set(connection.execute(text(f"SELECT {living}")).scalars())


# --- threads ---


async def test_more_transactions_than_connections_all_finish(empty_url: str) -> None:
    at_once = 0
    most_at_once = 0
    lock = threading.Lock()

    def unit(connection: Connection, number: int) -> int:
        nonlocal at_once, most_at_once
        with lock:
            at_once += 1
            most_at_once = max(most_at_once, at_once)
        put(connection, f"{number:02}")
        with lock:
            at_once -= 1
        return number

    with open_database(empty_url, size=2) as db:
        assert await asyncio.gather(*(db.tx(unit, number) for number in range(30))) == list(range(30))
        assert len(await db.read(names)) == 30
    assert 1 <= most_at_once <= 2


async def test_a_cancelled_caller_leaves_its_transaction_to_end_by_itself(empty_url: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def unit(connection: Connection) -> None:
        put(connection, "a")
        begun.set()
        assert go_on.wait(10)
        put(connection, "b")

    with open_database(empty_url, size=1) as db:
        running = asyncio.create_task(db.tx(unit))
        waiting = asyncio.create_task(db.tx(put, "never begun"))
        assert await asyncio.to_thread(begun.wait, 10)
        for task in (running, waiting):
            task.cancel()
        await asyncio.wait([running, waiting])
        assert running.cancelled()
        assert waiting.cancelled()
        go_on.set()
        await db.tx(put, "c")  # there is one connection, so this comes after the unit has ended
        assert await db.read(names) == ["a", "b", "c"]


# --- SQLite's readers ---


@on_sqlite
async def test_readers_do_not_wait_for_a_writer(db: Database) -> None:
    await db.tx(put, "a")
    writing, go_on = threading.Event(), threading.Event()

    def write_long(connection: Connection) -> None:
        put(connection, "b")
        writing.set()
        assert go_on.wait(10)

    task = asyncio.create_task(db.tx(write_long))
    assert await asyncio.to_thread(writing.wait, 10)
    async with asyncio.timeout(5):
        assert await db.read(names) == ["a"]
    assert not task.done()
    go_on.set()
    await task
    assert await db.read(names) == ["a", "b"]


@on_sqlite
async def test_readers_cannot_write(db: Database) -> None:
    with pytest.raises(StoreUnavailable, match="readonly"):
        await db.read(put, "a")
    assert await db.read(lambda connection: connection.execute(text("PRAGMA query_only")).scalar()) == 1
    assert await db.tx(lambda connection: connection.execute(text("PRAGMA query_only")).scalar()) == 0
    assert await db.read(names) == []


@on_sqlite
async def test_a_commit_survives_a_power_cut(db: Database) -> None:
    def pragma(connection: Connection, name: str) -> object:
        return connection.execute(text(f"PRAGMA {name}")).scalar()

    assert await db.tx(pragma, "journal_mode") == "wal"
    assert await db.tx(pragma, "synchronous") == 2  # FULL


async def test_a_closed_one_is_an_outage_and_no_bug(empty_url: str) -> None:
    with open_database(empty_url) as database:
        await database.read(ping)
    for ask in (database.read, database.tx, database.urgent.tx):
        with pytest.raises(StoreUnavailable, match="about to end"):
            await ask(ping)
