"""Coordinators in the database: a row is its own process's, whoever else bears the name."""

from dataclasses import replace

import pytest
from sqlalchemy import insert, update

from orth.store.database import Connection, Database
from orth.store.nodes import (
    Beat,
    Load,
    NodeState,
    OwnedCount,
    Role,
    Wish,
    ask_node,
    beat,
    count_owned,
    declare_dead,
    find_node,
    forget_nodes,
    join,
    list_nodes,
    wish_granted,
)
from orth.store.tables import nodes as table
from orth.store.tables import ownership
from tests.store.builders import NOW

DAY = 24 * 3600 * 1000
SAID = Beat(
    node_id="node-1",
    incarnation="first",
    url="http://127.0.0.1:5080",
    role=Role.FOLLOWER,
    state=NodeState.ACTIVE,
    load=Load(3, 4, 250, 1 << 33),
    hostname="host",
    process_id=4711,
    version="1.0",
)


async def test_what_was_said_is_read_back(db: Database) -> None:
    await db.tx(join, SAID, NOW)
    (row,) = await db.read(list_nodes)
    assert (row.said, row.beats, row.wish, row.joined_at, row.last_beat) == (SAID, 1, None, NOW, NOW)
    leading = replace(SAID, role=Role.LEADER, load=Load(5))
    assert await db.tx(beat, leading, NOW + 10)
    found = await db.read(find_node, "node-1")
    assert found is not None
    assert (found.said, found.beats, found.joined_at, found.last_beat) == (leading, 2, NOW, NOW + 10)
    assert await db.read(find_node, "node-2") is None


async def test_a_successor_takes_the_name_and_none_of_the_wishes(db: Database) -> None:
    await db.tx(join, SAID, NOW)
    assert await db.tx(ask_node, "node-1", "first", Wish.DRAIN)
    successor = replace(SAID, incarnation="second")
    await db.tx(join, successor, NOW + 5)
    assert not await db.tx(beat, SAID, NOW + 10), "the row is another process's"
    assert not await db.tx(ask_node, "node-1", "first", Wish.DRAIN)
    (row,) = await db.read(list_nodes)
    assert (row.said, row.beats, row.wish, row.joined_at) == (successor, 1, None, NOW + 5)


async def test_to_drain_is_the_stronger_wish(db: Database) -> None:
    await db.tx(join, SAID, NOW)
    assert await db.tx(ask_node, "node-1", "first", Wish.STEP_DOWN)
    assert await db.tx(ask_node, "node-1", "first", Wish.DRAIN)
    assert not await db.tx(ask_node, "node-1", "first", Wish.STEP_DOWN)
    await db.tx(wish_granted, "node-1", "first", Wish.STEP_DOWN)
    assert [row.wish for row in await db.read(list_nodes)] == [Wish.DRAIN]
    await db.tx(wish_granted, "node-1", "first", Wish.DRAIN)
    assert [row.wish for row in await db.read(list_nodes)] == [None]


async def test_only_one_that_has_not_beaten_since_is_declared_dead(db: Database) -> None:
    await db.tx(join, SAID, NOW)
    await db.tx(beat, SAID, NOW)
    assert not await db.tx(declare_dead, "node-1", "first", 1)
    assert not await db.tx(declare_dead, "node-1", "another", 2)
    assert await db.tx(declare_dead, "node-1", "first", 2)
    assert not await db.tx(declare_dead, "node-1", "first", 2), "once"
    assert [row.said.state for row in await db.read(list_nodes)] == [NodeState.DEAD]
    assert await db.tx(beat, SAID, NOW + 1)
    assert [row.said.state for row in await db.read(list_nodes)] == [NodeState.ACTIVE]


async def test_those_are_forgotten_that_are_gone_for_long_and_own_nothing(db: Database) -> None:
    for name, state in (("active", NodeState.ACTIVE), ("left", NodeState.OFFLINE), ("dead", NodeState.DEAD)):
        await db.tx(join, replace(SAID, node_id=name, state=state), NOW)
    await db.tx(join, replace(SAID, node_id="owner", state=NodeState.DEAD), NOW)
    await db.tx(_own, [1], "owner")
    assert await db.tx(forget_nodes, NOW) == 0
    assert await db.tx(forget_nodes, NOW + DAY) == 2
    assert [row.said.node_id for row in await db.read(list_nodes)] == ["active", "owner"]


async def test_what_they_own_is_counted_by_process_and_state(db: Database) -> None:
    await db.tx(_own, [1, 2, 3], "node-1")
    await db.tx(_own, [4], None, state="orphan_pending")
    assert {(one.node_id, one.holding, one.count) for one in await db.read(count_owned)} == {
        ("node-1", "owned", 3),
        (None, "orphan_pending", 1),
    }
    assert OwnedCount("node-1", "of-node-1", "owned", 3) in await db.read(count_owned)


@pytest.mark.parametrize(("column", "word"), [("state", "Hibernating"), ("role", "Witness"), ("wish", "sing")])
async def test_the_words_of_a_newer_version_do_no_harm(db: Database, column: str, word: str) -> None:
    await db.tx(join, SAID, NOW)
    await db.tx(_write, column, word)
    (row,) = await db.read(list_nodes)
    assert row.said.state is (NodeState.DRAINING if column == "state" else NodeState.ACTIVE)
    assert row.said.role is Role.FOLLOWER
    assert row.wish is None


def _own(connection: Connection, ids: list[int], node_id: str | None, state: str = "owned") -> None:
    incarnation = None if node_id is None else f"of-{node_id}"
    owner = {"node_id": node_id, "incarnation": incarnation, "generation": 1, "state": state, "changed_at": NOW}
    connection.execute(insert(ownership), [{"execution_id": one, **owner} for one in ids])


def _write(connection: Connection, column: str, word: str) -> None:
    connection.execute(update(table).values({column: word}))
