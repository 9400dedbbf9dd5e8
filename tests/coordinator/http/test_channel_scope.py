"""What a leaked token of a group can do over the channels to executors, of other groups or of its own: nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.channels.interface import START
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http import channel_scope, channel_shares
from orth.coordinator.http.channel_scope import OPEN_FOR, _check_queue
from orth.coordinator.http.channel_shares import Shares
from orth.coordinator.http.executor_rates import ExecutorRates
from orth.coordinator.http.rates import TooOften
from orth.coordinator.proving import Unproved
from orth.coordinator.tokens import make_secret
from orth.coordinator.workers import Fate
from orth.domain.tokens import Token, TokenKind
from orth.errors import Forbidden
from orth.loop import run_loops
from orth.store.audit import Wanted, newest_entries
from orth.store.database import Database
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.queue_executors import QueueBeat, record_queue_beats
from orth.store.tables import executions
from orth.store.tokens import create_token, homes_of_executions
from orth.wire.work_keys import new_process
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import Answer, Caller
from tests.coordinator.http.test_channels import NAMES, TOKEN, Door, opened
from tests.coordinator.queue_site import eventually
from tests.store.builders import NOW, a_group, a_job, open_some

P1, P2 = new_process(), new_process()
QUEUE = NAMES.dispatch("mine.a")
Found = dict[int, Any]


class Party:
    """A group with a job, one open execution of it, and whoever has the token of the group."""

    def __init__(self, door: Door, app_name: str) -> None:
        self.app_name = app_name
        self._given = door.coordinator.given
        self._url = door.url

    async def make(self) -> "Party":
        self.group = await self.db.tx(create_group, a_group(self.app_name), NOW)
        self.job = await self.db.tx(create_job, a_job(self.group), NOW)
        self.execution = await self.open()
        self.report_key = await self.key_of(self.execution)
        text, secret = make_secret(TokenKind.EXECUTOR, self._given.sealing)
        token = Token(TokenKind.EXECUTOR, f"of {self.app_name}", app_names=(self.app_name,))
        await self.db.tx(create_token, token, secret, NOW)
        self._caller = Caller(self._url, {"ORTH-ACCESS-TOKEN": text})
        self._own = EnrolledCaller(self._url, text, self.app_name)
        return self

    def name_of(self, process: str) -> str:
        """A process of its executor."""
        return self._own.name_of(process)

    @property
    def db(self) -> Database:
        return self._given.db

    async def open(self, name: str = "fire") -> int:
        (one,) = await self.db.tx(_open, self.group, self.job, name)
        return one

    async def key_of(self, execution: int) -> str:
        homes = await self.db.read(homes_of_executions, [execution])
        return self._given.report_keys.key_of(execution, homes[execution].trigger_time)

    async def ask(self, verb: str, asked: dict[str, Any], process: str | None = None) -> Answer:
        """With the token alone, or for a process with the key of its executor."""
        caller = self._caller if process is None else self._own
        body = asked if process is None else {**asked, "process": process}
        return await asyncio.to_thread(caller.post, f"/api/channels/{verb}", body)

    async def read(self, box: str, *, wait: int = 0) -> Answer:
        """What is said of its execution, with the key that this was given with."""
        return await self.ask("read", {"after": {box: ""}, "wait": wait, "keys": {box: self.report_key}})

    async def beat(self, process: str, status: str = "Running", **said: str) -> int:
        beat = {"workerId": "w", "incarnation": self.name_of(process), "appName": self.app_name, "status": status}
        asked = {"topic": NAMES.worker_heartbeat, "message": beat | said}
        return (await self.ask("announce", asked, process)).status


def _open(connection: Connection, group: int, job: int, name: str) -> list[int]:
    return open_some(connection, 1, prefix=name, job_group=group, job_id=job)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as door:
        yield door


@pytest.fixture
async def mine(door: Door) -> Party:
    return await Party(door, "mine").make()


@pytest.fixture
async def victim(door: Door, mine: Party) -> Party:  # ``mine`` is made first
    return await Party(door, "victim").make()


@pytest.fixture
async def hearing(door: Door) -> AsyncIterator[None]:
    """The coordinator hears beats."""
    ear = door.coordinator.queues.loops[0]
    task = asyncio.create_task(run_loops(ear))
    await asyncio.sleep(0)
    yield
    ear.stop()
    await task


# --- boxes of executions


async def test_a_large_post_is_paid_for(mine: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_rates: ExecutorRates, _key: ExecutorKey, _body: bytes) -> None:
        raise TooOften(7)

    monkeypatch.setattr(ExecutorRates, "pay_large", refuse)
    box = NAMES.logs(mine.job, mine.execution)
    for values, status in ((500, 200), (10_000, 429)):
        said = {"reportKey": mine.report_key, "lines": [0] * values}
        answer = await mine.ask("post", {"boxes": {box: [said]}})
        assert answer.status == status, values
    assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("verb", "member", "honest", "too_many"),
    [("read", "after", 100, 257), ("post", "boxes", 500, 1_001), ("remove", "boxes", 1, 17)],
)
async def test_more_boxes_than_an_executor_has_are_refused_before_they_are_looked_up(
    mine: Party, monkeypatch: pytest.MonkeyPatch, verb: str, member: str, honest: int, too_many: int
) -> None:
    looked_up: list[int] = []

    def look_up(
        _connection: Connection, executions: set[int], _jobs: set[int]
    ) -> tuple[dict[int, Any], dict[int, Any]]:
        looked_up.append(len(executions))
        return {}, {}

    monkeypatch.setattr(channel_scope, "_look_up", look_up)

    async def ask(count: int) -> Answer:
        boxes = [NAMES.status(number, number) for number in range(1, count + 1)]
        values: dict[str, object] = {"post": {box: [{"reportKey": "x"}] for box in boxes}, "remove": boxes}
        return await mine.ask(verb, {member: values.get(verb, dict.fromkeys(boxes, ""))})

    assert (await ask(honest)).status == 403, "they are of nobody"
    assert looked_up == [] if verb == "remove" else [honest]
    looked_up.clear()
    assert member in (await ask(too_many)).envelope(400)["msg"]
    assert "values" in (await ask(48_000)).envelope(413)["msg"]
    assert looked_up == []


async def test_nothing_is_said_about_executions_of_others_or_of_nobody(door: Door, mine: Party, victim: Party) -> None:
    future = victim.execution + 1
    refused = [
        NAMES.status(victim.job, victim.execution),
        NAMES.status(victim.job, future),
        NAMES.logs(victim.job, future),
        NAMES.status(mine.job, future),
        NAMES.status(mine.job, victim.execution),
        NAMES.status(victim.job, mine.execution),
        NAMES.status(mine.job, mine.execution).replace(f".{mine.execution}", f".0{mine.execution}"),
        NAMES.status(mine.job, mine.execution) + "\n",
    ]
    for box in refused:
        assert (await mine.ask("post", {"boxes": {box: [{"status": "Completed"}]}})).status == 403, box
        assert (await mine.ask("read", {"after": {box: ""}, "wait": 5})).status == 403, box
    assert not await door.channels.read(dict.fromkeys(refused, START), limit=5), "nothing is kept"
    assert await victim.open("next") == future
    told = await victim.db.read(newest_entries, Wanted(action="executor.refused"), None, 10)
    assert {one.object_id for one in told} >= {"/api/channels/post", "/api/channels/read"}


async def test_boxes_of_executions_are_open_to_those_who_were_given_them(door: Door, mine: Party) -> None:
    logs, status = NAMES.logs(mine.job, mine.execution), NAMES.status(mine.job, mine.execution)
    said = {"seq": 1, "status": "Running", "reportKey": mine.report_key}
    assert (await mine.ask("post", {"boxes": {logs: [said], status: [said]}})).envelope()["data"] is None
    found = (await mine.read(status, wait=5)).envelope()["data"]
    assert found[status][0]["message"] == {"seq": 1, "status": "Running"}
    assert len((await door.channels.read({logs: START}, limit=5))[logs]) == 1
    assert (await mine.read(logs)).status == 403, "logs are for coordinators to read"


SHARED = "the token that all share"


@pytest.mark.parametrize("token", ["of its app", SHARED])
async def test_a_token_alone_neither_reads_nor_says_anything_of_what_its_own_app_runs(
    door: Door, mine: Party, token: str
) -> None:
    """Nor does a report key of something else, however the token was come by."""
    thief = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN}) if token == SHARED else mine._caller
    logs, status = NAMES.logs(mine.job, mine.execution), NAMES.status(mine.job, mine.execution)
    await door.channels.post({logs: [{"text": "salaries"}], status: [{"status": "Completed", "message": "salaries"}]})
    other = await mine.key_of(await mine.open("another"))

    async def ask(verb: str, **asked: object) -> Answer:
        answer = await asyncio.to_thread(thief.post, f"/api/channels/{verb}", asked)
        assert b"salaries" not in answer.body
        return answer

    for box in (logs, status):
        assert (await ask("read", after={box: ""})).status == 403
        assert (await ask("post", boxes={box: [{"status": "Running"}]})).status == 403
        forged = {"status": "Running", "reportKey": other}
        assert (await ask("post", boxes={box: [forged]})).envelope()["data"] == {"full": [box]}
        mixed = [{"status": "Running", "reportKey": mine.report_key}, forged]
        assert (await ask("post", boxes={box: mixed})).envelope()["data"] == {"full": [box]}
    assert (await ask("read", after={logs: ""}, keys={logs: other})).status == 403
    assert (await ask("read", after={status: ""}, keys={status: other})).envelope()["data"] == {status: []}
    found = await door.channels.read({logs: START, status: START}, limit=5)
    assert {box: len(entries) for box, entries in found.items()} == {logs: 1, status: 1}, "nothing of it is kept"
    (told,) = await mine.db.read(newest_entries, Wanted(action="callback.refused"), None, 20)
    assert (told.object_id, Unproved.WRONG in str(told.after)) == (str(mine.execution), True)
    told_of = await mine.db.read(newest_entries, Wanted(action="executor.refused"), None, 20)
    assert {one.object_id for one in told_of} == {"/api/channels/post", "/api/channels/read"}


@pytest.mark.parametrize("standing", ["Withdrawn", "withdrawn", None, 7])
async def test_what_coordinators_say_nobody_else_says(door: Door, mine: Party, standing: object) -> None:
    """Who was given an execution has its report key, and may take it from nobody else all the same."""
    box = NAMES.status(mine.job, mine.execution)
    said = {"status": standing, "sending": 2**52, "reportKey": mine.report_key}
    assert (await mine.ask("post", {"boxes": {box: [said]}})).status == 403
    assert not await door.channels.read({box: START}, limit=5)


async def test_an_execution_that_is_gone_keeps_nothing_else_back(door: Door, mine: Party) -> None:
    gone = NAMES.logs(mine.job, mine.execution + 100)
    good = NAMES.logs(mine.job, mine.execution)
    said = [{"seq": 1, "reportKey": mine.report_key}]
    assert (await mine.ask("post", {"boxes": {gone: said, good: said}})).envelope()["data"] == {"full": [gone]}
    found = await door.channels.read({gone: START, good: START}, limit=5)
    assert [box for box, entries in found.items() if entries] == [good]


async def test_that_a_deleted_execution_was_withdrawn_can_be_read(door: Door, mine: Party, victim: Party) -> None:
    gone = victim.execution + 100
    await door.channels.post({NAMES.status(one, gone): [{"status": "Withdrawn"}] for one in (mine.job, victim.job)})
    box = NAMES.status(mine.job, gone)
    await door.channels.post({box: [{"status": "Completed", "message": "salaries"}]})
    found = (await mine.read(box)).envelope()["data"][box]
    assert [one["message"]["status"] for one in found] == ["Withdrawn"], "and nothing else"
    assert (await mine.read(NAMES.status(victim.job, gone))).status == 403


async def test_what_was_awaited_is_checked_when_it_is_delivered(door: Door, mine: Party, victim: Party) -> None:
    box = NAMES.status(mine.job, mine.execution)
    reading = asyncio.create_task(mine.read(box, wait=20))
    await eventually(lambda: _waits(door), bool)
    moved = update(executions).where(executions.c.id == mine.execution).values(job_group=victim.group)
    await mine.db.tx(lambda connection: connection.execute(moved))
    await door.channels.post({box: [{"text": "salaries"}]})
    answer = await reading
    assert answer.status == 403
    assert b"salaries" not in answer.body


async def _waits(door: Door) -> int:
    return len(door.coordinator.queues.door._waiting)


# --- processes


@pytest.mark.usefixtures("hearing")
async def test_nobody_says_good_bye_for_a_process_of_another_app(door: Door, mine: Party, victim: Party) -> None:
    workers = door.coordinator.queues.workers
    await eventually(lambda: _heard_of(door, victim, P1), bool)
    assert await victim.beat(P1) == 200
    assert await mine.beat(P1, "Stopped", incarnation=victim.name_of(P1)) == 403
    assert workers.fate(victim.name_of(P1)) is Fate.ALIVE
    assert await mine.beat(P2, "Stopped") == 200, "its own processes are its own affair"


@pytest.mark.usefixtures("hearing")
async def test_nobody_uses_the_name_of_another_process_of_its_own_app(door: Door, mine: Party) -> None:
    """Neither to say good-bye for it, nor to do away with what it took, nor to read what it was answered."""
    workers, name = door.coordinator.queues.workers, mine.name_of(P1)
    await eventually(lambda: _heard_of(door, mine, P1), bool)
    await door.channels.send(QUEUE, [{"n": 1}])
    (taken,) = (await door.channels.take([QUEUE], name, limit=1, wait=0))[QUEUE]
    await door.channels.post({NAMES.acknowledged(name): [{"executionId": 7}]})
    assert await mine.beat(P2, "Stopped", incarnation=name) == 403
    own = {"consumer": name, "queue": QUEUE, "queues": [QUEUE], "deliveries": [taken.id]}
    for process in (None, P2, "", "x" * 64, P1.upper()):
        for verb in ("take", "done", "bury", "give_back"):
            assert (await mine.ask(verb, own, process)).status == 403, (verb, process)
        box = NAMES.acknowledged(name)
        assert (await mine.ask("read", {"after": {box: ""}}, process)).status == 403
        assert (await mine.ask("remove", {"boxes": [box]}, process)).status == 403
    assert await door.channels.consumers(QUEUE) == {name: 1}
    assert workers.fate(name) is Fate.ALIVE
    assert (await mine.ask("done", own, P1)).status == 200
    assert (await mine.ask("read", {"after": {NAMES.acknowledged(name): ""}}, P1)).status == 200
    assert await mine.beat(P1, "Stopped") == 200
    await eventually(lambda: asyncio.sleep(0, workers.fate(name)), lambda fate: fate is Fate.LEFT)


async def _heard_of(door: Door, party: Party, process: str) -> bool:
    assert await party.beat(process) == 200
    return door.coordinator.queues.workers.process(party.name_of(process)) is not None


@pytest.mark.parametrize("topic", [NAMES.cancel, NAMES.logs_wanted])
async def test_what_is_said_to_others_is_not_heard(door: Door, mine: Party, victim: Party, topic: str) -> None:
    """Nor what does not say whose it is; the token that all share hears everything."""
    asked = {"topics": [topic], "listener": "ear", "wait": 10}
    everybody = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    (await mine.ask("hear", {**asked, "wait": 0})).envelope()
    await asyncio.to_thread(everybody.post, "/api/channels/hear", {**asked, "wait": 0})
    told = [{"executionId": 1, "appName": victim.app_name}, {"executionId": 2}]
    for message in (*told, {"executionId": 3, "appName": mine.app_name}):
        await door.channels.announce(topic, message)
    heard = (await mine.ask("hear", asked)).envelope()["data"]
    assert [one["message"]["executionId"] for one in heard["heard"]] == [3]
    assert heard["missed"] == 0
    heard = (await asyncio.to_thread(everybody.post, "/api/channels/hear", asked)).envelope()["data"]
    assert [one["message"]["executionId"] for one in heard["heard"]] == [1, 2, 3]


async def test_a_coordinator_that_has_heard_nobody_yet_asks_the_database(mine: Party, victim: Party) -> None:
    row = QueueBeat("victim", "queue://w", victim.name_of(P1), ("victim.a",), 0, "1", None, NOW)
    await victim.db.tx(record_queue_beats, [row], NOW)
    assert await victim.beat(P1) == 200


@pytest.mark.usefixtures("hearing")
async def test_the_box_of_a_process_is_its_apps(door: Door, mine: Party, victim: Party) -> None:
    box = NAMES.acknowledged(victim.name_of(P1))
    await door.channels.post({box: [{"executionId": victim.execution}]})
    assert (await mine.ask("read", {"after": {box: ""}}, P1)).status == 403
    await eventually(lambda: _heard_of(door, victim, P1), bool)
    assert (await mine.ask("read", {"after": {box: ""}}, P1)).status == 403
    assert (await mine.ask("remove", {"boxes": [box]}, P1)).status == 403
    assert (await victim.ask("read", {"after": {box: ""}}, P1)).envelope()["data"][box]
    assert (await victim.ask("remove", {"boxes": [box]}, P1)).status == 200
    assert not await door.channels.read({box: START}, limit=5)


# --- how much


async def test_a_token_that_has_its_ears_leaves_the_others_theirs(
    door: Door, mine: Party, victim: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_shares, "EARS", 2)

    def asked(name: str) -> dict[str, object]:
        return {"topics": [NAMES.cancel], "listener": name, "wait": 0}

    assert {(await mine.ask("hear", asked(name))).status for name in ("a", "b", "a", "b")} == {200}
    busy = await mine.ask("hear", asked("c"))
    assert (busy.status, busy.headers["Retry-After"]) == (429, "5")
    assert (await victim.ask("hear", asked("a"))).envelope()["data"]["fresh"], "a name is one's own"
    shared = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    for name in "abc":
        assert (await asyncio.to_thread(shared.post, "/api/channels/hear", asked(name))).status == 200


async def test_answers_are_held_back_for_so_many_questions_only(
    door: Door, mine: Party, victim: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_shares, "WAITS", 1)
    box = NAMES.status(mine.job, mine.execution)
    held = asyncio.create_task(mine.read(box, wait=20))
    await eventually(lambda: _waits(door), bool)
    queue = {"queues": [QUEUE], "consumer": mine.name_of(P1)}
    of_victim = {"queues": [NAMES.dispatch("victim.a")], "consumer": victim.name_of(P1), "wait": 0.1}
    assert (await mine.ask("take", {**queue, "wait": 1}, P1)).status == 429
    assert (await mine.ask("take", queue, P1)).status == 200
    assert (await victim.ask("take", of_victim, P1)).status == 200
    await door.channels.post({box: [{"seq": 1}]})
    assert (await held).status == 200
    assert (await mine.ask("take", {**queue, "wait": 0.1}, P1)).status == 200


async def test_a_box_takes_so_much_and_an_old_one_nothing(door: Door, mine: Party) -> None:
    door.coordinator.queues.door._shares = Shares(1_200, door.coordinator.given.clock)
    logs, status = NAMES.logs(mine.job, mine.execution), NAMES.status(mine.job, mine.execution)

    async def full() -> object:
        said = {"status": "Running", "reportKey": mine.report_key}
        boxes = {logs: [{**said, "pad": "x" * 600}], status: [said]}
        return (await mine.ask("post", {"boxes": boxes})).envelope()["data"]

    assert await full() is None
    assert await full() == {"full": [logs]}
    ended = door.coordinator.given.clock.now() - OPEN_FOR - 1_000
    over = update(executions).where(executions.c.id == mine.execution).values(outcome=1, phase_time=ended)
    await mine.db.tx(lambda connection: connection.execute(over))
    assert await full() == {"full": sorted([logs, status])}
    found = await door.channels.read({logs: START, status: START}, limit=10)
    assert {box: len(entries) for box, entries in found.items()} == {logs: 1, status: 2}


@pytest.mark.parametrize(
    ("app_name", "queue", "allowed"),
    [
        ("billing", "billing.eu", True),
        ("billing", "billing.eu.p2", True),
        ("billing.eu", "billing.eu.p2", False),  # of billing: the queue eu, with a priority
        ("billing.eu", "billing.eu.us.p2", True),
        ("billing", "billing.eu.us", False),
        ("billing", "other.eu", False),
    ],
)
def test_a_queue_is_of_one_app_however_its_name_may_be_read(app_name: str, queue: str, allowed: bool) -> None:
    key = ExecutorKey("token", "its token", frozenset({app_name}))
    with nullcontext() if allowed else pytest.raises(Forbidden):
        _check_queue(NAMES, key, NAMES.dispatch(queue))
