"""The way of executors to the channels: every verb over a real socket, and what is not theirs."""

import asyncio
import re
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.channels.interface import START, BoxFull, Channels
from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.channels.names import Names
from orth.channels.opening import open_channels
from orth.channels.remote import RemoteChannels
from orth.clock import SystemClock
from orth.cluster.election import Node
from orth.coordinator.http.allowed_channels import Allowed
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.errors import Forbidden
from orth.events import Events
from orth.serving import Server
from orth.settings import Settings
from orth.store.database import open_database
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.tokens import homes_of_executions
from orth.testing.stores import prepare_store
from orth.wire.channel_calls import ChannelCalls
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.enrolment_calls import Enrolment
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.signatures import Signer
from orth.wire.work_keys import OwnKey, incarnation_of, new_process, work_key_of_process
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import Caller
from tests.store.builders import NOW, a_group, a_job, open_some

TOKEN = "what-executors-show"
NAMES = Names()
QUEUE = NAMES.dispatch("app.a")
OWN = OwnKey(secrets.token_hex(32), new_process())
ME = incarnation_of(OWN.work_key)
OTHER = "0" * 64


class Door:
    """A coordinator with channels of its own process, served in this event loop."""

    def __init__(self, url: str, channels: Channels, coordinator: Coordinator) -> None:
        self.url = url
        self.channels = channels
        self.coordinator = coordinator
        clock = SystemClock()
        enrolment = Enrolment(OWN.executor_key, TOKEN, "app", "http://10.0.0.1:9999", clock)
        self.calls = CoordinatorCalls([url], TOKEN, 5.0, signer=Signer(ME, clock), enrolment=enrolment)
        self.remote = RemoteChannels(ChannelCalls(self.calls, OWN.process))

    async def open(self, count: int = 1) -> dict[str, str]:
        """Executions of a job: their status boxes, with the report key of each."""
        db, keys = self.coordinator.given.db, self.coordinator.given.report_keys
        group = await db.tx(create_group, a_group("app"), NOW)
        job = await db.tx(create_job, a_job(group), NOW)
        ids = await db.tx(open_some, count, job_group=group, job_id=job)
        homes = await db.read(homes_of_executions, ids)
        return {NAMES.status(job, one): keys.key_of(one, homes[one].trigger_time) for one in ids}


@asynccontextmanager
async def opened(folder: Path, channels_url: str = "memory://") -> AsyncIterator[Door]:
    url = f"sqlite:///{folder / 'orth.db'}"
    prepare_store(url)
    listening = socket.create_server(("127.0.0.1", 0))
    with open_database(url) as db:
        channels = open_channels(channels_url, db, SystemClock(), Events())
        async with ExecutorCalls(timeout=1.0) as link:
            given = Surroundings(
                settings=Settings(),
                node=Node("node", secrets.token_hex(8)),
                db=db,
                link=link,
                clock=SystemClock(),
                events=Events(),
                access_token=TOKEN,
                signing_secret=secrets.token_hex(32),
                channels=channels,
            )
            coordinator = Coordinator(given)
            server = Server(coordinator.app(), keep_alive=5)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            door = Door(f"http://127.0.0.1:{listening.getsockname()[1]}", channels, coordinator)
            try:
                yield door
            finally:
                door.calls.close()
                await coordinator.queues.leave()
                server.should_exit = True
                await serving
                await channels.close()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as door:
        yield door


async def test_what_is_taken_is_somebodys_until_it_is_done_or_given_back(door: Door) -> None:
    await door.channels.send(QUEUE, [{"n": 1}, {"n": 2}])
    taken = await door.remote.take([QUEUE], ME, limit=10, wait=0)
    assert [one.message["n"] for one in taken[QUEUE]] == [1, 2]
    await door.remote.done(QUEUE, ME, [taken[QUEUE][0].id])
    assert await door.channels.consumers(QUEUE) == {ME: 1}
    assert await door.remote.give_back(QUEUE, ME) == 1
    other = RemoteChannels(ChannelCalls(door.calls, OTHER))
    name = incarnation_of(work_key_of_process(OWN.executor_key, OTHER))
    (again,) = (await other.take([QUEUE], name, limit=10, wait=0))[QUEUE]
    assert (again.message["n"], again.deliveries) == (2, 2)


