"""The way of executors to the channels: every verb over a real socket, and what is not theirs."""

import asyncio
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
from orth.testing.stores import prepare_store
from orth.wire.channel_calls import ChannelCalls
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.executor_calls import ExecutorCalls
from tests.coordinator.http.live import Caller

TOKEN = "what-executors-show"
NAMES = Names()
QUEUE = NAMES.dispatch("app.a")


class Door:
    """A coordinator with channels of its own process, served in this event loop."""

    def __init__(self, url: str, channels: Channels, coordinator: Coordinator) -> None:
        self.url = url
        self.channels = channels
        self.coordinator = coordinator
        self.calls = CoordinatorCalls([url], TOKEN, 5.0)
        self.remote = RemoteChannels(ChannelCalls(self.calls))


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
    taken = await door.remote.take([QUEUE], "me", limit=10, wait=0)
    assert [one.message["n"] for one in taken[QUEUE]] == [1, 2]
    await door.remote.done(QUEUE, "me", [taken[QUEUE][0].id])
    assert await door.channels.consumers(QUEUE) == {"me": 1}
    assert await door.remote.give_back(QUEUE, "me") == 1
    (again,) = (await door.remote.take([QUEUE], "other", limit=10, wait=0))[QUEUE]
    assert (again.message["n"], again.deliveries) == (2, 2)


async def test_taking_waits_for_a_message(door: Door) -> None:
    taking = asyncio.create_task(door.remote.take([QUEUE], "me", limit=1, wait=10))
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


async def test_a_topic_is_heard_from_the_first_question_on(door: Door) -> None:
    async with door.remote.listen([NAMES.cancel]) as ear:
        await door.channels.announce(NAMES.cancel, {"executionId": 7})
        (heard,) = await ear.next(5.0)
        assert (heard.topic, heard.message) == (NAMES.cancel, {"executionId": 7})
        assert ear.missed == 0


async def test_a_beat_goes_out(door: Door) -> None:
    async with door.channels.listen([NAMES.worker_heartbeat]) as ear:
        await door.remote.announce(NAMES.worker_heartbeat, {"workerId": "w"})
        (heard,) = await ear.next(5.0)
        assert heard.message == {"workerId": "w"}


async def test_boxes_are_written_and_read_on(door: Door) -> None:
    box = NAMES.status(3, 4)
    await door.remote.post({box: [{"seq": 1}, {"seq": 2}]})
    first, second = (await door.remote.read({box: START}, limit=10))[box]
    assert (first.message, second.message) == ({"seq": 1}, {"seq": 2})
    assert await door.remote.read({box: second.position}, limit=10) in ({}, {box: []})
    assert [one.message for one in (await door.remote.read({box: first.position}, limit=10))[box]] == [{"seq": 2}]


@pytest.mark.parametrize("backend", ["memory", "database", "redis"])
@pytest.mark.parametrize("wait", [0, 1])
async def test_what_is_no_position_is_the_callers_fault(
    tmp_path: Path, request: pytest.FixtureRequest, backend: str, wait: int
) -> None:
    url = request.getfixturevalue("redis_url") if backend == "redis" else f"{backend}://"
    box = NAMES.status(3, 4)
    async with opened(tmp_path, url) as door:
        caller = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
        for garbage in ("x", "-5", "٣", "9" * 30, "1-2-3"):
            asked = {"after": {box: garbage}, "wait": wait}
            answer = await asyncio.to_thread(caller.post, "/api/channels/read", asked)
            told = answer.envelope(400)
            assert "is not a position in a box" in told["msg"]
            assert told["code"] == 500


async def test_boxes_that_take_nothing_are_named_and_the_others_have_theirs(door: Door) -> None:
    assert isinstance(door.channels, MemoryChannels)
    door.channels._limits = Limits(box=2, message=1_000)
    full, large, good = (NAMES.status(3, number) for number in (1, 2, 3))
    with pytest.raises(BoxFull) as refused:
        await door.remote.post({full: [{"seq": 1}] * 3, good: [{"seq": 1}]})
    assert refused.value.boxes == {full}
    with pytest.raises(BoxFull) as refused:
        await door.remote.post({large: [{"text": "x" * 1_000}], good: [{"seq": 2}]})
    assert refused.value.boxes == {large}
    found = await door.remote.read(dict.fromkeys((full, large, good), START), limit=10)
    assert [entry.message for entry in found.pop(good)] == [{"seq": 1}, {"seq": 2}]
    assert not any(found.values())


async def test_reading_waits_until_a_box_grows(door: Door) -> None:
    box = NAMES.acknowledged("process")
    caller = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    asked = {"after": {box: ""}, "limit": 10, "wait": 10}
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
        ("take", {"queues": [NAMES.assigned], "consumer": "me"}),
        ("take", {"queues": [NAMES.handoff], "consumer": "me"}),
        ("done", {"queue": NAMES.handoff, "consumer": "me", "deliveries": []}),
        ("give_back", {"queue": NAMES.assigned, "consumer": "a-coordinator"}),
        ("announce", {"topic": NAMES.cancel, "message": {"executionId": 1}}),
        ("announce", {"topic": NAMES.coordinator_heartbeat, "message": {}}),
        ("hear", {"topics": [NAMES.coordinator_heartbeat], "listener": "me"}),
        ("post", {"boxes": {NAMES.acknowledged("another"): [{"executionId": 1, "verdict": "stored"}]}}),
        ("post", {"boxes": {"orchestrix.job.1.status.2.x": [{}]}}),
        ("read", {"after": {"orchestrix.job.assigned": ""}}),
        ("remove", {"boxes": [NAMES.handoff]}),
        ("remove", {"boxes": [NAMES.status(1, 2)]}),
    ],
)
async def test_what_coordinators_tell_each_other_is_closed(door: Door, verb: str, asked: dict[str, object]) -> None:
    caller = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    answer = await asyncio.to_thread(caller.post, f"/api/channels/{verb}", asked)
    assert "has no business" in answer.envelope(403)["msg"]


async def test_a_request_that_makes_no_sense_is_refused(door: Door) -> None:
    caller = Caller(door.url, {"ORTH-ACCESS-TOKEN": TOKEN})
    answer = await asyncio.to_thread(caller.post, "/api/channels/take", {"queues": [], "consumer": "me"})
    assert "queues" in answer.envelope(400)["msg"]


def test_names_of_another_prefix_are_closed() -> None:
    allowed = Allowed(Names("mine"))
    assert allowed.queue("mine.job.dispatch.app.a")
    assert allowed.post("mine.job.1.logs.2")
    for wrong in ("orchestrix.job.1.logs.2", "mine.job.1.logs.", "mine.job.x.logs.2", "mine.job.1.other.2"):
        with pytest.raises(Forbidden):
            allowed.post(wrong)
