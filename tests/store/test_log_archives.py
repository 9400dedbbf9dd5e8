"""Archived logs in the database, on every kind of it."""

import asyncio
from dataclasses import replace

from sqlalchemy import Connection, update

from orth.store.database import Database, open_database
from orth.store.executions import end_executions
from orth.store.log_archives import (
    ArchivedLog,
    QueuedLog,
    Unarchived,
    archived_content,
    drop_archives,
    expired_archives,
    find_archive,
    first_execution_since,
    keep_archive,
    keep_archives,
    newest_execution,
    queued_logs,
    unarchived_among,
    unarchived_between,
)
from orth.store.tables import executions
from tests.store.builders import NOW, assign, open_some, refusal, success

ADDRESS = "http://10.0.0.1:9999"


def kept(execution_id: int, stored_at: int = NOW, place: str | None = None) -> ArchivedLog:
    return ArchivedLog(execution_id=execution_id, stored_at=stored_at, lines=3, size=30, complete=True, place=place)


async def test_a_log_is_kept_found_and_dropped(db: Database) -> None:
    assert await db.read(find_archive, 7) is None
    assert await db.read(archived_content, 7) is None
    await db.tx(keep_archive, kept(7), bytes(range(256)))
    assert await db.read(find_archive, 7) == kept(7)
    assert await db.read(archived_content, 7) == bytes(range(256))
    again = kept(7, NOW + 5, "2026-01-30/7.log.gz")
    await db.tx(keep_archive, again, None)
    assert await db.read(find_archive, 7) == again
    assert await db.read(archived_content, 7) is None
    await db.tx(drop_archives, [7, 8])
    await db.tx(drop_archives, [])
    assert await db.read(find_archive, 7) is None


async def test_two_nodes_may_keep_the_same_logs_at_once(db: Database) -> None:
    logs = [(kept(number), b"x" * number) for number in range(1, 60)]
    with open_database(db.url.render_as_string(hide_password=False)) as other:
        for _ in range(5):
            await asyncio.gather(*(one.tx(keep_archives, logs) for one in (db, other) for _ in range(3)))
    assert [await db.read(archived_content, number) for number in (1, 59)] == [b"x", b"x" * 59]


async def test_only_a_complete_log_takes_the_place_of_a_complete_one(db: Database) -> None:
    part = replace(kept(7), lines=1, complete=False)
    await db.tx(keep_archives, [(part, b"a part")])
    await db.tx(keep_archives, [(replace(part, lines=2), b"more"), (kept(8), b"another")])
    assert await db.read(archived_content, 7) == b"more"
    await db.tx(keep_archives, [(kept(7), b"whole")])
    await db.tx(keep_archives, [(part, b"a part")])
    assert await db.read(archived_content, 7) == b"whole"
    assert await db.read(find_archive, 7) == kept(7)


async def test_large_logs_fit(db: Database) -> None:
    large = bytes(range(256)) * 24 * 1024  # 6 MiB
    await db.tx(keep_archive, kept(7), large)
    assert await db.read(archived_content, 7) == large


async def test_the_oldest_expire_first_and_a_few_at_a_time(db: Database) -> None:
    for number in range(5):
        await db.tx(keep_archive, kept(10 + number, NOW - number, f"p{number}" if number == 4 else None), b"x")
    assert await db.read(expired_archives, NOW - 2, 10) == [(14, "p4"), (13, None)]
    assert await db.read(expired_archives, NOW + 1, 2) == [(14, "p4"), (13, None)]


async def test_which_executions_lack_a_log(db: Database) -> None:
    assert await db.read(newest_execution) == 0
    assert await db.read(first_execution_since, NOW) is None
    opened, running, ended, archived, unsent = await db.tx(open_some, 5)
    await db.tx(assign, running, ended, archived)
    await db.tx(end_executions, [success(ended), success(archived), refusal(unsent)], NOW + 9)
    await db.tx(keep_archive, kept(archived), b"x")
    found = [
        Unarchived(opened, None, "", 1, None),
        Unarchived(running, None, ADDRESS, 1, None),
        Unarchived(ended, NOW + 9, ADDRESS, 1, None),
    ]
    assert await db.read(newest_execution) == unsent
    assert await db.read(first_execution_since, NOW) == opened
    assert await db.read(first_execution_since, NOW + 1) is None
    assert await db.read(unarchived_between, opened - 1, unsent) == found
    assert await db.read(unarchived_between, opened, running) == found[1:2]
    assert await db.read(unarchived_among, [ended, archived, unsent]) == found[2:]
    assert await db.read(unarchived_among, []) == []


async def test_what_is_known_of_the_logs_of_queues(db: Database) -> None:
    opened, ended, archived, refused, pushed = await db.tx(open_some, 5)
    await db.tx(end_executions, [success(ended), success(archived), refusal(refused), success(pushed)], NOW + 9)
    await db.tx(_put_into, [opened, ended, archived, refused], "reports.a")
    await db.tx(keep_archive, kept(archived), b"x")
    assert await db.read(queued_logs, [opened, ended, archived, refused, pushed, 99]) == {
        ended: QueuedLog("reports.a", NOW, was_taken=True, is_archived=False),
        archived: QueuedLog("reports.a", NOW, was_taken=True, is_archived=True),
        refused: QueuedLog("reports.a", NOW, was_taken=False, is_archived=False),
    }
    found = [Unarchived(opened, None, "", 1, "reports.a"), Unarchived(ended, NOW + 9, "", 1, "reports.a")]
    assert await db.read(unarchived_between, opened - 1, refused) == found


def _put_into(connection: Connection, ids: list[int], queue: str) -> None:
    connection.execute(update(executions).where(executions.c.id.in_(ids)).values(queue=queue))
