"""A node among its fellows: beats, wishes, good-byes, and one process for each name."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.channels.names import Names
from orth.cluster.election import Election, Node
from orth.cluster.facts import (
    NodeAsked,
    NodeDied,
    NodeDraining,
    NodeJoined,
    NodeLeft,
    NodeRefused,
    NodeReplaced,
    NodeReturned,
)
from orth.cluster.membership import HeartbeatEar, Membership, Rhythm, Voice
from orth.errors import CannotStart
from orth.events import Events
from orth.store.database import Connection, Database, open_database
from orth.store.nodes import Load, NodeState, Role, Wish, ask_node, find_node, list_nodes
from orth.testing import ManualClock, Recorder
from orth.testing.stores import prepare_store

RHYTHM = Rhythm(timedelta(seconds=10), timedelta(seconds=30))
TOPIC = "orchestrix.coordinator.heartbeat"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url, size=2) as database:
        yield database


@pytest.fixture
async def channels() -> AsyncIterator[MemoryChannels]:
    opened = MemoryChannels(ManualClock(), Limits())
    yield opened
    await opened.close()


class Member:
    """A node, turned by hand."""

    def __init__(
        self, db: Database, clock: ManualClock, name: str, channels: MemoryChannels | None = None, process: str = ""
    ) -> None:
        self.node = Node(name, process or f"process-of-{name}")
        self.recorder = Recorder()
        events = Events(self.recorder)
        self.election = Election(db, self.node, clock, events, lease=timedelta(seconds=30), renew=timedelta(seconds=10))
        self.stopped = 0
        self.refused: str | None = None
        self.load = Load()
        voice = Voice(channels, Names()) if channels else None
        self.membership = Membership(
            db,
            self.election,
            self.node,
            clock,
            events,
            rhythm=RHYTHM,
            url=f"http://{name}",
            voice=voice,
            load=lambda: self.load,
            asked_to_stop=self._stop,
            admit=self._admit,
        )
        self.ear = HeartbeatEar(self.membership, voice, clock, events) if voice else None

    def _admit(self, _connection: Connection, _now: int) -> None:
        if self.refused is not None:
            raise CannotStart(self.refused)

    def _stop(self) -> None:
        self.stopped += 1

    async def turn(self) -> float:
        return await self.membership.guarded_turn()

    async def hear(self) -> None:
        assert self.ear is not None
        await self.ear.turn()


async def test_a_node_enters_itself_and_says_what_it_has(db: Database) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.election.turn()
    one.load = Load(7, 3, 100, 1 << 20)
    await one.turn()
    (row,) = await db.read(list_nodes)
    assert (row.said.node_id, row.said.role, row.said.state, row.said.load) == (
        "one",
        Role.LEADER,
        NodeState.ACTIVE,
        one.load,
    )
    assert row.said.url == "http://one"
    assert row.said.process_id > 0


async def test_it_beats_every_ten_seconds_and_looks_in_time_for_the_next_death(db: Database) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one"), Member(db, clock, "two")
    for member in (one, two):
        assert 9 <= await member.turn() <= 10
    began = clock.monotonic()
    for _ in range(12):
        clock.move(await one.turn())
    elapsed = clock.monotonic() - began
    row = await db.read(find_node, "one")
    assert row is not None
    assert elapsed / 10 <= row.beats <= elapsed / 9 + 1
    (death,) = one.recorder.all(NodeDied, node="two")
    assert 30 <= death.silence < 30.1


async def test_who_falls_silent_is_dead_to_all_and_written_down_by_the_leader(db: Database) -> None:
    clock = ManualClock()
    one, two, three = (Member(db, clock, name) for name in ("one", "two", "three"))
    await one.election.turn()
    for member in (one, two, three):
        await member.turn()
    for _ in range(5):
        clock.move(10)
        one.election.worked()
        await one.election.turn()
        for member in (one, three):
            await member.turn()
    assert len(one.recorder.all(NodeDied, node="two")) == len(three.recorder.all(NodeDied, node="two")) == 1
    row = await db.read(find_node, "two")
    assert row is not None
    assert row.said.state is NodeState.DEAD
    await two.turn()
    await one.turn()
    clock.move(10)
    await one.turn()
    assert one.recorder.all(NodeReturned, node="two")
    row = await db.read(find_node, "two")
    assert row is not None
    assert row.said.state is NodeState.ACTIVE


async def test_after_a_database_that_was_away_nobody_is_dead(db: Database) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one"), Member(db, clock, "two")
    for member in (one, two, one):
        await member.turn()
        clock.move(1)
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE orth_node RENAME TO away")
    for _ in range(30):
        clock.move(10)
        assert await one.turn() <= 10
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO orth_node")
    await one.turn()
    clock.move(10)
    await two.turn()
    await one.turn()
    assert one.recorder.all(NodeDied) == []


async def test_a_process_that_finds_its_name_taken_stops(db: Database) -> None:
    clock = ManualClock()
    old, new = Member(db, clock, "one", process="old"), Member(db, clock, "one", process="new")
    await old.turn()
    await new.turn()
    clock.move(10)
    await old.turn()
    await old.turn()
    assert old.stopped == 1
    assert [fact.by for fact in old.recorder.all(NodeReplaced)] == ["new"]
    await old.membership.leave()
    clock.move(10)
    await new.turn()
    assert new.stopped == 0
    row = await db.read(find_node, "one")
    assert row is not None
    assert (row.said.incarnation, row.said.state) == ("new", NodeState.ACTIVE)


async def test_one_that_was_forgotten_enters_itself_again(db: Database) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.turn()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM orth_node")
    clock.move(10)
    await one.turn()
    assert [row.said.node_id for row in await db.read(list_nodes)] == ["one"]
    assert one.stopped == 0


async def test_a_wish_to_drain_is_found_at_the_next_look_and_heeded_once(db: Database) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.turn()
    await db.tx(ask_node, "one", one.node.incarnation, Wish.DRAIN)
    for _ in range(3):
        clock.move(10)
        await one.turn()
    assert one.stopped == 1
    assert [fact.wish for fact in one.recorder.all(NodeAsked)] == ["drain"]


async def test_a_leader_asked_to_step_down_does_so_and_leaves_the_lease_to_others(db: Database) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one"), Member(db, clock, "two")
    await one.election.turn()
    for member in (one, two):
        await member.turn()
    await two.election.turn()
    await db.tx(ask_node, "one", one.node.incarnation, Wish.STEP_DOWN)
    await one.turn()
    assert one.election.term is None
    await one.election.turn()
    assert one.election.term is None, "it would be the first to see that nobody leads"
    await two.election.turn()
    assert two.election.term is not None
    row = await db.read(find_node, "one")
    assert row is not None
    assert row.wish is None


async def test_with_nobody_else_it_leads_again_after_a_lease(db: Database) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.election.turn()
    assert await one.election.step_down()
    assert not await one.election.step_down()
    clock.move(29)
    await one.election.turn()
    assert one.election.term is None
    clock.move(2)
    await one.election.turn()
    assert one.election.term is not None


async def test_draining_and_leaving_are_known_to_the_others(db: Database) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one"), Member(db, clock, "two")
    for member in (one, two, one):
        await member.turn()
    assert one.recorder.all(NodeJoined, node="two")
    await two.membership.drain()
    await one.turn()
    assert one.recorder.all(NodeDraining, node="two")
    await two.membership.leave()
    await one.turn()
    assert one.recorder.all(NodeLeft, node="two")
    found = one.membership.fellows.find("two")
    assert found is not None
    assert not found.alive


# --- what channels add


async def test_every_beat_is_announced_with_its_load(db: Database, channels: MemoryChannels) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one", channels)
    one.load = Load(7, 3, 100, 1 << 20)
    async with channels.listen([TOPIC]) as ear:
        await one.turn()
        (heard,) = await ear.next(1)
    said = dict(heard.message)
    assert isinstance(said.pop("processId"), int)
    assert said.pop("hostname")
    assert said.pop("version")
    assert said == {
        "nodeId": "one",
        "incarnation": "process-of-one",
        "beats": 1,
        "url": "http://one",
        "role": "Follower",
        "status": "Active",
        "jobCount": 7,
        "queuedJobCount": 3,
        "cpuMillicores": 100,
        "memoryUsageBytes": 1 << 20,
        "timestamp": "2026-01-30T10:00:00.000Z",
    }


async def test_a_resignation_that_is_heard_wakes_the_others(db: Database, channels: MemoryChannels) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one", channels), Member(db, clock, "two", channels)
    await one.election.turn()
    async with channels.listen([TOPIC]) as ear:
        for member in (one, two):
            await member.turn()
        await two.election.guarded_turn()
        assert two.election.paused_until > clock.monotonic()
        await one.election.resign()
        await one.membership.leave()
        for heard in await ear.next(1):
            two.membership.heard(dict(heard.message))
    assert two.election.paused_until == clock.monotonic()
    await two.election.turn()
    assert two.election.term is not None


async def test_a_hint_makes_a_node_look_into_its_row(db: Database, channels: MemoryChannels) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one", channels), Member(db, clock, "two", channels)
    for member in (one, two, one):
        await member.turn()
    async with channels.listen([TOPIC]) as ear:
        await one.membership.hint("two")
        (heard,) = await ear.next(1)
    assert two.membership.paused_until > clock.monotonic()
    one.membership.heard(dict(heard.message))
    two.membership.heard(dict(heard.message))
    assert one.membership.paused_until > clock.monotonic()
    assert two.membership.paused_until == clock.monotonic()


@pytest.mark.parametrize(
    "message",
    [{}, {"nodeId": 7}, {"nodeId": "two"}, {"nodeId": "two", "incarnation": [], "beats": "x"}, {"asks": None}],
)
async def test_a_message_that_makes_no_sense_is_passed_over(db: Database, message: dict[str, object]) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.turn()
    one.membership.heard(message)
    assert one.membership.paused_until > clock.monotonic()


async def test_the_ear_stops_at_once_when_it_is_told_to(db: Database, channels: MemoryChannels) -> None:
    clock = ManualClock()
    one, two = Member(db, clock, "one", channels), Member(db, clock, "two", channels)
    assert one.ear is not None
    await one.turn()
    async with asyncio.timeout(10):
        listening = asyncio.create_task(one.ear.run())
        while one.membership.paused_until > clock.monotonic():  # until the ear is open and has heard it
            await two.membership.hint("one")
            await asyncio.sleep(0)
    async with asyncio.timeout(10):
        one.ear.stop()
        await listening


async def test_a_node_that_may_not_join_leaves_no_row(db: Database) -> None:
    one = Member(db, ManualClock(), "one")
    one.refused = "another token"
    with pytest.raises(CannotStart, match="another token"):
        await one.membership.join()
    assert await db.read(list_nodes) == []


async def test_a_node_that_was_silent_for_long_has_to_be_admitted_again(db: Database) -> None:
    clock = ManualClock()
    one = Member(db, clock, "one")
    await one.membership.join()
    one.refused = "another token"
    clock.move(20)
    await one.turn()
    assert one.stopped == 0, "the others have counted it all the time"
    clock.move(30)
    await one.turn()
    assert [fact.reason for fact in one.recorder.all(NodeRefused)] == ["another token"]
    assert (one.stopped, str(one.membership.refusal)) == (1, "another token")
    await one.turn()
    assert one.stopped == 1
    await one.membership.drain()
    await one.membership.leave()
    row = await db.read(find_node, "one")
    assert row is not None
    assert row.said.state is NodeState.OFFLINE
