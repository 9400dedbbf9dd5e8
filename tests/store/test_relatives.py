"""What belongs to an execution, on every kind of store."""

from typing import Any

import pytest
from sqlalchemy import Connection

from orth.domain.jobs import TriggerCause
from orth.store import relatives
from orth.store.database import Database
from orth.store.executions import find_execution, open_executions
from orth.store.relatives import Relatives, relatives_of
from tests.store.builders import NOW, an_opening, execution, open_some


def found_for(connection: Connection, execution_id: int) -> Relatives:
    return relatives_of(connection, execution(connection, execution_id))


def ids(listed: object) -> list[int]:
    assert isinstance(listed, list | tuple)
    return [one.id for one in listed]


def following(connection: Connection, /, origin: int, key: str, **changes: Any) -> int:
    """An execution that follows another one; its id."""
    opening = an_opening(key, origin_id=origin, **{"cause": TriggerCause.RETRY} | changes)
    open_executions(connection, [opening], NOW)
    found = [one for one in range(origin, origin + 20) if is_by(connection, one, key)]
    return found[0]


def is_by(connection: Connection, execution_id: int, key: str) -> bool:
    one = find_execution(connection, execution_id)
    return one is not None and one.trigger_key == key


async def test_the_runs_before_and_after_are_of_the_same_job(db: Database) -> None:
    first, second, third = await db.tx(open_some, 3)
    (other,) = await db.tx(open_some, 1, job_id=2)
    (last,) = await db.tx(open_some, 1, prefix="late")
    found = [await db.read(found_for, one) for one in (first, second, third, last, other)]
    assert [(one.previous, one.next) for one in found] == [
        (None, second),
        (first, third),
        (second, last),
        (third, None),
        (None, None),
    ]


async def test_what_another_group_has_is_not_there(db: Database) -> None:
    (before,) = await db.tx(open_some, 1, job_group=9)
    (here,) = await db.tx(open_some, 1, prefix="moved", job_group=1)
    again = await db.tx(following, here, f"retry:{here}", job_group=9)
    found = await db.read(found_for, here)
    assert (found.previous, found.next, ids(found.attempts)) == (None, None, [here])
    assert before < here < again


async def test_attempts_are_a_chain_whichever_of_them_is_asked(db: Database) -> None:
    (first,) = await db.tx(open_some, 1)
    await db.tx(open_some, 2, prefix="between")
    second = await db.tx(following, first, f"retry:{first}", attempt=2)
    third = await db.tx(following, second, f"again:{second}:key", cause=TriggerCause.MANUAL)
    for one in (first, second, third):
        found = await db.read(found_for, one)
        assert ids(found.attempts) == [first, second, third]
        assert ids(found.shards) == []


async def test_a_child_is_no_attempt_of_its_parent(db: Database) -> None:
    (parent,) = await db.tx(open_some, 1)
    child = await db.tx(following, parent, f"parent:{parent}", cause=TriggerCause.PARENT)
    assert ids((await db.read(found_for, parent)).attempts) == [parent]
    assert ids((await db.read(found_for, child)).attempts) == [child]


async def test_shards_are_those_of_the_same_trigger(db: Database) -> None:
    shards = [an_opening("fire:7", shard_index=index, shard_total=3) for index in range(3)]
    await db.tx(open_executions, shards, NOW)
    (after,) = await db.tx(open_some, 1, prefix="after")
    found = await db.read(found_for, after - 1)
    assert ids(found.shards) == [after - 3, after - 2, after - 1]
    assert (found.previous, found.next) == (None, after)


async def test_later_attempts_are_looked_for_so_far_and_no_further(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relatives, "_LOOK_AHEAD", 2)
    (first,) = await db.tx(open_some, 1)
    await db.tx(open_some, 2, prefix="between")
    far = await db.tx(following, first, f"retry:{first}")
    assert ids((await db.read(found_for, first)).attempts) == [first]
    assert ids((await db.read(found_for, far)).attempts) == [first, far]
