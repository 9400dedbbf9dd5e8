"""Doubts about addresses: written, taken back, forgotten."""

from dataclasses import replace

from orth.domain.nodes import Reachability
from orth.store.database import Database
from orth.store.reachability import Doubt, clear_doubts, drop_old_doubts, list_doubts, save_doubts
from tests.store.builders import NOW

A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"
ONE = Doubt("node-1", A, Reachability.SUSPECT, NOW, NOW, "refused")
OTHER = Doubt("node-2", A, Reachability.UNREACHABLE, NOW - 5, NOW, "no answer")
THIRD = replace(ONE, address=B)


async def test_doubts_are_kept_for_each_coordinator_and_address(db: Database) -> None:
    await db.tx(save_doubts, [THIRD, OTHER, ONE])
    assert await db.read(list_doubts) == [ONE, OTHER, THIRD]
    worse = replace(ONE, state=Reachability.UNREACHABLE, since=NOW + 1, checked_at=NOW + 1, reason="again")
    await db.tx(save_doubts, [worse])
    assert await db.read(list_doubts) == [worse, OTHER, THIRD]
    await db.tx(save_doubts, [])


async def test_a_coordinator_takes_back_its_own_doubts_only(db: Database) -> None:
    await db.tx(save_doubts, [ONE, OTHER, THIRD])
    await db.tx(clear_doubts, "node-1", [A])
    assert await db.read(list_doubts) == [OTHER, THIRD]
    await db.tx(clear_doubts, "node-1", [])
    assert await db.read(list_doubts) == [OTHER, THIRD]
    await db.tx(clear_doubts, "node-1")
    assert await db.read(list_doubts) == [OTHER]


async def test_doubts_that_nobody_renews_are_forgotten(db: Database) -> None:
    await db.tx(save_doubts, [ONE, replace(OTHER, checked_at=NOW - 10)])
    await db.tx(drop_old_doubts, NOW)
    assert await db.read(list_doubts) == [ONE]
