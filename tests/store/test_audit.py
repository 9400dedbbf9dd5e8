"""The audit: chained whoever writes, never without its change, and every kind of tampering found."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import Connection, Engine

from orth.domain.audit import AT_DOOR, Actor, ActorKind, Deed
from orth.domain.audit_chain import PURGE, Chain, Fault, Head
from orth.errors import Unreadable
from orth.store.audit import (
    DOORS_LIMIT,
    STRANGERS_LIMIT,
    STRANGERS_WINDOW_MS,
    Wanted,
    entries_after,
    head,
    newest_entries,
    purge,
    record,
    verify,
)
from orth.store.audit_tables import audit, audit_head
from orth.store.engines import open_engine, read_url
from orth.store.tables import users

ADMIN = Actor(ActorKind.USER, "admin", "127.0.0.1")
STRANGER = Actor(ActorKind.STRANGER, "", "203.0.113.9")
NOW = 10**12


@pytest.fixture
def engine(empty_url: str) -> Iterator[Engine]:
    engine = open_engine(read_url(empty_url), size=8 if "sqlite" not in empty_url else 1, patience=30.0)
    yield engine
    engine.dispose()


def write(engine: Engine, count: int, actor: Actor = ADMIN, *, at: int = 0) -> None:
    for number in range(count):
        with engine.begin() as connection:
            record(connection, actor, Deed("job.update", "job", str(number), 2, {"n": 0}, {"n": 1}), at + number)


def fault_of(engine: Engine, expected: Head | None = None) -> Fault | None:
    with engine.begin() as connection:
        return verify(connection, Chain(expected))


def total(connection: Connection) -> int:
    return len(newest_entries(connection, Wanted(), None, 1000))


def test_an_entry_says_all_and_reads_back_as_it_was_hashed(engine: Engine) -> None:
    deed = Deed("job.update", "job", "7\x00\ud800é", 2, {"title": "ä\x00", "same": 1}, {"title": "ö", "same": 1})
    with engine.begin() as connection:
        record(connection, Actor(ActorKind.TOKEN, "n" * 500, "a" * 500), deed, 1234)
    with engine.begin() as connection:
        [entry] = newest_entries(connection, Wanted(), None, 10)
        assert head(connection) == Head(1, entry.digest)
    assert (entry.seq, entry.at, entry.actor_kind, entry.action) == (1, 1234, "token", "job.update")
    assert (len(entry.actor), len(entry.address), entry.object_id) == (128, 64, "7\\ud800é")
    assert (entry.object_kind, entry.group_id) == ("job", 2)
    assert json.loads(entry.before or "") == {"title": "ä\x00"}
    assert json.loads(entry.after or "") == {"title": "ö"}
    assert fault_of(engine) is None


def test_an_entry_goes_with_its_change(engine: Engine) -> None:
    write(engine, 1)
    with pytest.raises(RuntimeError), engine.begin() as connection:  # noqa: PT012  # the transaction is what ends
        record(connection, ADMIN, Deed("job.delete", "job", "1"), 5)
        raise RuntimeError
    write(engine, 1)
    with engine.begin() as connection:
        assert [entry.seq for entry in entries_after(connection, Wanted(), 0)] == [1, 2]
    assert fault_of(engine) is None


def test_entries_of_many_at_once_are_one_chain(empty_url: str) -> None:
    engines = [open_engine(read_url(empty_url), size=1, patience=30.0) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda one: write(one, 25), engines))
    with engines[0].begin() as connection:
        assert [entry.seq for entry in entries_after(connection, Wanted(), 0)] == list(range(1, 101))
    assert fault_of(engines[0]) is None
    for one in engines:
        one.dispose()


@pytest.mark.parametrize(
    "change", [{"actor": "x"}, {"at": 99}, {"after": '{"n": 2}'}, {"before": None}, {"group_id": None}, {"address": ""}]
)
def test_a_changed_field_is_found(engine: Engine, change: dict[str, object]) -> None:
    write(engine, 4)
    with engine.begin() as connection:
        connection.execute(update(audit).where(audit.c.seq == 2).values(**change))
    assert fault_of(engine) == Fault(2, "it was changed after it was written")


def test_a_removed_entry_is_found(engine: Engine) -> None:
    write(engine, 4)
    with engine.begin() as connection:
        connection.execute(delete(audit).where(audit.c.seq == 2))
    assert fault_of(engine) == Fault(2, "entries 2 to 2 are missing")


def test_a_removed_end_is_found(engine: Engine) -> None:
    write(engine, 4)
    with engine.begin() as connection:
        connection.execute(delete(audit).where(audit.c.seq >= 3))
    assert fault_of(engine) == Fault(3, "entries 3 to 4 are missing at the end")


def test_an_emptied_table_is_found(engine: Engine) -> None:
    write(engine, 2)
    with engine.begin() as connection:
        connection.execute(delete(audit))
    assert fault_of(engine) == Fault(1, "entries 1 to 2 are missing at the end")


def test_exchanged_entries_are_found(engine: Engine) -> None:
    write(engine, 4)
    with engine.begin() as connection:
        for old, new in ((2, 1000), (3, 2), (1000, 3)):
            connection.execute(update(audit).where(audit.c.seq == old).values(seq=new))
    fault = fault_of(engine)
    assert fault is not None
    assert fault.seq == 2


def test_an_entry_added_by_hand_is_found(engine: Engine) -> None:
    write(engine, 2)
    with engine.begin() as connection:
        row = connection.execute(select(audit).where(audit.c.seq == 2)).one()
        connection.execute(insert(audit).values(**{**row._mapping, "seq": 3}))
    assert fault_of(engine) == Fault(3, "it does not follow the entry before it")


def test_a_lost_head_is_found_and_lets_nobody_write(engine: Engine) -> None:
    write(engine, 2)
    with engine.begin() as connection:
        connection.execute(delete(audit_head))
    with pytest.raises(Unreadable, match="head of the audit is gone"):
        write(engine, 1)
    fault = fault_of(engine)
    assert fault is not None
    assert "head is missing" in fault.message


def test_an_audit_that_was_wiped_with_its_head_is_missed(engine: Engine) -> None:
    assert fault_of(engine) is None, "nobody has done anything yet"
    write(engine, 2)
    with engine.begin() as connection:
        connection.execute(delete(audit))
        connection.execute(delete(audit_head))
        connection.execute(
            insert(users).values(
                username="ann",
                password="",
                password_version=1,
                role="admin",
                permission="",
                created_at=1,
                update_time=1,
            )
        )
    fault = fault_of(engine)
    assert fault is not None
    assert "all entries are missing" in fault.message


def test_filters_and_pages(engine: Engine) -> None:
    write(engine, 5)
    write(engine, 2, Actor(ActorKind.TOKEN, "robot"), at=1000)
    with engine.begin() as connection:
        assert [entry.seq for entry in newest_entries(connection, Wanted(), None, 3)] == [7, 6, 5]
        assert [entry.seq for entry in newest_entries(connection, Wanted(), 5, 3)] == [4, 3, 2]
        assert [entry.seq for entry in newest_entries(connection, Wanted(actor="robot"), None, 9)] == [7, 6]
        assert [entry.seq for entry in newest_entries(connection, Wanted(object_id="1"), None, 9)] == [7, 2]
        assert [entry.seq for entry in newest_entries(connection, Wanted(since=1, until=3), None, 9)] == [3, 2]
        assert newest_entries(connection, Wanted(action="job.delete"), None, 9) == []


def test_what_is_purged_is_named_so_that_the_rest_can_be_verified(engine: Engine) -> None:
    write(engine, 10)
    with engine.begin() as connection:
        assert purge(connection, 6, limit=4, node_id="node-1", now=100) == 4
    assert fault_of(engine) is None
    with engine.begin() as connection:
        assert purge(connection, 6, limit=4, node_id="node-1", now=101) == 1
        assert purge(connection, 6, limit=4, node_id="node-1", now=102) == 0
        assert [entry.seq for entry in entries_after(connection, Wanted(), 0)] == [6, 7, 8, 9, 10, 11, 12]
        assert [entry.action for entry in newest_entries(connection, Wanted(), None, 2)] == [PURGE, PURGE]
        [last] = newest_entries(connection, Wanted(), None, 1)
        assert json.loads(last.after or "")["before"] == 6
    assert fault_of(engine) is None
    with engine.begin() as connection:
        connection.execute(delete(audit).where(audit.c.seq == 6))
    assert fault_of(engine) == Fault(6, "entries up to 6 are missing, and no purge names them")


def test_a_purge_leaves_the_youngest_of_the_old_and_does_not_follow_itself(engine: Engine) -> None:
    write(engine, 3)
    with engine.begin() as connection:
        assert purge(connection, 10**6, limit=100, node_id="n", now=50) == 2
    with engine.begin() as connection:
        assert purge(connection, 10**6, limit=100, node_id="n", now=51) == 1
    with engine.begin() as connection:
        assert purge(connection, 10**6, limit=100, node_id="n", now=52) == 0
        assert [entry.action for entry in entries_after(connection, Wanted(), 0)] == [PURGE, PURGE]
    assert fault_of(engine) is None


def test_strangers_cannot_fill_the_table(engine: Engine) -> None:
    for _ in range(STRANGERS_LIMIT + 50):
        write(engine, 1, STRANGER, at=NOW)
    with engine.begin() as connection:
        assert total(connection) == STRANGERS_LIMIT + 1
        [last] = newest_entries(connection, Wanted(), None, 1)
        assert (last.action, json.loads(last.after or "")) == (
            "audit.quiet",
            {"until": NOW + STRANGERS_WINDOW_MS, "of": "strangers"},
        )
    write(engine, 1, at=NOW)  # those we know are always told of
    write(engine, 1, STRANGER, at=NOW + STRANGERS_WINDOW_MS)
    with engine.begin() as connection:
        assert total(connection) == STRANGERS_LIMIT + 3
    assert fault_of(engine) is None


def test_an_empty_audit_is_whole(engine: Engine) -> None:
    assert fault_of(engine) is None


def test_the_doors_of_executors_have_room_that_no_other_stranger_fills(engine: Engine) -> None:
    def knock(count: int) -> None:
        for number in range(count):
            with engine.begin() as connection:
                record(connection, STRANGER, Deed(AT_DOOR, "route", f"/api/callback/{number}"), NOW)

    write(engine, STRANGERS_LIMIT + 5, STRANGER, at=NOW)
    knock(1)
    with engine.begin() as connection:
        newest = [entry.action for entry in newest_entries(connection, Wanted(), None, 2)]
        assert newest == [AT_DOOR, "audit.quiet"]
    knock(DOORS_LIMIT + 5)
    with engine.begin() as connection:
        assert total(connection) == STRANGERS_LIMIT + DOORS_LIMIT + 2
        [last] = newest_entries(connection, Wanted(), None, 1)
        assert (last.action, json.loads(last.after or "")["of"]) == ("audit.quiet", "doors")
    assert fault_of(engine) is None
