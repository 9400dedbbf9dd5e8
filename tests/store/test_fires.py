"""The fire ledger: the first decision about a fire stands."""

from orth.domain.fires import Decision, FireDecision
from orth.store.database import Database
from orth.store.fires import list_fires, record_fires
from tests.store.builders import NOW


def decided(fire: int, decision: Decision = "run", *, job_id: int = 1, reason: str = "") -> FireDecision:
    return FireDecision(job_id, fire, fire, 1, decision, reason, 1)


async def test_decisions_come_back_newest_first(db: Database) -> None:
    span = FireDecision(1, NOW - 500, NOW - 100, None, "skipped", "the coordinator was away ☕", 2)
    await db.tx(record_fires, [decided(NOW), span, decided(NOW - 1000), decided(NOW, job_id=2)], 1, NOW)
    assert await db.read(list_fires, 1, 10) == [decided(NOW), span, decided(NOW - 1000)]
    assert await db.read(list_fires, 1, 1) == [decided(NOW)]
    assert await db.read(list_fires, 1, 10, NOW - 500) == [decided(NOW - 1000)]
    assert await db.read(list_fires, 3, 10) == []


async def test_the_first_decision_stands(db: Database, peer: Database) -> None:
    await db.tx(record_fires, [decided(NOW)], 1, NOW)
    await peer.tx(record_fires, [decided(NOW, "skipped"), decided(NOW + 1, "coalesced")], 2, NOW + 1)
    assert await db.read(list_fires, 1, 10) == [decided(NOW + 1, "coalesced"), decided(NOW)]


async def test_of_two_decisions_in_one_batch_the_first_stands(db: Database) -> None:
    await db.tx(record_fires, [decided(NOW), decided(NOW, "skipped")], 1, NOW)
    assert await db.read(list_fires, 1, 10) == [decided(NOW)]


async def test_a_long_reason_is_cut(db: Database) -> None:
    await db.tx(record_fires, [decided(NOW, "skipped", reason="ä" * 300)], 1, NOW)
    [fire] = await db.read(list_fires, 1, 10)
    assert fire.reason == "ä" * 255
