"""Leadership: one term at a time, taken over by observation, given up cleanly, earned by working."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orth.clock import SystemClock
from orth.cluster.election import Election, Node, Standing
from orth.cluster.facts import TermBegan, TermEndedHere
from orth.errors import TermEnded
from orth.events import Events, LoopFailed
from orth.loop import Loop, run_loops
from orth.store.cluster_history import list_terms
from orth.store.database import Connection, Database, open_database
from orth.store.leases import Term, renew_lease
from orth.testing import ManualClock, Recorder
from orth.testing.stores import prepare_store

LEASE, RENEW = timedelta(seconds=30), timedelta(seconds=10)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url, size=2) as database:
        yield database


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def contender(db: Database, clock: ManualClock, recorder: Recorder, name: str) -> Election:
    return Election(db, Node(name, f"incarnation-of-{name}"), clock, Events(recorder), lease=LEASE, renew=RENEW)


async def test_the_first_takes_the_lease_at_once(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one = contender(db, clock, recorder, "one")
    await one.turn()
    assert one.term is not None
    assert one.term.epoch == 1
    assert recorder.all(TermBegan, node="one", epoch=1)


async def test_a_second_waits_for_a_whole_lease_by_its_own_clock(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    await two.turn()
    clock.jump(3600)  # wall clocks do not matter
    clock.move(29)
    await two.turn()
    assert two.term is None
    clock.move(1)
    await two.turn()
    assert two.term is not None
    assert two.term.epoch == 2
    assert one.term is None


async def test_a_renewal_keeps_the_others_waiting(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    for _ in range(20):
        one.worked()
        await one.turn()
        await two.turn()
        clock.move(10)
    assert one.term is not None
    assert two.term is None


async def test_a_leader_stops_itself_before_others_may_start(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one = contender(db, clock, recorder, "one")
    await one.turn()
    clock.move(26.9)
    assert one.term is not None
    clock.move(0.2)
    assert one.term is None
    await one.turn()
    assert recorder.all(TermEndedHere, node="one", reason="it was not renewed in time")


async def test_a_leader_that_could_not_renew_leads_again_as_soon_as_it_can(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    clock.move(40)  # in which nobody reached the database
    await two.turn()
    assert two.term is None, "it has seen the lease for no time at all"
    await one.turn()
    await one.turn()
    assert one.term is not None
    assert one.term.epoch == 2
    await two.turn()
    assert two.term is None


async def test_a_leader_that_stood_still_gives_up_the_lease_before_it_ends(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.guarded_turn()
    await two.guarded_turn()
    clock.move(19.9)  # ten too late, and a third of the lease is left
    assert one.term is not None
    clock.move(0.2)
    assert one.term is None, "nothing is written, whichever loop comes first"
    await one.guarded_turn()
    await one.guarded_turn()
    assert recorder.all(TermEndedHere, node="one", reason="this process stood still, and little of the lease is left")
    await two.guarded_turn()
    assert two.term is not None, "ten seconds before the lease would have ended"
    clock.move(5)
    await one.guarded_turn()
    assert one.term is None


async def test_a_leader_that_stood_still_alone_leads_again(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one = contender(db, clock, recorder, "one")
    await one.guarded_turn()
    clock.move(21)
    await one.guarded_turn()
    assert one.term is None
    clock.move(2)
    await one.guarded_turn()
    assert one.term is not None
    assert one.term.epoch == 2


async def test_a_slow_database_is_no_reason_to_give_up_the_lease(
    db: Database, clock: ManualClock, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, tx = contender(db, clock, recorder, "one"), db.tx
    await one.guarded_turn()
    one.worked()
    clock.move(10)

    async def slow(work: Callable[..., Any], *arguments: Any) -> Any:
        clock.move(16)
        assert one.term is not None, "a turn is under way"
        return await tx(work, *arguments)

    monkeypatch.setattr(db, "tx", slow)
    await one.guarded_turn()
    assert one.term is not None
    assert recorder.all(TermEndedHere) == []


async def test_a_blocked_event_loop_costs_the_lease_in_time(db: Database, recorder: Recorder) -> None:
    clock, lease, renew = SystemClock(), timedelta(seconds=6), timedelta(seconds=2)
    election = Election(db, Node("one", "one"), clock, Events(recorder), lease=lease, renew=renew)
    other = Election(db, Node("two", "two"), clock, Events(recorder), lease=lease, renew=renew)
    running = asyncio.create_task(run_loops(election))
    async with asyncio.timeout(10):
        while election.term is None:  # noqa: ASYNC110  # the loop runs beside
            await asyncio.sleep(0.01)
    await other.turn()
    began = clock.monotonic()
    time.sleep(4.3)  # noqa: ASYNC251  # as a parser does that gives nobody else a turn
    assert election.term is None
    async with asyncio.timeout(10):
        while other.term is None:
            await other.turn()
            await asyncio.sleep(0.01)
    assert clock.monotonic() - began < 6, "before the lease ended"
    assert recorder.all(TermEndedHere, node="one", reason="this process stood still, and little of the lease is left")
    election.stop()
    await running


async def test_who_resigns_is_followed_at_once(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    await two.turn()
    await one.resign()
    given_up = clock.now()
    clock.move(0.25)
    await two.turn()
    assert two.term is not None
    assert two.term.epoch == 2
    remembered = await db.read(list_terms, 2)
    assert [one.ended_at for one in remembered] == [None, given_up], "nobody led in between"


async def test_a_renewal_that_is_overtaken_by_a_resignation_ends_nothing_twice(
    db: Database, clock: ManualClock, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = contender(db, clock, recorder, "one")
    await one.turn()
    resigned, tx = asyncio.Event(), db.tx

    async def late(work: Callable[..., Any], *arguments: Any) -> Any:
        if work is renew_lease:
            await resigned.wait()
        return await tx(work, *arguments)

    monkeypatch.setattr(db, "tx", late)
    renewing = asyncio.ensure_future(one.turn())
    await asyncio.sleep(0)
    await one.resign()
    resigned.set()
    await renewing
    assert one.term is None
    assert len(recorder.all(TermEndedHere, node="one")) == 1


async def test_who_stands_aside_leads_no_more(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    await one.stand_aside()
    clock.move(3600)
    await one.turn()
    assert one.term is None, "though nobody else holds the lease"
    assert recorder.all(TermEndedHere, node="one", reason="all nodes are about to stop")
    await two.turn()
    assert two.term is not None


async def test_followers_look_twice_a_second_and_exactly_when_the_lease_is_over(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    assert await two.turn() == 0.5
    clock.move(29.75)
    assert await two.turn() == 0.25
    clock.move(0.25)
    await two.turn()
    assert two.term is not None


async def test_it_knows_who_leads_and_since_when_the_lease_stands(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    assert two.standing is None
    await one.turn()
    await two.turn()
    clock.move(4)
    assert one.standing == Standing("one", 1, 4.0)
    assert two.standing == Standing("one", 1, 4.0, renewed=False), "it may be dead, as far as this one knows"
    one.worked()
    await one.turn()
    await two.turn()
    assert one.standing == two.standing == Standing("one", 1, 0.0)


async def test_only_the_word_of_the_leader_makes_a_follower_look(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    await two.guarded_turn()
    two.heard_of("three", leads=False)
    two.heard_of("one", leads=True)
    assert two.paused_until > clock.monotonic()
    two.heard_of("one", leads=False)
    assert two.paused_until == clock.monotonic()
    await two.turn()
    assert two.term is None, "a hint to look, no more: the lease is the leader's"


class Locks:
    """What the server says of the locks of processes."""

    def __init__(self) -> None:
        self.held: set[str] = set()

    def __call__(self, _connection: Connection, incarnation: str) -> bool:
        return incarnation in self.held


def watcher(db: Database, clock: ManualClock, recorder: Recorder, locks: Locks) -> Election:
    node = Node("two", "incarnation-of-two")
    return Election(db, node, clock, Events(recorder), lease=LEASE, renew=RENEW, lives=locks)


async def test_a_leader_whose_lock_vanishes_is_followed_within_seconds(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    locks = Locks()
    one, two = contender(db, clock, recorder, "one"), watcher(db, clock, recorder, locks)
    await one.turn()
    locks.held = {"incarnation-of-one"}
    for _ in range(10):
        clock.move(await two.turn())
    locks.held = set()
    for _ in range(4):
        clock.move(await two.turn())
        assert two.term is None
    await two.turn()
    assert two.term is not None
    assert two.term.epoch == 2


async def test_a_lock_that_was_never_seen_proves_nothing(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), watcher(db, clock, recorder, Locks())
    await one.turn()
    for _ in range(50):
        clock.move(await two.turn())
        assert two.term is None


async def test_a_lock_that_comes_back_in_time_was_only_a_broken_connection(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    locks = Locks()
    one, two = contender(db, clock, recorder, "one"), watcher(db, clock, recorder, locks)
    await one.turn()
    for turn in range(40):
        locks.held = set() if turn % 4 else {"incarnation-of-one"}
        clock.move(await two.turn())
        assert two.term is None


async def test_one_that_renews_lives_though_its_lock_is_gone(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    locks = Locks()
    one, two = contender(db, clock, recorder, "one"), watcher(db, clock, recorder, locks)
    await one.turn()
    locks.held = {"incarnation-of-one"}
    await two.turn()
    locks.held = set()
    for _ in range(20):
        one.worked()
        await one.turn()
        await two.turn()
        assert two.term is None
        clock.move(1.5)


async def test_a_leader_that_does_not_plan_is_not_renewed(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    for _ in range(4):
        clock.move(10)
        await one.turn()
        await two.turn()
    assert one.term is None
    assert recorder.all(TermEndedHere, reason="no planning pass was completed for a whole lease")
    assert two.term is not None


async def test_a_write_of_an_old_term_is_refused(db: Database, clock: ManualClock, recorder: Recorder) -> None:
    one, two = contender(db, clock, recorder, "one"), contender(db, clock, recorder, "two")
    await one.turn()
    await two.turn()
    clock.move(31)
    await two.turn()
    assert await db.leader_tx(Term(2, "incarnation-of-two"), _nothing) == "done"
    with pytest.raises(TermEnded):
        await db.leader_tx(Term(1, "incarnation-of-one"), _nothing)


async def test_no_two_lead_at_the_same_time_however_they_are_turned(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    import random

    chance = random.Random(20260130)
    nodes = [contender(db, clock, recorder, f"node-{n}") for n in range(3)]
    epochs: list[int] = []
    for _ in range(400):
        node = chance.choice(nodes)
        if node.term is not None and chance.random() < 0.5:
            node.worked()
        if chance.random() < 0.03:
            await node.resign()
        else:
            await node.turn()
        leading = [one.term for one in nodes if one.term is not None]
        assert len(leading) <= 1
        epochs += [term.epoch for term in leading]
        clock.move(chance.choice([0, 0.5, 3, 10, 20]))
    assert epochs == sorted(epochs)
    assert len(set(epochs)) > 5


def _nothing(_connection: Connection) -> str:
    return "done"


class Waiting(Loop):
    """A duty that is in the middle of a long pause."""

    async def turn(self) -> float:
        return 3600.0


async def test_when_the_database_is_back_it_is_noticed_within_a_renewal_and_told(
    db: Database, clock: ManualClock, recorder: Recorder
) -> None:
    one, waiting = contender(db, clock, recorder, "one"), Waiting(clock, Events(recorder))
    one.led.append(waiting)
    await one.guarded_turn()
    await waiting.guarded_turn()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE orth_lease RENAME TO away")
    pauses = [await one.guarded_turn() for _ in range(12)]
    assert max(pauses) <= RENEW.total_seconds()
    assert len(recorder.all(LoopFailed)) == 12
    assert waiting.paused_until > clock.monotonic(), "there is nothing to tell yet"
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO orth_lease")
    await one.guarded_turn()
    assert one.term is not None
    assert waiting.paused_until == clock.monotonic()
    await waiting.guarded_turn()
    await one.guarded_turn()
    assert waiting.paused_until > clock.monotonic(), "once"
