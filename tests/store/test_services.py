"""Services and their events, on every database."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, insert, select

from orth.domain.services import Failing, Service, ServiceKind, ServiceStatus
from orth.store.database import Database
from orth.store.registry import Beat as ExecutorBeat
from orth.store.registry import record_beats
from orth.store.service_events import ServiceEvent, events_after, last_seq, surplus_events, trim_events
from orth.store.service_tables import services
from orth.store.services import (
    Beat,
    Departure,
    Outcome,
    Registration,
    Rejection,
    Report,
    Said,
    Watched,
    carry_out,
    count_services,
    fail_silent,
    forget_services,
    list_overdue,
    list_services,
    record_health,
)

O, A = ServiceKind.ORCHESTRATOR, ServiceKind.AGENT  # noqa: E741
URL = "http://10.0.0.1:5090"
NOW = 1_700_000_000_000


def new_id(number: int) -> str:
    return f"{number:032x}"


async def say(db: Database, *said: Said, now: int = NOW, limit: int = 1000) -> list[Outcome]:
    return await db.tx(carry_out, said, limit, now)


async def register(db: Database, number: int = 1, url: str = URL, *, now: int = NOW, **said: str) -> str:
    [outcome] = await say(db, Registration(A, url, new_id(number), **said), now=now)
    assert outcome.id is not None
    return outcome.id


def executor_beat(app_name: str, address: str) -> ExecutorBeat:
    return ExecutorBeat(app_name, address)


async def only(db: Database) -> Service:
    [[service], _seq] = await db.read(list_services)
    return service


async def told(db: Database, after: int = 0) -> list[str]:
    page = await db.read(events_after, after, 1000)
    assert page.complete
    return [f"{one.type} {json.loads(one.data)['status']}" for one in page.events]


async def test_a_new_service_is_starting_and_told(db: Database) -> None:
    service_id = await register(db, incarnation="one", orchestrator_id="abc", name="agent-1")
    service = await only(db)
    assert (service.id, service.status, service.kind) == (service_id, ServiceStatus.STARTING, A)
    assert (service.registered_at, service.last_heartbeat, service.beats) == (NOW, NOW, 1)
    page = await db.read(events_after, 0, 10)
    assert [(one.seq, one.type, one.at) for one in page.events] == [(1, "agent_registered", NOW)]
    assert json.loads(page.events[0].data) == {
        "id": service_id,
        "orchestratorId": "abc",
        "url": URL,
        "registeredAt": "2023-11-14T22:13:20.000Z",
        "lastHeartbeat": "2023-11-14T22:13:20.000Z",
        "status": "Starting",
        "name": "agent-1",
        "incarnation": "one",
        "failing": None,
    }


async def test_a_url_keeps_its_id(db: Database) -> None:
    first = await register(db, 1, incarnation="one")
    await say(db, Report(A, first, ServiceStatus.IDLE))
    assert await register(db, 2, incarnation="one", now=NOW + 5) == first
    assert await told(db, 2) == [], "the same process only did not hear the answer"
    assert ((await only(db)).status, (await only(db)).beats) == (ServiceStatus.IDLE, 3)
    assert await register(db, 3, incarnation="two", now=NOW + 9) == first
    assert await told(db, 2) == ["agent_registered Starting"], "it was restarted"
    assert ((await only(db)).registered_at, (await only(db)).incarnation) == (NOW + 9, "two")


async def test_who_does_not_say_which_process_it_is_was_restarted(db: Database) -> None:
    first = await register(db, 1)
    await say(db, Report(A, first, ServiceStatus.BUSY))
    assert await register(db, 2) == first
    assert (await told(db))[-1] == "agent_registered Starting"


async def test_the_same_process_with_something_new_is_news(db: Database) -> None:
    first = await register(db, 1, incarnation="one", orchestrator_id="abc")
    assert await register(db, 2, incarnation="one", orchestrator_id="def", now=NOW + 5) == first
    assert await told(db) == ["agent_registered Starting"] * 2
    assert ((await only(db)).orchestrator_id, (await only(db)).registered_at) == ("def", NOW)


async def test_an_orchestrator_and_an_agent_may_have_one_url(db: Database) -> None:
    outcomes = await say(db, Registration(O, URL, new_id(1)), Registration(A, URL, new_id(2)))
    assert [outcome.id for outcome in outcomes] == [new_id(1), new_id(2)]
    assert [service.kind for service in (await db.read(list_services, O))[0]] == [O]
    assert await db.read(count_services) == {("orchestrator", "Starting"): 1, ("agent", "Starting"): 1}


async def test_agents_of_an_orchestrator(db: Database) -> None:
    await register(db, 1, "http://a:1", orchestrator_id="x")
    mine = await register(db, 2, "http://b:1", orchestrator_id="y")
    found, seq = await db.read(list_services, A, orchestrator_id="y")
    assert ([service.id for service in found], seq) == ([mine], 2)


async def test_there_is_room_for_so_many_and_for_those_who_are_known(db: Database) -> None:
    asked = [Registration(A, f"http://a:{port}", new_id(port)) for port in (1, 2, 3, 1)]
    assert [one.id for one in await say(db, *asked, limit=2)] == [new_id(1), new_id(2), None, new_id(1)]
    assert len((await db.read(list_services))[0]) == 2


async def test_each_token_has_a_limit_of_its_own(db: Database) -> None:
    await db.tx(record_beats, [executor_beat("b", "http://b:1/path")], NOW)
    ours = [Registration(A, f"http://a:{port}", new_id(port)) for port in (1, 2, 3)]
    of_b = Registration(A, "http://b:1", new_id(4), name="b", apps=frozenset({"b"}))
    coordinators = [Registration(O, f"http://c:{port}", new_id(4 + port), bounded=False) for port in (1, 2, 3)]
    outcomes = await say(db, *ours, of_b, *coordinators, limit=2)
    assert [one.rejection for one in outcomes] == [None, None, Rejection.FULL, None, None, None, None]
    of_an_administrator = Registration(O, "http://c:9", new_id(9))
    assert (await say(db, of_an_administrator, limit=3))[0].rejection is Rejection.FULL


@pytest.mark.parametrize(
    ("registered", "url", "entered"),
    [
        ("http://10.0.0.1:9999/orth", "http://10.0.0.1:9999", True),
        ("https://10.0.0.1:9999", "http://10.0.0.1:9999/other", True),
        ("http://a_b.example", "http://a_b.example:80/x", True),
        ("http://a_b.example/x", "http://axb.example", False),
        ("http://10.0.0.1:9999", "http://10.0.0.1:99", False),
        ("http://10.0.0.1:9999", "http://10.0.0.1", False),
    ],
)
async def test_the_token_of_an_app_enters_agents_of_its_executors_only(
    db: Database, registered: str, url: str, entered: bool
) -> None:
    await db.tx(record_beats, [executor_beat("demo", registered), executor_beat("other", "http://10.0.0.2:1")], NOW)
    asked = Registration(A, url, new_id(1), name="demo", apps=frozenset({"demo"}))
    [outcome] = await say(db, asked)
    assert (outcome.id, outcome.rejection) == ((new_id(1), None) if entered else (None, Rejection.NO_EXECUTOR))
    elsewhere = Registration(A, "http://10.0.0.2:1", new_id(2), name="demo", apps=frozenset({"demo"}))
    assert (await say(db, elsewhere))[0].rejection is Rejection.NO_EXECUTOR


async def test_beats_together_and_the_unknown_among_them(db: Database) -> None:
    one, other = await register(db, 1, "http://a:1"), await register(db, 2, "http://b:1")
    assert [x.id for x in await say(db, Beat(A, one), Beat(A, other), Beat(A, one), now=NOW + 5)] == [one, other, one]
    outcomes = await say(db, Beat(A, one), Beat(A, new_id(9)), Beat(O, other), now=NOW + 9)
    assert [outcome.id for outcome in outcomes] == [one, None, None]
    heard = {service.id: service.last_heartbeat for service in (await db.read(list_services))[0]}
    assert heard == {one: NOW + 9, other: NOW + 5}
    assert await db.read(last_seq) == 2, "beats are no events"


async def test_reports_are_told_when_they_are_new(db: Database) -> None:
    one = await register(db)
    first, again = await say(db, Report(A, one, ServiceStatus.IDLE), Report(A, one, ServiceStatus.IDLE), now=NOW + 5)
    assert first.news is not None
    assert (first.news.status, again.news) == (ServiceStatus.IDLE, None)
    assert await told(db, 1) == ["agent_status_changed Idle"]
    assert (await only(db)).last_heartbeat == NOW + 5, "it is a sign of life as well"
    assert (
        await say(db, Report(O, one, ServiceStatus.IDLE), Report(A, new_id(9), ServiceStatus.IDLE))
        == [Outcome(None)] * 2
    )


async def test_good_byes(db: Database) -> None:
    one = await register(db)
    wrong, right, again = await say(db, Departure(O, one), Departure(A, one), Departure(A, one))
    assert (wrong.id, right.id, again.id) == (None, one, None)
    assert await told(db, 1) == ["agent_unregistered Starting"]
    assert await register(db, 2) == new_id(2), "who was unregistered comes as somebody new"


async def test_what_is_said_in_one_go_happens_in_its_order(db: Database) -> None:
    asked = Registration(A, URL, new_id(1)), Report(A, new_id(1), ServiceStatus.BUSY), Beat(A, new_id(1))
    outcomes = await say(db, *asked, Departure(A, new_id(1)), Registration(A, URL, new_id(2)))
    assert [outcome.id for outcome in outcomes] == [*[new_id(1)] * 4, new_id(2)]
    told_of = ["agent_registered Starting", "agent_status_changed Busy", "agent_unregistered Busy"]
    assert await told(db) == [*told_of, "agent_registered Starting"]


async def test_of_two_who_find_a_silence_one_tells(db: Database, peer: Database) -> None:
    one = await register(db)
    watched = [Watched(one, (await only(db)).beats)]
    first, second = await db.tx(fail_silent, watched, NOW + 90_000), await peer.tx(fail_silent, watched, NOW + 90_001)
    assert [service.standing.failing for service in first] == [Failing.SILENCE]
    assert second == []
    assert await told(db, 1) == ["agent_status_changed Failed"]


async def test_who_has_beaten_since_is_not_silent(db: Database) -> None:
    one = await register(db)
    watched = [Watched(one, (await only(db)).beats)]
    await say(db, Beat(A, one))
    assert await db.tx(fail_silent, watched, NOW) == []
    assert await db.tx(forget_services, watched, NOW) == []
    assert (await only(db)).status is ServiceStatus.STARTING


async def test_a_beat_brings_the_silent_back_as_it_was(db: Database) -> None:
    one = await register(db)
    await say(db, Report(A, one, ServiceStatus.BUSY))
    await db.tx(fail_silent, [Watched(one, (await only(db)).beats)], NOW + 90_000)
    [outcome] = await say(db, Beat(A, one), now=NOW + 95_000)
    assert outcome.news is not None
    assert await told(db, 2) == ["agent_status_changed Failed", "agent_status_changed Busy"]
    assert (await only(db)).standing.failing_since is None
    assert await db.read(list_overdue, NOW + 95_000) == []


async def test_the_forgotten_are_told_as_unregistered(db: Database) -> None:
    one = await register(db)
    assert [service.id for service in await db.read(list_overdue, NOW + 1)] == [one]
    assert [service.id for service in await db.tx(forget_services, [Watched(one, 1)], NOW)] == [one]
    assert await told(db, 1) == ["agent_unregistered Starting"]
    assert await db.tx(forget_services, [Watched(one, 1)], NOW) == []


async def test_health_makes_failed_and_well_again(db: Database) -> None:
    one = await register(db)
    await say(db, Report(A, one, ServiceStatus.IDLE))
    [failed] = await db.tx(record_health, {one: False}, NOW - 1, NOW + 1)
    assert (failed.status, failed.standing.failing) == (ServiceStatus.FAILED, Failing.HEALTH)
    assert await db.tx(record_health, {one: False, new_id(9): True}, NOW - 1, NOW + 2) == []
    [outcome] = await say(db, Beat(A, one))
    assert (outcome.id, outcome.news) == (one, None), "it has been beating all along"
    assert await db.tx(record_health, {one: True}, NOW + 5, NOW + 5) == [], "well, and silent"
    assert (await only(db)).standing.failing is Failing.SILENCE
    await say(db, Beat(A, one), now=NOW + 6)
    assert await told(db, 2) == ["agent_status_changed Failed", "agent_status_changed Idle"]


async def test_events_that_are_gone_are_noticed(db: Database) -> None:
    for number in range(1, 11):
        await register(db, number, f"http://a:{number}")
    assert await db.read(surplus_events, 4) == 6
    assert await db.tx(trim_events, 4) == 6
    assert await db.tx(trim_events, 4) == 0
    assert await db.read(surplus_events, 4) == 0
    pages = {after: await db.read(events_after, after, 100) for after in (0, 5, 6, 9, 10, 11)}
    assert {after: page.complete for after, page in pages.items()} == {
        0: False, 5: False, 6: True, 9: True, 10: True, 11: False,
    }  # fmt: skip
    assert [one.seq for one in pages[6].events] == [7, 8, 9, 10]
    assert {page.head for page in pages.values()} == {10}


async def test_before_the_first_event_nothing_is_missing(db: Database) -> None:
    page = await db.read(events_after, 0, 10)
    assert (page.events, page.head, page.complete) == ([], 0, True)
    assert await db.read(surplus_events, 1) == 0
    assert await db.tx(trim_events, 1) == 0


async def test_a_kind_of_a_newer_version_is_not_shown(db: Database) -> None:
    row = {
        "id": new_id(7), "kind": "oracle", "url": URL, "status": "Dreaming", "registered_at": 1, "last_heartbeat": 1,
        "beats": 1,
    }  # fmt: skip
    with db.engine.begin() as connection:
        connection.execute(insert(services).values(row))
        connection.execute(insert(services).values(row | {"id": new_id(8), "kind": "agent"}))
    found, _seq = await db.read(list_services)
    assert [(one.id, one.status) for one in found] == [(new_id(8), ServiceStatus.STARTING)]
    assert [one.id for one in await db.read(list_overdue, NOW)] == [new_id(8)]


def test_a_reader_that_goes_on_from_what_it_saw_misses_nothing(db: Database, peer: Database) -> None:
    """Two nodes write at the same time, transactions of different lengths; a third party reads all the while."""
    seen: list[ServiceEvent] = []
    over = threading.Event()
    writers, each = 4, 25

    def write(number: int) -> None:
        node = (db, peer)[number % 2]
        for turn in range(each):
            ids = [number * 1000 + turn * 10 + extra for extra in range(1 + (number + turn) % 3)]
            asked = [Registration(A, f"http://w{number}:{one}", new_id(one)) for one in ids]
            for _ in range(20):
                try:
                    with node.engine.begin() as connection:
                        carry_out(connection, asked, 10_000, NOW)
                    break
                except Exception as error:  # a deadlock or a lock that was not given: the same again
                    if "lock" not in str(error).lower():
                        raise
            else:
                raise AssertionError("a registration was never carried out")

    async def read() -> None:
        while True:
            last_look = over.is_set()
            page = await peer.read(events_after, seen[-1].seq if seen else 0, 7)
            assert page.complete
            seen.extend(page.events)
            if last_look and not page.events:
                return

    with ThreadPoolExecutor(writers + 1) as threads:
        reading = threads.submit(asyncio.run, read())
        try:
            for done in [threads.submit(write, number) for number in range(writers)]:
                done.result()
        finally:
            over.set()  # or the reader would look for ever
        reading.result()
    with db.engine.begin() as connection:
        everybody = set(connection.scalars(select(services.c.id)))
    assert [one.seq for one in seen] == list(range(1, len(seen) + 1))
    assert {json.loads(one.data)["id"] for one in seen} == everybody
    assert len(everybody) == len(seen)


@pytest.mark.parametrize("together", [1, 600])
async def test_many_beats_are_few_statements(db: Database, together: int) -> None:
    ids = [new_id(number) for number in range(together)]
    await say(db, *(Registration(A, f"http://a:{number}", one) for number, one in enumerate(ids)))
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        outcomes = await say(db, *(Beat(A, one) for one in ids), now=NOW + 1)
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
    assert all(outcome.id for outcome in outcomes)
    written = [one for one in statements if one.startswith("UPDATE")]
    assert len(written) == -(-together // 500)
    assert [one for one in statements if one not in written and not one.startswith("BEGIN")] == []
