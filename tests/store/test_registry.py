"""The registry: beats, good-byes, silence, and address lists that follow at once."""

import asyncio
import json
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, update

from orth.domain.jobs import AddressType
from orth.domain.nodes import ExecutorEntry, StillWorking, Unavailability, Vitals
from orth.store.announced import Unclaimed, announced_handlers, list_unclaimed
from orth.store.database import Database
from orth.store.executions import end_executions
from orth.store.executor_entries import (
    FORMER,
    executors_at,
    list_executors,
    list_former_executors,
    list_overdue,
    still_working,
)
from orth.store.groups import create_group, get_group
from orth.store.handler_lists import LISTS_LIMIT, SMALL_LIST, remove_unused_lists
from orth.store.registry import (
    Arrival,
    Beat,
    Farewell,
    Goodbye,
    drop_former,
    record_beats,
    refresh_addresses,
    remove_executors,
    remove_silent,
    take_off,
)
from orth.store.tables import handler_lists, registry
from tests.store.builders import (
    NOW,
    a_group,
    assign,
    on_servers,
    open_some,
    refusal,
    stored_group,
    until_blocked,
    until_done_or_blocked,
)

A, B, C = "http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999"


def record_beat(connection: Connection, beat: Beat, now: int) -> bool:
    """Whether the beat was news."""
    [arrival] = record_beats(connection, [beat], now)
    return arrival.joined or arrival.earlier is not None


def remove_executor(
    connection: Connection, app_name: str, address: str, now: int, incarnation: str | None = None
) -> bool:
    [farewell] = remove_executors(connection, [Goodbye(app_name, address, incarnation)], now)
    return farewell.left


def remove_stale(connection: Connection, before: int, now: int) -> list[ExecutorEntry]:
    return remove_silent(connection, list_overdue(connection, before), now)


async def lists(db: Database) -> list[tuple[str, int]]:
    def read(connection: Connection) -> list[tuple[str, int]]:
        order = handler_lists.c.app_name, handler_lists.c.id
        rows = connection.execute(select(handler_lists.c.app_name, handler_lists.c.size).order_by(*order))
        return [(row.app_name, row.size) for row in rows]

    return await db.read(read)


async def addresses(db: Database, group: int) -> tuple[str, ...]:
    return (await db.read(get_group, group)).addresses


async def test_a_first_beat_is_news_and_the_next_is_not(db: Database) -> None:
    beat = Beat("app", A, "process-1", frozenset({"resend", "batch"}))
    assert await db.tx(record_beat, beat, NOW)
    assert not await db.tx(record_beat, beat, NOW + 5)
    assert await db.read(list_executors) == [
        ExecutorEntry("app", A, NOW + 5, "process-1", frozenset({"resend", "batch"}), since=NOW)
    ]


async def test_another_process_on_the_same_address_is_news(db: Database) -> None:
    await db.tx(record_beat, Beat("app", A, "process-1", frozenset({"resend"})), NOW)
    assert await db.tx(record_beat, Beat("app", A, "process-2"), NOW + 1)
    assert await db.read(list_executors) == [ExecutorEntry("app", A, NOW + 1, "process-2", frozenset(), since=NOW + 1)]


async def test_a_foreign_executor_has_no_incarnation(db: Database) -> None:
    assert await db.tx(record_beat, Beat("app", A), NOW)
    assert not await db.tx(record_beat, Beat("app", A), NOW + 1)
    assert await db.read(list_executors, "app") == [ExecutorEntry("app", A, NOW + 1, None, frozenset(), since=NOW)]


async def test_one_address_may_serve_two_apps(db: Database) -> None:
    for app_name, address in (("b", A), ("a", B), ("a", A), ("A", A)):
        assert await db.tx(record_beat, Beat(app_name, address), NOW)
    everyone = [(entry.app_name, entry.address) for entry in await db.read(list_executors)]
    assert everyone == [("A", A), ("a", A), ("a", B), ("b", A)]
    assert [entry.address for entry in await db.read(list_executors, "a")] == [A, B]


