"""Executions between opening and the executor's yes, on every kind of database. The rest is in ``test_executions``."""

import pytest

from orth.domain.executions import Phase
from orth.domain.reasons import BUSY_ELSEWHERE, LOOKED_AT_AGAIN
from orth.store.database import Database
from orth.store.dispatching import (
    Assignment,
    assign_executions,
    list_unknown,
    next_due,
    put_back,
    reassign_executions,
    record_accepted,
    record_unknown,
    take_ahead,
    take_due,
    take_these,
)
from orth.store.executions import end_executions
from tests.store.builders import NOW, assign, execution, open_some, success


def to(address: str, *ids: int) -> list[Assignment]:
    return [Assignment(one, address, "process-2", f"routed to {address}") for one in ids]


async def test_what_is_due_longest_comes_first(db: Database) -> None:
    by_hand = await db.tx(open_some, 2)
    planned = await db.tx(open_some, 2, prefix="planned", not_before=NOW - 5)
    await db.tx(open_some, 1, prefix="ahead", not_before=NOW + 5)
    assert [one.id for one in await db.tx(take_due, NOW, 10)] == [*planned, *by_hand]
    assert [one.id for one in await db.tx(take_due, NOW, 3)] == [*planned, by_hand[0]]


async def test_what_may_not_start_yet_is_found_once_by_its_id(db: Database) -> None:
    await db.tx(open_some, 1)
    ahead = await db.tx(open_some, 3, prefix="ahead", not_before=NOW + 5)
    assert [one.id for one in await db.tx(take_ahead, NOW, 0, 2)] == ahead[:2]
    assert [one.id for one in await db.tx(take_ahead, NOW, ahead[1], 2)] == ahead[2:]
    assert await db.tx(take_ahead, NOW, ahead[2], 2) == []
    assert await db.tx(take_ahead, NOW + 5, 0, 5) == []


@pytest.mark.parametrize("code", sorted(LOOKED_AT_AGAIN))
async def test_what_is_due_and_looked_at_again_later_is_not_sent_ahead_of_that(db: Database, code: str) -> None:
    (one,) = await db.tx(open_some, 1)
    await db.tx(put_back, [one], NOW + 5, code, 1, NOW)
    assert await db.tx(take_ahead, NOW, 0, 5) == []
    expected = [] if code == BUSY_ELSEWHERE else [one]
    assert [each.id for each in await db.tx(take_due, NOW + 5, 5)] == expected


async def test_what_waits_for_others_of_its_job_stays_due_and_is_taken_by_its_id(db: Database) -> None:
    by_hand, planned = [*await db.tx(open_some, 1), *await db.tx(open_some, 1, prefix="planned", not_before=NOW - 5)]
    await db.tx(put_back, [by_hand, planned], None, BUSY_ELSEWHERE, 1, NOW)
    assert [(await db.read(execution, one)).not_before for one in (by_hand, planned)] == [None, NOW - 5]
    assert await db.tx(take_due, NOW, 5) == []
    assert [one.id for one in await db.tx(take_these, [planned, by_hand])] == [planned, by_hand]


async def test_the_next_due_time_is_that_of_what_waits(db: Database) -> None:
    assert await db.read(next_due, NOW) is None
    (sent,) = await db.tx(open_some, 1, prefix="sent", not_before=NOW + 3)
    await db.tx(open_some, 1, prefix="later", not_before=NOW + 7)
    await db.tx(open_some, 1, prefix="soon", not_before=NOW + 5)
    await db.tx(assign, sent)
    assert await db.read(next_due, NOW) == NOW + 5
    assert await db.read(next_due, NOW + 5) == NOW + 7


async def test_each_is_assigned_its_own_address_and_forgets_why_it_waited(db: Database) -> None:
    ids = await db.tx(open_some, 1200)
    await db.tx(put_back, ids[:1], NOW, "circuit_open", 1, NOW)
    assignments = [Assignment(one, f"http://10.0.0.{one % 7}:1", f"process-{one}", "routed") for one in ids]
    await db.tx(assign_executions, assignments, 3, NOW)
    for one in (ids[0], ids[600], ids[-1]):
        stored = await db.read(execution, one)
        assert (stored.phase, stored.executor_address) == (Phase.DISPATCHING, f"http://10.0.0.{one % 7}:1")
        assert (stored.incarnation, stored.reason_code) == (f"process-{one}", None)


async def test_only_what_this_term_is_sending_is_given_another_address(db: Database) -> None:
    mine, earlier, taken, opened = await db.tx(open_some, 4)
    await db.tx(assign, mine, taken, epoch=2)
    await db.tx(assign, earlier, epoch=1)
    await db.tx(record_accepted, [taken], NOW)
    moved = await db.tx(reassign_executions, to("http://b:1", mine, earlier, taken, opened), 2, NOW + 1)
    assert moved == {mine}
    stored = [await db.read(execution, one) for one in (mine, earlier, taken, opened)]
    assert [one.executor_address for one in stored] == [
        "http://b:1",
        "http://10.0.0.1:9999",
        "http://10.0.0.1:9999",
        None,
    ]


async def test_what_is_put_back_waits_without_an_address(db: Database) -> None:
    opened, mine, earlier, ended = await db.tx(open_some, 4)
    await db.tx(assign, mine, ended, epoch=2)
    await db.tx(assign, earlier, epoch=1)
    await db.tx(end_executions, [success(ended)], NOW)
    await db.tx(put_back, [opened, mine, earlier, ended], NOW + 9, "circuit_open", 2, NOW)
    for one in (opened, mine):
        stored = await db.read(execution, one)
        assert (stored.phase, stored.executor_address, stored.incarnation) == (Phase.OPENED, None, None)
        assert (stored.not_before, stored.reason_code) == (NOW + 9, "circuit_open")
    assert (await db.read(execution, earlier)).phase is Phase.DISPATCHING
    assert (await db.read(execution, ended)).phase is Phase.ENDED
    assert await db.tx(take_due, NOW + 8, 10) == []
    assert [one.id for one in await db.tx(take_due, NOW + 9, 10)] == [opened, mine]


async def test_doubts_are_paged_and_carry_their_reason(db: Database) -> None:
    ids = await db.tx(open_some, 5)
    await db.tx(assign, *ids)
    await db.tx(record_unknown, [(one, f"lost {one}") for one in ids], NOW + 1, "unknown_answer")
    first = await db.read(list_unknown, 3)
    rest = await db.read(list_unknown, 3, first[-1][0].id)
    assert [one.id for one, _since in [*first, *rest]] == ids
    assert {(one.reason_code, since) for one, since in first} == {("unknown_answer", NOW + 1)}
    assert first[0][0].trigger_msg == f"lost {ids[0]}"
    await db.tx(record_accepted, ids[:1], NOW + 2)
    assert (await db.read(execution, ids[0])).reason_code is None