async def test_taking_waits_for_a_message(door: Door) -> None:
    taking = asyncio.create_task(door.remote.take([QUEUE], ME, limit=1, wait=10))
    while not taking.done():
        await asyncio.sleep(0.1)
        if await door.channels.waiting(QUEUE) == 0 and not taking.done():
            await door.channels.send(QUEUE, [{"n": 1}])
            break
    assert (await taking)[QUEUE][0].message == {"n": 1}


@pytest.mark.parametrize("queue", [QUEUE, NAMES.assigned])
async def test_nobody_puts_anything_into_a_queue_through_the_door(door: Door, queue: str) -> None:
    """Executors of earlier versions did, and are told what to do."""
    caller = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    answer = await asyncio.to_thread(caller.post, "/api/channels/send", {"queue": queue, "messages": [{"n": 1}]})
    assert "Use an executor of this version" in answer.envelope(403)["msg"]
    assert await door.channels.waiting(queue) == 0


@pytest.mark.parametrize("topic", [NAMES.cancel, NAMES.logs_wanted])
async def test_a_topic_is_heard_from_the_first_question_on(door: Door, topic: str) -> None:
    async with door.remote.listen([NAMES.cancel, NAMES.logs_wanted]) as ear:
        await door.channels.announce(topic, {"executionId": 7, "appName": "app"})
        (heard,) = await ear.next(5.0)
        assert (heard.topic, heard.message) == (topic, {"executionId": 7, "appName": "app"})
        assert ear.missed == 0


async def test_a_beat_goes_out(door: Door) -> None:
    async with door.channels.listen([NAMES.worker_heartbeat]) as ear:
        beat = {"workerId": "w", "incarnation": ME, "appName": "app"}
        await door.remote.announce(NAMES.worker_heartbeat, beat)
        (heard,) = await ear.next(5.0)
        assert heard.message == beat


async def test_boxes_are_written_and_read_on(door: Door) -> None:
    ((box, key),) = (await door.open()).items()
    first, second = ({"seq": number, "status": "Running", "reportKey": key} for number in (1, 2))
    await door.remote.post({box: [first, second]})
    told = (await door.remote.read_said({box: key}, limit=10))[box]
    assert [one.message for one in told] == [{"seq": 1, "status": "Running"}, {"seq": 2, "status": "Running"}]
    own = NAMES.acknowledged(ME)
    await door.channels.post({own: [{"seq": 1}, {"seq": 2}]})
    first, second = (await door.remote.read({own: START}, limit=10))[own]
    assert await door.remote.read({own: second.position}, limit=10) in ({}, {own: []})
    assert [one.message for one in (await door.remote.read({own: first.position}, limit=10))[own]] == [{"seq": 2}]


@pytest.mark.parametrize("backend", ["memory", "database", "redis"])
@pytest.mark.parametrize("wait", [0, 1])
async def test_what_is_no_position_is_the_callers_fault(
    tmp_path: Path, request: pytest.FixtureRequest, backend: str, wait: int
) -> None:
    url = request.getfixturevalue("redis_url") if backend == "redis" else f"{backend}://"
    box = NAMES.acknowledged(ME)
    async with opened(tmp_path, url) as door:
        caller = EnrolledCaller(door.url, TOKEN, "app", own=OWN)
        for garbage in ("x", "-5", "٣", "9" * 30, "1-2-3"):
            asked = {"after": {box: garbage}, "wait": wait, "process": OWN.process}
            answer = await asyncio.to_thread(caller.post, "/api/channels/read", asked)
            told = answer.envelope(400)
            assert "is not a position in a box" in told["msg"]
            assert told["code"] == 500