async def test_who_says_good_bye_is_forgotten_once(db: Database) -> None:
    group = await stored_group(db, "app")
    for address in (A, B):
        await db.tx(record_beat, Beat("app", address), NOW)
    assert not await db.tx(remove_executor, "other", A, NOW)
    assert await db.tx(remove_executor, "app", A, NOW)
    assert not await db.tx(remove_executor, "app", A, NOW)
    assert await addresses(db, group) == (B,)


async def test_handlers_are_stored_once_for_each_app(db: Database) -> None:
    said = json.dumps({"handlers": [{"name": "a", "description": "x" * 1000}]})
    beats = [Beat(app, address, "p", handlers=said) for app in ("app", "other") for address in (A, B, C)]
    for _time in range(2):
        await db.tx(record_beats, beats, NOW)
    assert await lists(db) == [("app", len(said)), ("other", len(said))]
    assert [len(one) for one in (await db.read(announced_handlers, "app"))] == [1]


async def test_the_lists_of_handlers_of_an_app_are_limited(db: Database) -> None:
    def large(number: int, size: int = LISTS_LIMIT // 3) -> Beat:
        handlers = json.dumps({"handlers": [{"name": f"h{number}", "description": "x" * size}]})
        return Beat("app", f"http://10.0.0.{number}:1", handlers=handlers)

    arrivals = await db.tx(record_beats, [large(number) for number in (1, 2, 3, 4)], NOW)
    assert [one.lacks_room_for_handlers for one in arrivals] == [False, False, True, True]
    [small, known, foreign, of_other] = await db.tx(
        record_beats,
        [large(5, SMALL_LIST * 9 // 10), large(1), Beat("app", C), replace(large(3), app_name="other")],
        NOW,
    )
    assert small.joined
    assert not any(one.lacks_room_for_handlers for one in (small, known, foreign, of_other))
    assert {entry.address for entry in await db.read(list_executors)} >= {"http://10.0.0.5:1", C}


async def test_lists_that_nobody_announces_are_removed(db: Database) -> None:
    beats = [Beat("app", one, handlers=json.dumps({"handlers": [{"name": one}]})) for one in (A, B)]
    await db.tx(record_beats, beats, NOW)
    await db.tx(take_off, "app", A, NOW)
    assert await db.tx(remove_unused_lists, NOW) == 0, "it was announced a moment ago"
    assert await db.tx(remove_unused_lists, NOW + 1) == 1
    assert len(await lists(db)) == 1
    assert await db.read(announced_handlers, "app") == [[{"name": B}]]


async def test_handlers_are_told_by_those_who_announce_them(db: Database) -> None:
    for address, handlers in ((B, '{"handlers": [{"name": "b"}]}'), (A, '{"handlers": [{"name": "a"}]}'), (C, None)):
        await db.tx(record_beat, Beat("app", address, "p", handlers=handlers), NOW)
    assert await db.read(announced_handlers, "app") == [[{"name": "a"}], [{"name": "b"}]]
    assert await db.read(announced_handlers, "other") == []


# --- leaving ---


async def test_who_is_leaving_is_known_and_gets_no_work(db: Database) -> None:
    group = await stored_group(db, "app")
    beats = [Beat("app", address, "one") for address in (A, B)]
    await db.tx(record_beats, beats, NOW)
    leaving = replace(beats[0], unavailable=Unavailability.LEAVING)
    await db.tx(record_beats, [leaving], NOW + 1)
    assert await addresses(db, group) == (B,)
    assert [(one.address, one.is_leaving) for one in await db.read(list_executors, "app")] == [(A, True), (B, False)]
    await db.tx(record_beats, [replace(leaving, repeated=True)], NOW + 2)
    await db.tx(remove_stale, NOW, NOW + 3)
    assert await addresses(db, group) == (B,), "no refreshing puts it back"
    await db.tx(record_beats, [Beat("app", A, "its successor")], NOW + 4)
    assert await addresses(db, group) == (A, B)


@pytest.mark.parametrize("way", ["good-bye", "silence"])
async def test_who_leaves_with_open_executions_stays_known_for_them(db: Database, way: str) -> None:
    [execution_id] = await db.tx(open_some, 1)
    others = [Beat("app", address, "process-1", key_id="key") for address in (A, B)]
    await db.tx(record_beats, others, NOW)
    await db.tx(assign, execution_id)
    if way == "good-bye":
        await db.tx(remove_executors, [Goodbye("app", address) for address in (A, B)], NOW + 1)
    else:
        await db.tx(remove_stale, NOW + 1, NOW + 1)
    assert await db.read(list_executors) == []
    assert await db.read(executors_at, A) == []
    for _ in range(2):
        [former] = await db.read(list_former_executors)
        assert (former.app_name, former.address, former.key_id) == ("app", A, "key")
        assert await db.read(executors_at, A, FORMER) == [former]
        assert await db.read(executors_at, B, FORMER) == []
        await db.tx(drop_former)

    await db.tx(end_executions, [refusal(execution_id)], NOW + 2)
    await db.tx(drop_former)
    assert await db.read(list_former_executors) == []


async def test_who_left_with_open_executions_and_comes_back_is_registered_alone(db: Database) -> None:
    [execution_id] = await db.tx(open_some, 1)
    beat = Beat("app", A, "process-1")
    await db.tx(assign, execution_id)
    for at in (NOW, NOW + 2):
        await db.tx(record_beats, [beat], at)
        await db.tx(remove_executors, [Goodbye("app", A)], at + 1)
        assert len(await db.read(list_former_executors)) == 1
    await db.tx(record_beats, [beat], NOW + 4)
    await db.tx(drop_former)
    assert await db.read(list_former_executors) == []
    assert [one.address for one in await db.read(list_executors)] == [A]


# --- silence ---


async def test_the_silent_are_removed_and_named(db: Database) -> None:
    group = await stored_group(db, "app")
    for address, at in ((A, NOW - 91), (B, NOW - 90), (C, NOW)):
        await db.tx(record_beat, Beat("app", address), at)
    assert [entry.address for entry in await db.tx(remove_stale, NOW - 90, NOW)] == [A]
    assert [entry.address for entry in await db.read(list_executors)] == [B, C]
    assert await addresses(db, group) == (B, C)
    assert await db.tx(remove_stale, NOW - 90, NOW) == []


@on_servers
async def test_a_beat_that_comes_while_the_silent_are_removed_keeps_its_sender(db: Database, peer: Database) -> None:
    group = await stored_group(db, "app")
    for address in (A, B):
        await db.tx(record_beat, Beat("app", address), NOW - 100)
    with peer.engine.begin() as beating:
        record_beat(beating, Beat("app", A), NOW)
        removing = asyncio.create_task(db.tx(remove_stale, NOW - 90, NOW))
        await until_blocked(peer)
    assert [entry.address for entry in await removing] == [B]
    assert [entry.address for entry in await db.read(list_executors)] == [A]
    assert await addresses(db, group) == (A,)


# --- address lists ---


async def test_an_automatic_list_follows_the_registry_at_once_and_a_manual_one_never(db: Database) -> None:
    automatic = await stored_group(db, "auto")
    manual = await stored_group(db, "manual", address_type=AddressType.MANUAL, addresses=(C,))
    for address in (B, A):
        for app_name in ("auto", "manual", "no-group"):
            await db.tx(record_beat, Beat(app_name, address), NOW)
    assert await addresses(db, automatic) == (A, B)
    assert await addresses(db, manual) == (C,)
    await db.tx(remove_executor, "auto", A, NOW)
    assert await addresses(db, automatic) == (B,)


async def test_a_new_group_finds_who_was_there_before(db: Database) -> None:
    await db.tx(record_beat, Beat("app", A), NOW)

    def define(connection: Connection) -> int:
        group = create_group(connection, a_group("app"), NOW)
        refresh_addresses(connection, "app", NOW)
        return group

    assert await addresses(db, await db.tx(define)) == (A,)


@on_servers
async def test_two_first_beats_at_once_are_both_listed(db: Database, peer: Database) -> None:
    group = await stored_group(db, "app")
    with db.engine.begin() as first:
        record_beat(first, Beat("app", A), NOW)
        second = asyncio.create_task(peer.tx(record_beat, Beat("app", B), NOW))
        await until_blocked(db)
    assert await second
    assert await addresses(db, group) == (A, B)


async def test_many_executors_that_start_at_once_are_all_listed(db: Database, peer: Database) -> None:
    group = await stored_group(db, "app")
    many = [f"http://10.0.0.{number}:9999" for number in range(10, 26)]
    news = await asyncio.gather(*((db, peer)[n % 2].tx(record_beat, Beat("app", a), NOW) for n, a in enumerate(many)))
    assert all(news)
    assert await addresses(db, group) == tuple(many)
    await asyncio.gather(*((db, peer)[n % 2].tx(remove_executor, "app", a, NOW) for n, a in enumerate(many[1:])))
    assert await addresses(db, group) == (many[0],)


@on_servers
async def test_a_beat_that_missed_the_birth_of_its_group_is_listed_by_the_next_look(
    db: Database, peer: Database
) -> None:
    with db.engine.begin() as birth:
        group = create_group(birth, a_group("app"), NOW)
        refresh_addresses(birth, "app", NOW)
        beating = asyncio.create_task(peer.tx(record_beat, Beat("app", A), NOW))
        await until_done_or_blocked(db, beating)
    await beating
    await db.tx(remove_stale, NOW - 90, NOW)
    assert await addresses(db, group) == (A,)


async def test_beats_of_one_process_through_two_nodes_are_one_entry(db: Database, peer: Database) -> None:
    beats = [(db, peer)[n % 2].tx(record_beat, Beat("app", A, "process-1"), NOW + n) for n in range(20)]
    news = await asyncio.gather(*beats)
    assert any(news)
    [entry] = await db.read(list_executors)
    assert entry.incarnation == "process-1"
    assert NOW <= entry.last_beat < NOW + 20


async def test_a_good_bye_of_an_earlier_process_does_not_remove_its_successor(db: Database) -> None:
    await db.tx(record_beat, Beat("app", A, incarnation="second"), NOW)
    assert not await db.tx(remove_executor, "app", A, NOW, "first")
    assert [entry.incarnation for entry in await db.read(list_executors, "app")] == ["second"]
    assert await db.tx(remove_executor, "app", A, NOW, "second")


# --- many at once ---


async def test_many_beats_are_one_unit_and_each_is_told_what_it_was(db: Database) -> None:
    group = await stored_group(db, "app")
    first = await db.tx(record_beats, [Beat("app", A, "one"), Beat("app", B), Beat("other", A, "one")], NOW)
    assert [arrival.joined for arrival in first] == [True, True, True]
    beats = [Beat("app", A, "two"), Beat("app", C), Beat("app", B), Beat("app", C)]
    second = await db.tx(record_beats, beats, NOW + 1)
    assert [(arrival.joined, arrival.earlier) for arrival in second] == [
        (False, "one"),
        (True, None),
        (False, None),
        (True, None),
    ]
    assert await addresses(db, group) == (A, B, C)
    assert {entry.last_beat for entry in await db.read(list_executors, "app")} == {NOW + 1}


async def test_a_process_is_known_since_its_first_beat_and_its_successor_since_its_own(db: Database) -> None:
    for at, incarnation in ((NOW, "one"), (NOW + 10, "one"), (NOW + 20, "two"), (NOW + 30, "two")):
        await db.tx(record_beats, [Beat("app", A, incarnation)], at)
        [entry] = await db.read(list_executors)
        assert (entry.since, entry.last_beat) == (NOW if incarnation == "one" else NOW + 20, at)


async def test_what_an_executor_says_of_itself_follows_its_beats(db: Database) -> None:
    told = Beat("app", A, "one", vitals=Vitals(running=1, python="3.12.1"))
    await db.tx(record_beats, [told], NOW)
    busy = Vitals(running=2, queued=3, threads=4, abandoned=5, unacknowledged=6, slots=7, python="3.12.1")
    for at, vitals in enumerate((busy, Vitals(), busy), 1):
        [arrival] = await db.tx(record_beats, [replace(told, vitals=vitals, repeated=True)], NOW + at)
        [entry] = await db.read(list_executors)
        assert entry.vitals == vitals
    await db.tx(record_beats, [replace(told, repeated=True, row=arrival.row)], NOW + 9)
    [entry] = await db.read(list_executors)
    assert entry.vitals == told.vitals


async def test_where_a_handler_still_works_is_what_its_own_process_says(db: Database) -> None:
    left = Vitals(abandoned=2, left_behind=((7, NOW), (9, NOW + 1)))
    told = Beat("app", A, "one", vitals=left)
    await db.tx(record_beats, [told], NOW)
    [entry] = await db.read(list_executors)
    assert entry.vitals == left
    assert await db.read(still_working, 9, "one") == StillWorking(A, NOW + 1)
    assert await db.read(still_working, 8, "one") is None
    assert await db.read(still_working, 9, "another") is None, "nobody speaks for the executions of others"
    returned = replace(told, vitals=Vitals(abandoned=1, left_behind=((7, NOW),)), repeated=True)
    await db.tx(record_beats, [returned], NOW + 5)
    assert await db.read(still_working, 9, "one") is None
    assert await db.read(still_working, 7, "one") == StillWorking(A, NOW)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"from the future": 1}', '{"running": "x"}', '{"python": 3}'])
async def test_what_cannot_be_read_of_it_is_as_if_it_had_not_been_said(db: Database, text: str) -> None:
    await db.tx(record_beats, [Beat("app", A, "one", vitals=Vitals(running=1))], NOW)
    await db.tx(lambda connection: connection.execute(update(registry).values(vitals=text)))
    [entry] = await db.read(list_executors)
    assert (entry.vitals, entry.incarnation) == (None, "one")


async def test_a_repeated_beat_writes_only_what_changes_from_beat_to_beat(db: Database) -> None:
    told = Beat("app", A, "one", frozenset({"resend"}), "1", '{"handlers": []}', '{"zone": "eu"}', 3, -20)
    await db.tx(record_beats, [told], NOW)
    again = Beat("app", A, "one", load=7, clock_offset=5, repeated=True)
    [arrival] = await db.tx(record_beats, [again], NOW + 1)
    [entry] = await db.read(list_executors)
    assert entry == ExecutorEntry("app", A, NOW + 1, "one", frozenset({"resend"}), "1", NOW, 7, {"zone": "eu"}, 5)
    found = replace(again, row=arrival.row, load=8)
    assert await db.tx(record_beats, [found], NOW + 2) == [Arrival(NOW + 2, joined=False, row=arrival.row)]
    [entry] = await db.read(list_executors)
    assert (entry.last_beat, entry.load, entry.version) == (NOW + 2, 8, "1")
    await db.tx(record_beats, [replace(found, load=9, moved=False)], NOW + 3)
    [entry] = await db.read(list_executors)
    assert (entry.last_beat, entry.load) == (NOW + 3, 8)
    assert await db.read(announced_handlers, "app") == [[]]


async def test_a_repeated_beat_of_another_process_than_the_stored_one_is_written_whole(db: Database) -> None:
    await db.tx(record_beats, [Beat("app", A, "one", version="1")], NOW)
    [arrival] = await db.tx(record_beats, [Beat("app", A, "two", version="2", repeated=True)], NOW + 1)
    assert arrival.earlier == "one"
    [entry] = await db.read(list_executors)
    assert (entry.incarnation, entry.version) == ("two", "2")


async def test_beats_whose_row_is_gone_are_stored_all_the_same(db: Database) -> None:
    group = await stored_group(db, "app")
    arrivals = await db.tx(record_beats, [Beat("app", A, "one"), Beat("app", B, "one")], NOW)
    arrivals = await db.tx(record_beats, [Beat("app", a, "one", repeated=True) for a in (A, B)], NOW)
    assert await db.tx(remove_executors, [Goodbye("app", A)], NOW) == [Farewell(left=True)]
    beats = [
        Beat("app", a, "one", version="1", repeated=True, row=arrival.row)
        for a, arrival in zip((A, B), arrivals, strict=True)
    ]
    again = await db.tx(record_beats, beats, NOW + 5)
    assert [arrival.joined for arrival in again] == [True, False]
    assert await addresses(db, group) == (A, B)
    assert [(one.address, one.last_beat) for one in await db.read(list_executors)] == [(A, NOW + 5), (B, NOW + 5)]


async def test_many_good_byes_and_who_they_speak_for(db: Database) -> None:
    group = await stored_group(db, "app")
    await db.tx(record_beats, [Beat("app", A, "one"), Beat("app", B, "one"), Beat("app", C)], NOW)
    goodbyes = [Goodbye("app", A, "one"), Goodbye("app", B, "other"), Goodbye("app", C, "any"), Goodbye("no", A)]
    assert [one.left for one in await db.tx(remove_executors, goodbyes, NOW)] == [True, False, True, False]
    assert await addresses(db, group) == (B,)


async def test_a_thousand_leave_in_one_transaction(db: Database) -> None:
    group = await stored_group(db, "app")
    many = [f"http://10.0.{number // 250}.{number % 250}:9999" for number in range(1200)]
    await db.tx(record_beats, [Beat("app", address, "one") for address in many], NOW)
    assert len(await addresses(db, group)) == 1200
    left = await db.tx(remove_executors, [Goodbye("app", address) for address in many[:1000]], NOW)
    assert all(one.left for one in left)
    assert await addresses(db, group) == tuple(sorted(many[1000:]))
    overdue = await db.read(list_overdue, NOW + 1)
    assert len(await db.tx(remove_silent, overdue, NOW)) == 200
    assert await addresses(db, group) == ()


# --- looking ---


async def test_executors_come_in_pages(db: Database) -> None:
    await db.tx(record_beats, [Beat(app, address) for app in ("b", "a") for address in (C, A, B)], NOW)
    seen: list[tuple[str, str]] = []
    while page := await db.read(list_executors, after=seen[-1] if seen else None, limit=2):
        assert len(page) <= 2
        seen += [(entry.app_name, entry.address) for entry in page]
    assert seen == [(app, address) for app in ("a", "b") for address in (A, B, C)]
    assert [one.address for one in await db.read(list_executors, "b", after=("b", A), limit=1)] == [B]


async def test_apps_without_a_group_are_seen(db: Database) -> None:
    await stored_group(db, "app")
    await db.tx(record_beats, [Beat("app", A), Beat("zoo", A), Beat("stray", A)], NOW)
    await db.tx(record_beats, [Beat("stray", B)], NOW + 7)
    assert await db.read(list_unclaimed) == [Unclaimed("stray", 2, NOW + 7), Unclaimed("zoo", 1, NOW)]
    assert await db.read(list_unclaimed, after="stray", limit=5) == [Unclaimed("zoo", 1, NOW)]
    await stored_group(db, "zoo")
    assert [one.app_name for one in await db.read(list_unclaimed)] == ["stray"]


async def test_an_app_has_room_for_so_many_addresses(db: Database) -> None:
    def record(connection: Connection, beats: list[Beat], now: int) -> list[Arrival]:
        return record_beats(connection, beats, now, per_app=2)

    group = await stored_group(db)
    first, second, third = Beat("reports", A, "one"), Beat("reports", B), Beat("reports", C)
    came = await db.tx(record, [first, second, third, replace(second, incarnation="again")], NOW)
    assert [(one.joined, one.lacks_room) for one in came] == [
        (True, False),
        (True, False),
        (False, True),
        (True, False),
    ]
    assert await addresses(db, group) == (A, B)
    again = await db.tx(record, [replace(first, repeated=True), third, Beat("others", C)], NOW + 1)
    assert [(one.joined, one.lacks_room) for one in again] == [(False, False), (False, True), (True, False)]
    assert [one.last_beat for one in await db.read(list_executors, "reports")] == [NOW + 1, NOW]
    assert await db.tx(remove_executor, "reports", B, NOW + 2)
    assert [one.joined for one in await db.tx(record, [third], NOW + 3)] == [True]


async def test_who_was_there_before_the_room_became_less_stays(db: Database) -> None:
    beats = [Beat("reports", address) for address in (A, B, C)]
    await db.tx(record_beats, beats, NOW, per_app=3)
    again = await db.tx(record_beats, [*beats, Beat("reports", "http://10.0.0.4:9999")], NOW + 1, per_app=1)
    assert [one.lacks_room for one in again] == [False, False, False, True]
