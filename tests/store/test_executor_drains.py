"""Drains: kept apart from registrations, and forgotten when nobody came back for long."""

from datetime import timedelta

from orth.store.database import Database
from orth.store.executor_drains import KEPT, drain_executor, drop_old_drains, resume_executor
from orth.store.executor_entries import list_executors
from orth.store.registry import Beat, Goodbye, record_beats, remove_executors
from tests.store.builders import NOW

LATER = NOW + KEPT // timedelta(milliseconds=1) + 1
A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"


async def drained(db: Database) -> dict[tuple[str, str], int]:
    entries = await db.read(list_executors)
    return {(one.app_name, one.address): one.drained_since for one in entries if one.drained_since is not None}


async def test_a_drain_is_of_one_app_and_address_and_outlasts_a_restart(db: Database) -> None:
    await db.tx(record_beats, [Beat("app", A, "one"), Beat("app", B), Beat("other", A)], NOW)
    await db.tx(drain_executor, "app", A, NOW + 1)
    await db.tx(drain_executor, "app", A, NOW + 2)
    assert await drained(db) == {("app", A): NOW + 1}
    await db.tx(remove_executors, [Goodbye("app", A)], NOW + 3)
    assert await drained(db) == {}
    await db.tx(record_beats, [Beat("app", A, "two")], NOW + 4)
    assert await drained(db) == {("app", A): NOW + 1}
    assert await db.tx(resume_executor, "app", A)
    assert not await db.tx(resume_executor, "app", A)
    assert await drained(db) == {}


async def test_only_what_is_old_and_of_nobody_there_is_forgotten(db: Database) -> None:
    await db.tx(record_beats, [Beat("app", A)], NOW)
    await db.tx(drain_executor, "app", A, NOW)
    await db.tx(drain_executor, "app", B, NOW)
    await db.tx(drain_executor, "other", B, NOW + 10)
    await db.tx(drop_old_drains, LATER)
    kept = [await db.tx(resume_executor, *key) for key in (("app", A), ("app", B), ("other", B))]
    assert kept == [True, False, True]