async def test_boxes_that_take_nothing_are_named_and_the_others_have_theirs(door: Door) -> None:
    assert isinstance(door.channels, MemoryChannels)
    door.channels._limits = Limits(box=2, message=1_000)
    keys = await door.open(3)
    full, large, good = keys

    def word(box: str, seq: int, **more: str) -> dict[str, object]:
        return {"seq": seq, "status": "Running", "reportKey": keys[box], **more}

    with pytest.raises(BoxFull) as refused:
        await door.remote.post({full: [word(full, 1)] * 3, good: [word(good, 1)]})
    assert refused.value.boxes == {full}
    with pytest.raises(BoxFull) as refused:
        await door.remote.post({large: [word(large, 1, text="x" * 1_000)], good: [word(good, 2)]})
    assert refused.value.boxes == {large}
    found = await door.remote.read_said(keys, limit=10)
    assert [entry.message["seq"] for entry in found.pop(good)] == [1, 2]
    assert not any(found.values())


async def test_reading_waits_until_a_box_grows(door: Door) -> None:
    box = NAMES.acknowledged(ME)
    caller = EnrolledCaller(door.url, TOKEN, "app", own=OWN)
    asked = {"after": {box: ""}, "limit": 10, "wait": 10, "process": OWN.process}
    reading = asyncio.create_task(asyncio.to_thread(caller.post, "/api/channels/read", asked))
    while not reading.done():
        await asyncio.sleep(0.05)
        await door.channels.post({box: [{"executionId": 1}]})
    answer = (await reading).envelope()["data"]
    assert answer[box][0]["message"] == {"executionId": 1}


@pytest.mark.parametrize("token", [None, "wrong"])
async def test_nobody_comes_in_without_the_token(door: Door, token: str | None) -> None:
    caller = Caller(door.url, {} if token is None else {"ORTH-ACCESS-TOKEN": token})
    asked = {"queues": [QUEUE], "consumer": "me"}
    answer = await asyncio.to_thread(caller.post, "/api/channels/take", asked)
    assert answer.envelope(401)["code"] == 500


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        ("take", {"queues": [NAMES.assigned], "consumer": ME}),
        ("take", {"queues": [NAMES.handoff], "consumer": ME}),
        ("done", {"queue": NAMES.handoff, "consumer": ME, "deliveries": []}),
        ("give_back", {"queue": NAMES.assigned, "consumer": ME}),
        ("announce", {"topic": NAMES.cancel, "message": {"executionId": 1}}),
        ("announce", {"topic": NAMES.logs_wanted, "message": {"appName": "reports"}}),
        ("announce", {"topic": NAMES.coordinator_heartbeat, "message": {}}),
        ("hear", {"topics": [NAMES.coordinator_heartbeat], "listener": "me"}),
        ("post", {"boxes": {NAMES.acknowledged(ME): [{"executionId": 1, "verdict": "stored"}]}}),
        ("post", {"boxes": {"orchestrix.job.1.status.2.x": [{}]}}),
        ("read", {"after": {"orchestrix.job.assigned": ""}}),
        ("remove", {"boxes": [NAMES.handoff]}),
        ("remove", {"boxes": [NAMES.status(1, 2)]}),
    ],
)
async def test_what_coordinators_tell_each_other_is_closed(door: Door, verb: str, asked: dict[str, object]) -> None:
    caller = EnrolledCaller(door.url, TOKEN, "app", own=OWN)
    answer = await asyncio.to_thread(caller.post, f"/api/channels/{verb}", {**asked, "process": OWN.process})
    told = answer.envelope(403)["msg"]
    assert re.search("has no business|may not use the", told), told


async def test_a_request_that_makes_no_sense_is_refused(door: Door) -> None:
    caller = EnrolledCaller(door.url, TOKEN, "app", own=OWN)
    answer = await asyncio.to_thread(
        caller.post, "/api/channels/take", {"queues": [], "consumer": ME, "process": OWN.process}
    )
    assert "queues" in answer.envelope(400)["msg"]


def test_names_of_another_prefix_are_closed() -> None:
    allowed = Allowed(Names("mine"))
    assert allowed.queue("mine.job.dispatch.app.a")
    assert allowed.post("mine.job.1.logs.2")
    for wrong in ("orchestrix.job.1.logs.2", "mine.job.1.logs.", "mine.job.x.logs.2", "mine.job.1.other.2"):
        with pytest.raises(Forbidden):
            allowed.post(wrong)
