"""What only the database can show of boxes: who appends waits for another who does. The rest is in
``tests/channels``.
"""

import asyncio
import threading

from sqlalchemy import Connection, func, select

from orth.store.channel_boxes import append_to_boxes, forget_boxes, read_boxes, remove_boxes
from orth.store.channel_tables import box_entries, boxes
from orth.store.database import Database
from tests.store.builders import NOW, on_servers

BOX = "orchestrix.job.1.status.1"


def append(connection: Connection, *payloads: str, box: str = BOX, now: int = NOW) -> list[list[str]]:
    return append_to_boxes(connection, [{box: payloads}], limit=1000, now=now)


@on_servers
async def test_nothing_becomes_visible_before_what_was_begun_earlier(db: Database, peer: Database) -> None:
    for existing in (False, True):
        holding, go_on = threading.Event(), threading.Event()

        def slowly(connection: Connection, holding: threading.Event = holding, go_on: threading.Event = go_on) -> None:
            append(connection, "first")
            holding.set()
            assert go_on.wait(30)

        last = max([entry.position for entry in await db.read(read_boxes, {BOX: 0}, 10)], default=0)
        assert bool(last) == existing
        slow = asyncio.create_task(db.tx(slowly))
        assert await asyncio.to_thread(holding.wait, 30)
        quick = asyncio.create_task(peer.tx(append, "second"))
        await asyncio.wait([quick], timeout=0.3)
        assert not quick.done()
        assert await db.read(read_boxes, {BOX: last}, 10) == []
        go_on.set()
        await asyncio.gather(slow, quick)
        assert [entry.payload for entry in await db.read(read_boxes, {BOX: last}, 10)] == ["first", "second"]


async def test_posts_that_share_a_transaction_are_refused_one_by_one(db: Database) -> None:
    posts = [{BOX: ["a", "b"]}, {BOX: ["c", "d"], "other": ["x"]}, {BOX: ["e"]}]
    refused = await db.tx(append_to_boxes, posts, limit=3, now=NOW)
    assert refused == [[], [BOX], []]
    found = await db.read(read_boxes, {BOX: 0, "other": 0}, 10)
    assert [(entry.box, entry.payload) for entry in found] == [(BOX, "a"), (BOX, "b"), (BOX, "e"), ("other", "x")]


async def test_long_boxes_are_read_in_parts(db: Database) -> None:
    """Short ones are read whole and picked from; long ones from the position on."""
    await db.tx(append, *(str(number) for number in range(100)))
    await db.tx(append, *(str(number) for number in range(20)), box="short")
    after, read = {BOX: 0, "short": 0}, dict[str, list[str]]()
    for _ in range(20):
        for entry in await db.read(read_boxes, after, 9):
            after[entry.box] = entry.position
            read.setdefault(entry.box, []).append(entry.payload)
    assert read == {BOX: [str(n) for n in range(100)], "short": [str(n) for n in range(20)]}


async def test_a_box_that_is_made_again_goes_on_after_the_old_one(db: Database) -> None:
    await db.tx(append, "old", "old")
    [*_, last] = await db.read(read_boxes, {BOX: 0}, 10)
    await db.tx(remove_boxes, [BOX, "none"])
    assert await db.read(count_rows) == (0, 0)
    await db.tx(append, "new", now=NOW + 1)
    assert [entry.payload for entry in await db.read(read_boxes, {BOX: last.position}, 10)] == ["new"]


async def test_boxes_that_do_not_grow_are_forgotten_a_few_at_a_time(db: Database) -> None:
    for number in range(5):
        await db.tx(append, "x", "y", box=f"box {number}", now=NOW + number)
    await db.tx(append, "z", box="box 0", now=NOW + 10)
    assert [await db.tx(forget_boxes, NOW + 4, 2) for _ in range(3)] == [2, 1, 0]
    assert await db.read(count_rows) == (2, 5)


def count_rows(connection: Connection) -> tuple[int, int]:
    heads, entries = (select(func.count()).select_from(table) for table in (boxes, box_entries))
    return connection.execute(heads).scalar_one(), connection.execute(entries).scalar_one()
