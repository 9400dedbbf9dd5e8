"""What is remembered of the cluster, on every database, and how much of it."""

from dataclasses import replace

import pytest

from orth.domain.handoffs import Reason
from orth.store import cluster_history
from orth.store.cluster_history import (
    Change,
    hands_of,
    list_handoffs,
    list_terms,
    newest_handoff,
    note_end_of_term,
    note_handoffs,
    note_term,
    trim_handoffs,
)
from orth.store.database import Database
from orth.store.nodes import join
from tests.store.builders import NOW
from tests.store.test_nodes import SAID


def change(execution_id: int) -> Change:
    return Change(execution_id, 7, "alpha", "gone", offered=False, since=NOW - 1_500)


async def test_terms_are_kept_newest_first_and_not_for_ever(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_history, "TERMS_KEPT", 3)
    for epoch in range(1, 6):
        await db.tx(note_term, epoch, f"node-{epoch}", f"process-{epoch}", NOW + epoch)
    kept = await db.read(list_terms, 10)
    assert [(one.epoch, one.node_id, one.began_at) for one in kept] == [
        (5, "node-5", NOW + 5),
        (4, "node-4", NOW + 4),
        (3, "node-3", NOW + 3),
    ]
    assert [one.epoch for one in await db.read(list_terms, 1)] == [5]


async def test_a_term_ends_when_it_is_given_up_or_its_process_was_last_heard_of(db: Database) -> None:
    await db.tx(note_term, 1, "alpha", "first", NOW)
    await db.tx(note_end_of_term, 1, NOW + 5)
    await db.tx(join, replace(SAID, node_id="alpha", incarnation="second"), NOW + 70)
    await db.tx(note_term, 2, "alpha", "second", NOW + 60)
    await db.tx(note_end_of_term, 1, NOW + 99)
    await db.tx(note_term, 3, "beta", "of nobody known", NOW + 9_000)
    await db.tx(note_term, 4, "alpha", "second", NOW + 9_500)
    ends = [(one.epoch, one.ended_at) for one in await db.read(list_terms, 10)]
    assert ends == [(4, None), (3, NOW + 9_500), (2, NOW + 70), (1, NOW + 5)]


async def test_changes_of_hands_are_kept_newest_first_and_trimmed_in_steps(db: Database) -> None:
    assert await db.read(newest_handoff) == 0
    await db.tx(note_handoffs, ("beta", "process"), [change(one) for one in range(1, 8)], NOW)
    found = await db.read(list_handoffs, None, 2)
    assert [(one.execution_id, one.from_node, one.to_node, one.reason, one.waited_ms) for one in found] == [
        (7, "alpha", "beta", Reason.NODE_CRASH, 1_500),
        (6, "alpha", "beta", Reason.NODE_CRASH, 1_500),
    ]
    assert [one.execution_id for one in await db.read(list_handoffs, found[-1].id, 2)] == [5, 4]
    await db.tx(note_handoffs, ("alpha", "newer"), [Change(6, 7, "beta", "process", offered=True, since=NOW)], NOW + 1)
    hands = await db.read(hands_of, {6, 7, 8})
    assert {one: [(hand.from_node, hand.to_node) for hand in past] for one, past in hands.items()} == {
        6: [("alpha", "beta"), ("beta", "alpha")],
        7: [("alpha", "beta")],
    }
    assert [await db.tx(trim_handoffs, 3, 2) for _ in range(3)] == [3, 3, 0]
    assert [one.execution_id for one in await db.read(list_handoffs, None, 10)] == [6, 7]
