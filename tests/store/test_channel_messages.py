"""What only the database can show of queues: those who take at once do not wait for each other, and nothing is read
whole. The rest is in ``tests/channels``.
"""

import asyncio
import threading
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from orth.store.channel_messages import (
    add_messages,
    count_messages,
    finish_messages,
    forget_dead,
    give_back_messages,
    newest_dead,
    queues_with_messages,
    take_messages,
    untake_messages,
)
from orth.store.database import Database
from tests.store.builders import NOW, on_servers

Q = "orchestrix.job.assigned"


async def put(db: Database, count: int, queue: str = Q) -> None:
    await db.tx(add_messages, queue, [f'{{"n":{number}}}' for number in range(count)])


@on_servers
async def test_who_takes_does_not_wait_for_another_who_takes(db: Database, peer: Database) -> None:
    await put(db, 6)
    holding, go_on = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> Sequence[int]:
        taken = take_messages(connection, [Q], "slow", "1", 2)
        holding.set()
        assert go_on.wait(30)
        return [one.id for one in taken]

    slow = asyncio.create_task(db.tx(slowly))
    assert await asyncio.to_thread(holding.wait, 30)
    quick = [one.id for one in await peer.tx(take_messages, [Q], "quick", "2", 10)]
    go_on.set()
    assert len(await slow) == 2
    assert len(quick) == 4
    assert not set(quick) & set(await slow)
    assert max(await slow) < min(quick)


async def test_only_what_one_call_took_is_untaken(db: Database) -> None:
    await put(db, 4)
    first = await db.tx(take_messages, [Q], "c", "first", 2)
    await db.tx(take_messages, [Q], "c", "second", 1)
    assert await db.tx(untake_messages, [Q], "other", "first") == 0
    assert await db.tx(untake_messages, [Q, "none"], "c", "first") == 2
    assert await db.tx(untake_messages, [Q], "c", "first") == 0
    again = await db.tx(take_messages, [Q], "d", "third", 10)
    assert [one.id for one in again][:2] == [one.id for one in first]
    assert {one.deliveries for one in again} == {1}


async def test_thousands_are_taken_given_back_and_finished_at_once(db: Database) -> None:
    await put(db, 1300)
    taken = await db.tx(take_messages, [Q], "c", "1", 5000)
    assert len(taken) == 1300
    back = await db.tx(give_back_messages, Q, "c", to_dead_after=2, dead_limit=10, now=NOW)
    assert back == (1300, 0)
    assert len(await db.tx(take_messages, [Q], "c", "2", 1200)) == 1200
    back = await db.tx(give_back_messages, Q, "c", to_dead_after=2, dead_limit=10, now=NOW)
    assert back == (0, 1200)
    assert len(await db.read(newest_dead, Q, 100)) == 10
    rest = await db.tx(take_messages, [Q], "d", "3", 5000)
    assert len(rest) == 100
    await db.tx(finish_messages, Q, "d", [one.id for one in rest])
    assert await db.read(count_messages, Q, 10) == 0


async def test_counting_stops_where_it_may(db: Database) -> None:
    await put(db, 30)
    await put(db, 5, "other")
    assert await db.read(count_messages, Q, 10) == 10
    assert await db.read(count_messages, Q, 100) == 30


async def test_old_dead_letters_are_forgotten_a_few_at_a_time(db: Database) -> None:
    await put(db, 5)
    for now, count in ((NOW, 3), (NOW + 10, 2)):
        await db.tx(take_messages, [Q], "c", "1", count)
        await db.tx(give_back_messages, Q, "c", to_dead_after=1, dead_limit=10, now=now)
    assert [await db.tx(forget_dead, NOW + 10, 2) for _ in range(3)] == [2, 1, 0]
    assert len(await db.read(newest_dead, Q, 10)) == 2


async def test_queues_with_messages_come_in_the_order_asked_for(db: Database) -> None:
    for queue in ("b", "a", "taken"):
        await put(db, 2, queue)
    await db.tx(take_messages, ["taken"], "c", "1", 2)
    none = [f"none {number}" for number in range(250)]
    assert await db.read(queues_with_messages, ["taken", "a", *none, "b"]) == ["a", "b"]


async def test_many_queues_are_looked_at_in_a_short_statement(db: Database) -> None:
    """A statement with a part for each of 250 queues took 26 ms of processor time."""

    def statements(connection: Connection) -> list[str]:
        told: list[str] = []

        def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
            told.append(statement)

        sa.event.listen(connection, "before_cursor_execute", note)
        for count in (1, 250):
            queues_with_messages(connection, [f"q{number}" for number in range(count)])
        return told

    one, many = await db.read(statements)
    assert len(many) <= (len(one) if db.engine.dialect.name in ("sqlite", "postgresql") else 300 * len(one))


@on_servers
async def test_taking_from_a_long_queue_reads_only_what_it_takes(db: Database) -> None:
    """A backlog of other queues, and of what others have, must not slow down who takes."""
    await put(db, 4000, "other")
    await put(db, 4000)
    await db.tx(take_messages, [Q], "other", "1", 3990)
    for looking in (queues_with_messages, take_messages):
        arguments = ([Q, "none"],) if looking is queues_with_messages else ([Q, "none"], "c", "2", 10)
        assert await db.tx(rows_read, looking, *arguments) < 200


def rows_read(connection: Connection, verb: object, *arguments: object) -> int:
    """How many rows of the table the database looked at for a verb."""
    assert callable(verb)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("ANALYZE orth_queue_message"))
        connection.execute(sa.text("SET LOCAL enable_seqscan = on"))
        before = _postgres_reads(connection)
        verb(connection, *arguments)
        return _postgres_reads(connection) - before
    before = _mariadb_reads(connection)
    verb(connection, *arguments)
    return _mariadb_reads(connection) - before


def _postgres_reads(connection: Connection) -> int:
    reads = sa.text(
        "SELECT seq_tup_read + idx_tup_fetch + 0 FROM pg_stat_xact_user_tables WHERE relname = 'orth_queue_message'"
    )
    return connection.execute(reads).scalar() or 0


def _mariadb_reads(connection: Connection) -> int:
    rows = connection.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'")).all()
    return sum(int(row[1]) for row in rows)
