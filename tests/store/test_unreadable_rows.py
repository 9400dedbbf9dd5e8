"""Rows of groups, executors and executions that this version cannot read: they spoil nothing but themselves."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Table, update

from orth.domain.executions import Execution, Phase
from orth.domain.jobs import AddressType, GroupDialect
from orth.errors import Unreadable
from orth.store.ahead import hold_fires_after, list_recalled
from orth.store.announced import announced_handlers
from orth.store.bulk import hold_ended
from orth.store.database import Database
from orth.store.dispatching import list_unknown, take_ahead, take_due
from orth.store.execution_lists import list_executions
from orth.store.executions import (
    UnreadableExecution,
    end_executions,
    find_execution,
    find_readable,
    list_taken,
    unreadable_executions,
)
from orth.store.executor_entries import list_executors
from orth.store.groups import get_group, groups_by_id, list_groups, set_group, unreadable_groups
from orth.store.killing import hold_executions
from orth.store.registry import Beat, record_beats, remove_silent
from orth.store.tables import executions, groups
from tests.store.builders import NOW, a_group, assign, open_some, stored_group, success

A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"


def write(connection: Connection, table: Table, row: int, **values: object) -> None:
    """Write what no verb of the store would."""
    connection.execute(update(table).where(table.c.id == row).values(**values))


# --- groups ---


@pytest.mark.parametrize(("column", "value"), [("dialect", "xxl36"), ("address_type", 7)])
async def test_a_group_says_what_of_it_is_unknown(db: Database, column: str, value: object) -> None:
    good, bad = await stored_group(db, "good-app"), await stored_group(db, "bad-app")
    await db.tx(write, groups, bad, **{column: value})
    by_id = await db.read(groups_by_id, {good, bad})
    assert [one.unreadable for one in await db.read(list_groups, 0, 10)] == ["", f"{column} is {str(value)!r}"]
    assert by_id[bad] == await db.read(get_group, bad)
    assert [one.id for one in await db.read(unreadable_groups, 10)] == [bad]
    await db.tx(set_group, a_group("bad-app", id=bad), NOW)
    assert await db.read(unreadable_groups, 10) == []


async def test_what_stands_in_for_the_unknown_leads_to_no_conclusion(db: Database) -> None:
    bad = await stored_group(db, "bad-app")
    await db.tx(write, groups, bad, dialect="xxl36", address_type=7)
    found = await db.read(get_group, bad)
    assert (found.dialect, found.address_type) == (GroupDialect.AUTO, AddressType.MANUAL)
    assert found.unreadable == "dialect is 'xxl36', address_type is '7'"


async def test_the_registry_keeps_the_list_of_a_group_in_an_unknown_dialect(db: Database) -> None:
    bad = await stored_group(db, "bad-app")
    await db.tx(write, groups, bad, dialect="xxl36")
    await db.tx(record_beats, [Beat("bad-app", A), Beat("bad-app", B)], NOW)
    assert (await db.read(get_group, bad)).addresses == (A, B)
    silent = [one for one in await db.read(list_executors) if one.address == A]
    await db.tx(remove_silent, silent, NOW)
    assert (await db.read(get_group, bad)).addresses == (B,)


# --- executors ---


@pytest.mark.parametrize("labels", ["[1,", "[1]", '{"zone": 1}', "null"])
async def test_an_executor_with_labels_nobody_can_read_is_there(db: Database, labels: str) -> None:
    await db.tx(record_beats, [Beat("app", A, "one", labels=labels), Beat("app", B, "two", labels='{"a": "b"}')], NOW)
    bad, good = await db.read(list_executors)
    assert (bad.incarnation, bad.labels, bad.known_labels) == ("one", {}, None)
    assert bad.unreadable == f"labels is {labels!r}"
    assert (good.labels, good.known_labels, good.unreadable) == ({"a": "b"}, {"a": "b"}, "")
    await db.tx(remove_silent, [bad], NOW)
    assert [one.address for one in await db.read(list_executors)] == [B]


@pytest.mark.parametrize("handlers", ["[1,", "[]", "{}", '{"handlers": 1}', '{"handlers": [1]}', '{"handlers": [{}]}'])
async def test_handlers_nobody_can_read_are_left_out(db: Database, handlers: str) -> None:
    readable = '{"handlers": [{"name": "a"}]}'
    await db.tx(record_beats, [Beat("app", A, "one", handlers=handlers), Beat("app", B, handlers=readable)], NOW)
    assert await db.read(announced_handlers, "app") == [[{"name": "a"}]]
    assert len(await db.read(list_executors)) == 2


# --- executions ---

Verb = Callable[[Connection, list[int]], list[int]]


def ids_of(found: Any) -> list[int]:
    return [one.id for one in found]


LOOKS: dict[str, tuple[dict[str, object], Verb]] = {
    "take_due": ({}, lambda c, _ids: ids_of(take_due(c, NOW, 1))),
    "take_ahead": ({"not_before": NOW + 1}, lambda c, _ids: ids_of(take_ahead(c, NOW, 0, 1))),
    "list_taken": ({"phase": Phase.RUNNING}, lambda c, _ids: ids_of(list_taken(c, 0, 1))),
    "list_unknown": ({"phase": Phase.UNKNOWN}, lambda c, _ids: [one.id for one, _since in list_unknown(c, 1)]),
    "list_recalled": (
        {"phase": Phase.DISPATCHED, "recalled": "job_stopped", "not_before": NOW + 1},
        lambda c, _ids: [one.execution.id for one in list_recalled(c, NOW, 1)],
    ),
    "hold_fires_after": ({}, lambda c, _ids: ids_of(hold_fires_after(c, 1, NOW))),
    "hold_ended": ({"phase": Phase.ENDED, "outcome": 1}, lambda c, ids: ids_of(hold_ended(c, ids))),
    "hold_executions": ({}, lambda c, ids: list(hold_executions(c, ids))),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_whoever_works_on_executions_passes_over_it(db: Database, name: str) -> None:
    """Also where it comes first and only one is asked for."""
    values, look = LOOKS[name]
    bad, good = await db.tx(open_some, 2)
    for one, cause in ((bad, "quantum"), (good, "cron")):
        await db.tx(write, executions, one, trigger_key=f"fire:{NOW + one}", cause=cause, **values)
    assert await db.tx(look, [bad, good]) == [good]


async def test_a_list_shows_it_as_it_is_stored(db: Database) -> None:
    first, second, third = await db.tx(open_some, 3)
    await db.tx(write, executions, first, phase="limbo")
    await db.tx(write, executions, second, cause="quantum")
    newest, middle, oldest = await db.read(list_executions, limit=10)
    assert (type(newest), newest.id) == (Execution, third)
    for told, column, value in ((middle, "cause", "quantum"), (oldest, "phase", "limbo")):
        assert isinstance(told, UnreadableExecution)
        assert told.reason == f"{column} is {value!r}"
        assert told.values[column] == value
        assert told.values["executor_handler"] == "nightly"
    assert ids_of(await db.read(unreadable_executions, 10)) == [first, second]
    assert ids_of(await db.read(unreadable_executions, 1)) == [first]


@pytest.mark.parametrize("phase", ["a", "dispatchee", "limbo", "openee", "zzz"])
async def test_an_unknown_phase_is_found_wherever_it_sorts(db: Database, phase: str) -> None:
    bad, _good = await db.tx(open_some, 2)
    await db.tx(write, executions, bad, phase=phase)
    assert ids_of(await db.read(unreadable_executions, 10)) == [bad]


async def test_whoever_asks_for_that_one_is_told(db: Database) -> None:
    (bad,) = await db.tx(open_some, 1)
    await db.tx(write, executions, bad, cause="quantum")
    with pytest.raises(Unreadable, match=f"Execution {bad} cannot be read: cause is 'quantum'"):
        await db.read(find_execution, bad)
    assert await db.read(find_readable, bad) is None
    assert await db.read(find_execution, bad + 1) is None


async def test_a_result_for_it_is_stored_and_leads_to_nothing(db: Database) -> None:
    bad, good = await db.tx(open_some, 2)
    await db.tx(assign, bad, good)
    await db.tx(write, executions, bad, cause="quantum")
    won = await db.tx(end_executions, [success(bad), success(good)], NOW)
    assert ids_of(won) == [good]
    told = (await db.read(list_executions, limit=10))[1]
    assert isinstance(told, UnreadableExecution)
    assert (told.values["phase"], told.values["handle_code"]) == ("ended", 200)
    assert await db.read(unreadable_executions, 10) == [], "what has ended needs nobody's work"
