"""However assignments, handoffs, deaths, zombies and lost messages interleave: a generation has one owner, nobody acts
on a generation that is gone, and in the end every open execution is looked after.

The coordinators are the real parts on real databases. One is killed before or after any of its transactions; messages
are lost, repeated and come again when they are old; a coordinator that lives is thought dead and goes on as a zombie.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import Connection, select

from orth.channels.interface import Message
from orth.cluster.drain import Drain, Taking
from orth.cluster.handoff import HandingOver, Rules
from orth.domain.executions import OPEN_PHASES
from orth.domain.handoffs import Reason
from orth.store.database import Database, open_database
from orth.store.engines import is_sqlite
from orth.store.ownership import Holding, Owner, abandon, keep, orphan, orphan_unowned, release_orphans, unowned
from orth.store.tables import executions, ownership
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from tests.cluster.ownership_site import Node, Site, assignments
from tests.store.builders import NOW

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
EXAMPLES, STEPS = (300, 60) if LONG else (15, 35)
AT_ONCE = Rules(ack_timeout=0.0, tries=2, grace=0.0, hard=1e9)
QUEUES = ("orchestrix.job.assigned", "orchestrix.job.handoff")
MOMENTS = st.one_of(st.none(), st.tuples(st.integers(0, 4), st.booleans()))
"""When a coordinator dies: at which of its transactions, before or after the commit; mostly not at all."""
WHO = st.integers(0, 2)


class Killed(Exception):
    """The process is gone."""


class MortalDatabase:
    """A store whose user dies at a chosen transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.moment: tuple[int, bool] | None = None

    async def tx(self, *args: Any, **kwargs: Any) -> Any:
        return await self._mortal(self._db.tx, *args, **kwargs)

    async def read(self, *args: Any, **kwargs: Any) -> Any:
        return await self._mortal(self._db.read, *args, **kwargs)

    async def _mortal(self, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        if self.moment is None:
            return await call(*args, **kwargs)
        left, committed = self.moment
        self.moment = (left - 1, committed)
        if left == 0 and not committed:
            raise Killed
        result = await call(*args, **kwargs)
        if left == 0:
            raise Killed
        return result


class Ownership(RuleBasedStateMachine):
    """Three names, each borne by one process after the other."""

    def __init__(self, db: Database, runner: asyncio.Runner) -> None:
        super().__init__()
        self.db, self.runner = db, runner
        self.clock = ManualClock()
        self.site = Site(db, self.clock)
        self.lives = 0
        self.processes = [self.born(which) for which in range(3)]
        self.zombies: list[Node] = []
        self.opened = 0
        self.old: list[tuple[str, Message]] = []
        self.owner_of: dict[tuple[int, int], str | None] = {}
        with db.engine.begin() as connection:
            for table in (ownership, executions):
                connection.execute(table.delete())

    def born(self, which: int) -> Node:
        """A new process under the name of an old one."""
        self.lives += 1
        name = f"node-{which}"
        site = Site(cast(Database, MortalDatabase(self.db)), self.clock)
        site.channels, site.company = self.site.channels, self.site.company
        node = Node(site, name, Owner(name, f"life-{self.lives}"), self.site.channels)
        node.handing = HandingOver(node.station, AT_ONCE)
        node.drain = Drain(node.station, Taking(node.competing, node.tending, node.assigning), AT_ONCE)
        self.site.company.alive[name] = node.owner.incarnation
        return node

    def do(self, act: Awaitable[Any]) -> Any:
        async def done() -> Any:
            return await act

        return self.runner.run(done())

    async def live(self, which: int, act: Callable[[Node], Awaitable[Any]], moment: tuple[int, bool] | None) -> None:
        """Let a process act, perhaps for the last time."""
        node = self.processes[which]
        mortal = cast(MortalDatabase, node.station.db)
        mortal.moment = moment
        try:
            await act(node)
        except Killed:
            self.processes[which] = self.born(which)
        mortal.moment = None

    # --- what the leader and the executors do

    @rule(count=st.integers(1, 4), queue=st.sampled_from(["", "reports.slow"]), told=st.booleans())
    def dispatch(self, count: int, queue: str, told: bool) -> None:
        ids = self.do(self.site.sent(count, f"fire-{self.opened}"))
        self.opened += 1
        if told:
            leader = self.processes[0]
            leader.assigning.queued(assignments(ids, queue))
            self.do(leader.assigning.turn())

    @rule(pick=st.integers(0, 20))
    def end(self, pick: int) -> None:
        ids = self.do(self.db.tx(_open_ids))
        if ids:
            self.do(self.site.end(ids[pick % len(ids)]))

    @rule(which=WHO)
    def orphan_check_thinks_it_dead(self, which: int) -> None:
        """Rightly or not: what a process has that lives goes to others all the same."""
        self.do(self.db.tx(orphan, self.processes[which].owner, NOW, 3))

    @rule()
    def orphan_check_of_all_that_are_gone(self) -> None:
        self.do(self.orphan_gone())

    @rule()
    def orphan_check_of_what_has_no_row(self) -> None:
        ids = self.do(self.db.tx(unowned, 10))
        self.do(self.db.tx(orphan_unowned, ids, NOW))

    # --- what coordinators do

    @rule(which=WHO, moment=MOMENTS)
    def compete(self, which: int, moment: tuple[int, bool] | None) -> None:
        self.clock.move(1.0)
        with self.nothing_is_stolen():
            self.do(self.live(which, lambda node: node.competing.turn(), moment))

    @rule(which=WHO, moment=MOMENTS)
    def tend(self, which: int, moment: tuple[int, bool] | None) -> None:
        self.clock.move(6.0)
        with self.nothing_is_stolen():
            self.do(self.live(which, lambda node: node.tending.turn(), moment))

    @rule(which=WHO, moment=MOMENTS, leaves=st.booleans())
    def hand_over(self, which: int, moment: tuple[int, bool] | None, leaves: bool) -> None:
        self.do(self.live(which, partial(_hand_over, leaves=leaves), moment))

    @rule(giver=WHO, taker=WHO, moment=MOMENTS)
    def hand_over_while_another_takes(self, giver: int, taker: int, moment: tuple[int, bool] | None) -> None:
        if giver == taker:
            return

        async def both() -> None:
            takes = self.live(taker, _compete_often, None)
            await asyncio.gather(self.live(giver, partial(_hand_over, leaves=True), moment), takes)

        self.do(both())

    @rule(giver=WHO, taker=WHO, moment=MOMENTS)
    def two_leave_at_once(self, giver: int, taker: int, moment: tuple[int, bool] | None) -> None:
        """One hands over while the other, which takes that, leaves too; the latter may die of it."""
        if giver == taker:
            return

        async def both() -> None:
            leaves = self.live(taker, _compete_and_leave, moment)
            await asyncio.gather(self.live(giver, partial(_hand_over, leaves=True), None), leaves)

        process = self.processes[taker]
        self.do(both())
        if self.processes[taker] is process:  # it was not killed: what it took it has given on, or away
            rows, still = self.do(self.db.tx(_all_rows)), self.do(self.db.tx(_open_ids))
            kept = [rows[one] for one in still if one in rows and rows[one].incarnation == process.owner.incarnation]
            assert {row.state for row in kept} <= {Holding.ORPHAN_PENDING}, "it left with executions of its own"
            self.processes[taker] = self.born(taker)

    @rule(first=WHO, second=WHO)
    def two_at_once(self, first: int, second: int) -> None:
        if first == second:
            return

        async def both() -> None:
            turns = (self.live(one, _compete_and_tend, None) for one in (first, second))
            await asyncio.gather(*turns)

        self.clock.move(6.0)
        with self.nothing_is_stolen():
            self.do(both())

    @rule(which=WHO)
    def freeze(self, which: int) -> None:
        """Another process takes the name; the old one will go on later as if nothing had happened."""
        self.zombies.append(self.processes[which])
        self.processes[which] = self.born(which)

    @rule(pick=st.integers(0, 5))
    def zombie_acts(self, pick: int) -> None:
        if self.zombies:
            zombie = self.zombies[pick % len(self.zombies)]
            self.do(_hand_over(zombie, leaves=pick % 2 == 0))
            self.do(zombie.competing.turn())

    @rule(pick=st.integers(0, 5))
    def zombie_looks(self, pick: int) -> None:
        if self.zombies:
            self.looks(self.zombies[pick % len(self.zombies)])

    @rule(which=WHO, taker=WHO)
    def zombie_comes_back_when_others_have_all(self, which: int, taker: int) -> None:
        self.freeze(which)
        self.do(self.orphan_gone())
        for _ in range(3):
            self.do(self.processes[taker].tending.turn())
        self.looks(self.zombies[-1])

    def looks(self, zombie: Node) -> None:
        self.clock.move(31.0)
        self.do(zombie.tending.turn())
        rows = self.do(self.db.tx(_all_rows))
        for one, generation in zombie.station.holdings.written().items():
            assert rows[one].generation == generation, "a zombie that has looked acts on what it does not own"

    # --- what channels do

    @rule(queue=st.sampled_from(QUEUES), count=st.integers(1, 5))
    def lose_messages(self, queue: str, count: int) -> None:
        taken = self.do(self.site.channels.take([queue], "nobody", limit=count, wait=0))
        self.old += [(queue, delivery.message) for delivery in taken.get(queue, [])]
        self.do(self.site.channels.done(queue, "nobody", [delivery.id for delivery in taken.get(queue, [])]))

    @rule(pick=st.integers(0, 50), times=st.integers(1, 3))
    def repeat_an_old_message(self, pick: int, times: int) -> None:
        if self.old:
            queue, message = self.old[pick % len(self.old)]
            self.do(self.site.channels.send(queue, [message] * times))

    # --- what must hold

    @contextmanager
    def nothing_is_stolen(self) -> Iterator[None]:
        """Nobody takes what is owned and not offered."""
        before = self.do(self.db.tx(_all_rows))
        yield
        after = self.do(self.db.tx(_all_rows))
        for one, row in before.items():
            if row.state == Holding.OWNED and one in after:
                assert after[one].generation == row.generation, f"{one} was taken from {row.incarnation}"

    @invariant()
    def a_generation_has_one_owner(self) -> None:
        for one, row in self.do(self.db.tx(_all_rows)).items():
            known = self.owner_of.setdefault((one, row.generation), row.incarnation)
            assert row.incarnation == known, f"{one} of generation {row.generation} was {known}'s"
            newest = max(generation for other, generation in self.owner_of if other == one)
            assert row.generation == newest, f"{one} went back from generation {newest}"

    @invariant()
    def nobody_believes_to_own_what_another_does(self) -> None:
        rows = self.do(self.db.tx(_all_rows))
        for node in (*self.processes, *self.zombies):
            for one, generation in node.station.holdings.written().items():
                row = rows.get(one)
                if row is not None and row.generation == generation:
                    assert row.incarnation == node.owner.incarnation

    def teardown(self) -> None:
        """Everybody dies but one, which then looks after all that is open, and nothing else is left."""
        self.do(self.heal())
        rows = self.do(self.db.tx(_all_rows))
        survivor = self.processes[0].owner.incarnation
        assert sorted(rows) == self.do(self.db.tx(_open_ids))
        assert {(row.incarnation, row.state) for row in rows.values()} <= {(survivor, Holding.OWNED)}
        assert sorted(self.processes[0].station.holdings.held) == sorted(rows)

    async def heal(self) -> None:
        for name in ("node-1", "node-2"):
            self.site.company.alive.pop(name, None)
        self.processes[0] = survivor = self.born(0)
        for _ in range(4):
            await self.orphan_gone()
            await self.db.tx(orphan_unowned, await self.db.tx(unowned, 1000), NOW)
            self.clock.move(31.0)
            await survivor.tending.turn()
            await survivor.competing.turn()
        for queue in QUEUES:
            await self.site.channels.take([queue], "nobody", limit=1000, wait=0)
        await self.db.tx(release_orphans, 1000)

    async def orphan_gone(self) -> None:
        rows = (await self.db.tx(_all_rows)).values()
        owners = {Owner(row.node_id, row.incarnation) for row in rows if row.node_id is not None}
        for gone in await self.processes[0].station.peers.gone(owners):
            await self.db.tx(orphan, gone, NOW, 1000)


async def _hand_over(node: Node, *, leaves: bool) -> None:
    seen = node.station.holdings.written()
    reason = Reason.SHUTDOWN if leaves else Reason.REBALANCE
    await node.handing.hand_over(seen, reason, abandon if leaves else keep, 1e12)


async def _compete_and_leave(node: Node) -> None:
    competing = asyncio.create_task(_compete_often(node))
    await asyncio.sleep(0)
    try:
        await node.drain.run()
    finally:
        await competing


async def _compete_often(node: Node) -> None:
    for _ in range(4):
        await node.competing.turn()


async def _compete_and_tend(node: Node) -> None:
    await node.competing.turn()
    await node.tending.turn()


def _all_rows(connection: Connection) -> dict[int, Any]:
    return {row.execution_id: row for row in connection.execute(select(ownership))}


def _open_ids(connection: Connection) -> list[int]:
    found = select(executions.c.id).where(executions.c.phase.in_(OPEN_PHASES)).order_by(executions.c.id)
    return list(connection.scalars(found))


@pytest.fixture(params=["sqlite", "postgresql"])
def machine_db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    prepare_store(url)
    with open_database(url, size=4) as db:
        if is_sqlite(db.url):
            with db.engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA synchronous=OFF")  # no power cut here
        yield db


def test_ownership_is_never_doubled_and_never_dropped(machine_db: Database) -> None:
    with asyncio.Runner() as runner:
        run_state_machine_as_test(
            cast(type[RuleBasedStateMachine], partial(Ownership, machine_db, runner)),
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
