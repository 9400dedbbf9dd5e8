"""What was refused is told within bounds, and nobody's noise hides another."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.refusals import (
    AT_ONCE,
    CORRECTED_WITHIN,
    DOOR_SHARE,
    SAME_EVERY,
    SHARE,
    SHARE_SPAN,
    Bounds,
    HeldBack,
    LeftOut,
    Refusals,
)
from orth.domain.audit import Actor, ActorKind, Deed
from orth.events import Events
from orth.store.audit import Wanted, entries_after
from orth.store.database import Database, open_database
from orth.store.migrating import upgrade
from orth.testing import ManualClock
from orth.wire.messages import TurnedAwayCaller
from orth.wire.signatures import BadSignature, Refused


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/orth.db"
    upgrade(url)
    with open_database(url) as db:
        yield db


def stranger(address: str) -> Actor:
    return Actor(ActorKind.STRANGER, "", address)


def knock(path: object) -> Deed:
    return Deed("api.unauthenticated", "route", f"GET /{path}")


async def told(db: Database) -> list[tuple[str, str, str]]:
    entries = await db.read(entries_after, Wanted(), 0, 1_000)
    return [(one.actor or one.address, one.action, one.object_id) for one in entries]


async def test_a_loud_stranger_hides_nobody(db: Database) -> None:
    refusals = Refusals(db, ManualClock())
    for number in range(5 * AT_ONCE):
        await refusals.note(stranger("203.0.113.9"), knock(number))
    await refusals.note(stranger("198.51.100.7"), knock("secret"))
    found = await told(db)
    assert len(found) == SHARE + 1
    assert found[-1] == ("198.51.100.7", "api.unauthenticated", "GET /secret")


async def test_addresses_of_one_network_are_one_source(db: Database) -> None:
    refusals = Refusals(db, ManualClock())
    for number in range(2 * SHARE):
        await refusals.note(stranger(f"2001:db8:0:1::{number:x}"), knock(number))
    await refusals.note(stranger("2001:db8:0:2::1"), knock("other"))
    assert len(await told(db)) == SHARE + 1


async def test_a_loud_stranger_at_one_executor_hides_nobody_at_another(db: Database) -> None:
    refusals, key = Refusals(db, ManualClock()), ExecutorKey("the token of all")
    for number in range(2 * SHARE):
        noise = TurnedAwayCaller(address="203.0.113.9", path=f"/{number}", reason="no token", count=1)
        await refusals.note_turned_away(key, "http://10.0.0.1:9999", noise)
    theft = TurnedAwayCaller(address="198.51.100.7", path="/run", reason="token alone", count=1)
    await refusals.note_turned_away(key, "http://10.0.0.2:9999", theft)
    await refusals.note_turned_away(key, "http://10.0.0.1:9999", theft.model_copy(update={"address": "203.0.113.9"}))
    found = await told(db)
    assert len(found) == DOOR_SHARE + 2
    assert found[-2:] == [
        ("198.51.100.7", "executor.turned_away", "http://10.0.0.2:9999/run"),
        ("203.0.113.9", "executor.turned_away", "http://10.0.0.1:9999/run"),
    ]


async def test_what_was_left_out_is_counted_and_told_by_the_node(db: Database) -> None:
    clock = ManualClock()
    refusals = Refusals(db, clock)
    loop = LeftOut(refusals, clock, Events(), node_id="node-1")
    assert await loop.turn() == SHARE_SPAN
    assert await told(db) == []
    for number in range(SHARE + 7):
        await refusals.note(stranger("203.0.113.9"), knock(number))
        await refusals.note(stranger("203.0.113.9"), knock(0))  # the same again is not left out: it was told of
    await loop.turn()
    *_, last = await db.read(entries_after, Wanted(), 0, 1_000)
    assert (last.actor_kind, last.actor, last.action) == ("node", "node-1", "audit.left_out")
    assert json.loads(last.after or "") == {"refusals": 7, "sources": 1, "most": {"203.0.113.9": 7}}
    count = len(await told(db))
    await loop.turn()
    assert len(await told(db)) == count, "it is told once"


async def test_what_the_audit_takes_no_more_is_counted_too(db: Database) -> None:
    clock = ManualClock()
    refusals = Refusals(db, clock)
    for number in range(150):
        clock.move(2)
        await refusals.note(stranger(f"203.0.113.{number}"), knock(number))
    await refusals.tell_left_out("node-1")
    *_, last = await db.read(entries_after, Wanted(), 0, 1_000)
    assert json.loads(last.after or "")["refusals"] == 49, "100 entries, and one that says that there are more"


def take(bounds: Bounds, source: str, thing: object, now: float, *, is_stranger: bool = True) -> bool:
    return bounds.take(source, (source, str(thing)), is_stranger=is_stranger, now=now)


def test_the_same_is_told_once_a_minute_and_each_source_has_its_share() -> None:
    bounds = Bounds()
    assert [take(bounds, "a", 0, now) for now in (0.0, SAME_EVERY - 1, SAME_EVERY)] == [True, False, True]
    assert sum(take(bounds, "a", number, 100.0) for number in range(1, 50)) == SHARE - 2
    assert not take(bounds, "a", 99, SHARE_SPAN - 1)
    assert take(bounds, "a", 99, SHARE_SPAN)


def test_strangers_together_have_a_bound_that_is_not_that_of_who_is_known() -> None:
    bounds = Bounds()
    assert sum(take(bounds, f"s{number}", 0, 0.0) for number in range(2 * AT_ONCE)) == AT_ONCE
    assert take(bounds, "user ann", 0, 0.0, is_stranger=False)
    assert bounds.left_out.total() == AT_ONCE


def test_what_is_remembered_has_a_bound() -> None:
    bounds = Bounds()
    for number in range(3_000):
        take(bounds, f"s{number}", 0, number * 0.01)
    assert len(bounds._shares) <= 1_000
    assert len(bounds.left_out) <= 1_001
    assert bounds.left_out.total() == 3_000 - AT_ONCE
    assert take(bounds, "later", 0, 2 * SHARE_SPAN)


# --- those who may have been mistaken


@pytest.mark.parametrize("why", [Refused.OTHER_RECEIVER, Refused.STALE])
async def test_who_comes_again_with_what_it_was_told_is_no_stranger(db: Database, why: Refused) -> None:
    clock = ManualClock()
    refusals = Refusals(db, clock)
    loop = HeldBack(refusals, clock, Events())
    await refusals.note_stranger("10.0.0.7", "/api/registry", BadSignature(why, "key"))
    await refusals.note_stranger("10.0.0.7", "/api/callback", BadSignature(why, "key"))
    refusals.proved("10.0.0.7", "key")
    await refusals.note_stranger("10.0.0.8", "/api/registry", BadSignature(why, "key"))
    await refusals.note_stranger("10.0.0.9", "/api/registry", BadSignature(why, "stolen"))
    for address, key in (("10.0.0.7", "key"), ("10.0.0.8", "another"), ("10.0.0.9", "key")):
        refusals.proved(address, key)
    await loop.turn()
    assert await told(db) == []
    clock.move(CORRECTED_WITHIN)
    await loop.turn()
    await loop.turn()
    named = {(address, action) for address, action, _path in await told(db)}
    assert named == {(address, "executor.unauthenticated") for address in ("10.0.0.8", "10.0.0.9")}
    assert len(await told(db)) == 2


async def test_who_signs_with_nothing_good_is_told_of_at_once(db: Database) -> None:
    refusals = Refusals(db, ManualClock())
    for number, why in enumerate((Refused.WRONG, Refused.UNKNOWN_KEY, Refused.REPLAYED, Refused.OTHER_BODY)):
        await refusals.note_stranger(f"10.0.0.{number}", "/api/registry", BadSignature(why))
    await refusals.note_stranger("10.0.0.9", "/api/registry", BadSignature(Refused.UNADDRESSED))
    assert len(await told(db)) == 4


async def test_nothing_is_held_back_by_a_coordinator_that_leaves(db: Database) -> None:
    refusals = Refusals(db, ManualClock())
    await refusals.note_stranger("10.0.0.7", "/api/registry", BadSignature(Refused.OTHER_RECEIVER, "key"))
    await refusals.tell_held_back(everything=True)
    assert len(await told(db)) == 1


# --- the doors of executors


async def test_no_noise_hides_what_is_tried_at_the_doors_of_executors(db: Database) -> None:
    refusals, wrong = Refusals(db, ManualClock()), BadSignature(Refused.WRONG)
    for number in range(25):
        await refusals.note(stranger("203.0.113.9"), knock(number))
    for number in range(3 * DOOR_SHARE):  # and no noise at one door what is tried at another
        await refusals.note_stranger("203.0.113.9", f"/api/channels/{number}", wrong)
    for path in ("/xxl-job-admin/api/registry", "/api/callback"):
        await refusals.note_stranger("203.0.113.9", path, wrong)
    found = await told(db)
    assert [object_id for _who, _action, object_id in found[-2:]] == ["/xxl-job-admin/api/registry", "/api/callback"]
    assert len(found) == SHARE + DOOR_SHARE + 2, "and all of it is bounded"
    await refusals.tell_left_out("node-1")
    *_, last = await db.read(entries_after, Wanted(), 0, 1_000)
    assert json.loads(last.after or "")["refusals"] == 25 - SHARE + 2 * DOOR_SHARE


async def test_the_doors_are_told_of_when_strangers_have_filled_the_audit(db: Database) -> None:
    clock = ManualClock()
    refusals = Refusals(db, clock)
    for number in range(150):
        clock.move(2)
        await refusals.note(stranger(f"203.0.113.{number}"), knock(number))
    full = len(await told(db))
    await refusals.note_stranger("198.51.100.7", "/api/callback", BadSignature(Refused.WRONG))
    assert (await told(db))[full:] == [("198.51.100.7", "executor.unauthenticated", "/api/callback")]


async def test_a_thief_with_a_token_hides_no_forged_result_behind_what_else_is_refused(db: Database) -> None:
    refusals, key = Refusals(db, ManualClock()), ExecutorKey("a token", "of demo")
    for number in range(2 * SHARE):
        await refusals.note_forbidden(key, "203.0.113.9", f"/api/channels/{number}", "not its own")
    await refusals.note_executor(key, "203.0.113.9", Deed("callback.refused", "execution", "7"), "no key")
    assert (await told(db))[-1] == ("of demo", "callback.refused", "7")
    assert len(await told(db)) == SHARE + 1
