"""The Probing loop: which executors this coordinator can reach. Every coordinator does it, not only the leader.

Calling every executor every second would find a dead one within a second, and would cost as much as all the work at
some thousands of them. So:

* **Our executors are watched.** Each has an open, idle connection (``orth.wire.watch_lines``). A process that ends has
  it closed by its system: it is suspect at once, and called to make sure. A machine that is gone is noticed by the
  system's own keep-alive, within ``registry.watch_timeout``. ``/health`` is asked over the
  connection once a minute, which finds a process that is there and does not move.
* **The others are called.** A foreign executor may serve one connection at a time, and one that is kept open would
  shut out everybody else. It is called (``/beat``) every ``registry.probe_every``, and so are those beyond
  ``registry.watch_limit``; with more of them than ``registry.probe_rate`` per second, each less often.
* **Answers are judged.** Something else may have got the address, and a gateway answers for whoever is gone: a page, or
  a process that nobody registered, is not the executor. One that says no to ``/beat`` is believed if it is asked as the
  only app that is known there. What it says to another's token, or to none, tells only that it is there.
* **Apps take turns.** Of those to call each app has its share of ``registry.probe_rate``, whatever it has registered:
  the dead addresses of one, invented ones perhaps, do not keep others from being called in time.
* **Doubts are settled.** Whoever is suspect, or overdue with its beat, is called every ``registry.probe_every`` until
  it answers. After a minute of it the pauses grow, to ten seconds.

What is found goes to ``reach``. Doubts are stored when they arise and when they end, for people and for the other
coordinators to see; with the database away they wait.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from orth.clock import Clock
from orth.coordinator.agenda import Agenda, Pace, Target
from orth.coordinator.reach import Reach, Sight
from orth.coordinator.roster import SLACK, Roster
from orth.coordinator.ticks import Measurement
from orth.domain.nodes import ExecutorEntry, Reachability, normal_address
from orth.errors import OrthError, StoreUnavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executor_entries import executors_at, list_executors
from orth.store.groups import manual_addresses
from orth.store.reachability import Doubt, clear_doubts, save_doubts
from orth.wire.executor_link import ExecutorLink, NotAnExecutor
from orth.wire.watch_lines import Health, LineSecurity, WatchLines

_LOOK_EVERY = 5.0  # what other coordinators stored is known here after that; what came here, at once
_LOOKED_AT = 500  # entries per second of looking, at most: with very many, what others stored is known later
_RENEW_DOUBTS = 600.0
_SHORT_LIFE = 600.0
_SHORT_LIVES = 3  # connections that somebody closed although the executor lives; then it is called instead
_UNLISTED_FOR = 600.0
_STORE_AGAIN = 1.0
_A_CALL = 1 - 1e-6  # parts of a call that are added up never make exactly one


@dataclass(frozen=True, slots=True)
class Watching:
    """How executors are probed."""

    token: str
    every: timedelta
    rate: int
    beat: timedelta
    timeout: timedelta
    silence: timedelta
    limit: int
    """Open connections, at most; 0 where there are no sockets to open."""


class Probing(Loop):
    """Calls executors and tells ``reach`` how it went."""

    def __init__(
        self,
        db: Database,
        node_id: str,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        reach: Reach,
        roster: Roster,
        watching: Watching,
        security: LineSecurity | None = None,
    ) -> None:
        super().__init__(clock, events)
        self._db = db
        self._node_id = node_id
        self._link = link
        self._reach = reach
        self._roster = roster
        self._watching = watching
        self._pace = Pace(watching.every.total_seconds(), watching.rate)
        self._lines = WatchLines(
            token=watching.token,
            clock=clock,
            timeout=watching.timeout.total_seconds(),
            silence=watching.silence.total_seconds(),
            ended=self._line_ended,
            security=security,
        )
        self._agenda = Agenda()
        self._offsets: dict[str, int] = {}
        self._overdue: set[str] = set()
        self._manual: Mapping[str, frozenset[str]] = {}
        """The addresses people wrote into lists, and the apps of those lists."""
        self._calls: set[asyncio.Task[None]] = set()
        self._storing: asyncio.Task[None] | None = None
        self._bug: BaseException | None = None
        self._allowed, self._counted = float(watching.rate), clock.monotonic()
        self._next_look = self._renewed = self._store_from = clock.monotonic()
        self._began = False
        reach.wakes.append(self)
        roster.wakes.append(self)

    def clock_offset(self, address: str) -> int | None:
        """Milliseconds by which the executor's clock was ahead of ours when it was last asked."""
        return self._offsets.get(normal_address(address))

    async def turn(self) -> float:
        if self._bug is not None:
            raise self._bug  # a bug in a task is a crash of this loop
        now = self.clock.monotonic()
        self._take_news(now)
        self._take_questions(now)
        self._call_due(now)
        if self._storing is None and now >= self._store_from and (now >= self._next_look or self._reach.unsaved):
            self._storing = asyncio.create_task(self._look_and_save(now))
            self._storing.add_done_callback(self._stored)
        return self._pause(now)

    async def all_answered(self) -> None:
        """Wait until no call is under way, and no look at the database."""
        while running := [*self._calls, *([self._storing] if self._storing else [])]:
            await asyncio.wait(running)

    async def close(self) -> None:
        """Stop calling, and let go of every connection."""
        running = [*self._calls, *([self._storing] if self._storing else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._lines.close()

    # --- whom to call

    def _take_news(self, now: float) -> None:
        """Who came, went or was restarted, says the roster."""
        if not self._roster.news:
            return
        for address in self._roster.news:
            entries = self._roster.all_at(address)
            if entries:
                # Of all who say that they have it: one that is not ours, watched as ours, would seem to be gone.
                ours = all(entry.incarnation is not None for entry in entries)
                self._expect(address, ours, now, entries[-1].app_name)
            elif address not in self._manual:
                self._forget(address)
        self._roster.news.clear()

    def _expect(self, address: str, ours: bool, now: float, app_name: str = "") -> None:
        target = self._agenda.targets.get(address)
        if target is None:
            self._agenda.put(address, Target(ours, app_name), now)
            if not (ours and self._watching.limit > 0):  # those are called at once, the others after a while
                self._agenda.schedule(address, now + self._rest(address))
        else:
            target.ours, target.listed, target.short_lives = ours, True, 0

    def _forget(self, address: str) -> None:
        self._agenda.drop(address)
        self._lines.drop(address)
        self._offsets.pop(address, None)
        self._reach.forget(address)
        self._reach.ticks.forget(address)

    def _take_questions(self, now: float) -> None:
        """Somebody doubts an address, has heard of one that was thought unreachable, or needs its clock."""
        for address in self._reach.questions:
            if address in self._agenda.targets:
                self._agenda.schedule(address, now)
            else:  # one that a trigger named
                self._agenda.put(address, Target(ours=False, listed=False), now)
        self._reach.questions.clear()
        for address in self._reach.ticks.wants & self._agenda.targets.keys():
            if address in self._lines:  # of no other is the clock known
                self._agenda.schedule(address, now)
        self._reach.ticks.wants.clear()

    # --- calling

    def _call_due(self, now: float) -> None:
        rate = self._pace.rate
        self._allowed = min(float(rate), self._allowed + (now - self._counted) * rate)
        self._counted = now
        while self._allowed >= _A_CALL and (address := self._agenda.take(now)) is not None:
            self._allowed -= 1
            task = asyncio.create_task(self._call(address))
            self._calls.add(task)
            task.add_done_callback(self._called)

    async def _call(self, address: str) -> None:
        target = self._agenda.targets[address]
        try:
            tell = await self._ask(address, target)
        except OrthError as error:
            tell = partial(self._reach.failed, address, error, probed=True, excusable=not target.ours)
        if self._agenda.targets.get(address) is not target:
            self._lines.drop(address)  # it left meanwhile, and what it said is nobody's concern
            return
        tell()
        if not target.listed:
            self._forget_unlisted(address)
        if address in self._agenda.targets:
            self._agenda.done(address, self.clock.monotonic() + self._rest(address))

    async def _ask(self, address: str, target: Target) -> Callable[[], None]:
        """Call once; what ``reach`` is to be told about it."""
        if not self._may_watch(address, target):
            return await self._beat(address)
        if address not in self._lines:
            target.opened = self.clock.monotonic()
        try:
            health = await self._lines.ask(address)
        except NotAnExecutor:
            target.short_lives = 0  # that it was closed says nothing of an executor that lives
            self._lines.drop(address)
            raise
        if health.incarnation is not None and not await self._is_registered(address, health.incarnation):
            self._lines.drop(address)
            return partial(self._reach.silent, address, "another process is there, not the registered one", probed=True)
        if address in self._agenda.targets:
            self._note_clocks(address, health)
        if health.well:
            return partial(self._reach.answered, address)
        return partial(self._reach.silent, address, _says(health.status), probed=True)

    async def _beat(self, address: str) -> Callable[[], None]:
        apps = {entry.app_name for entry in self._roster.all_at(address)} | self._manual.get(address, frozenset())
        # Whether anybody is there is all the same to several apps that are: any token that is good will do.
        app_name = apps.pop() if len(apps) == 1 else ""
        reply = await self._link.beat(address, token=self._watching.token, app_name=app_name)
        if reply.ok or not app_name:
            return partial(self._reach.answered, address)
        return partial(self._reach.unfit, address, _says(reply.msg or reply.code), probed=True)

    async def _is_registered(self, address: str, incarnation: str) -> bool:
        """Whether that process has the address, or may have: one that was restarted may have told so elsewhere."""
        if any(entry.incarnation == incarnation for entry in self._roster.all_at(address)):
            return True
        try:
            stored = await self._db.read(executors_at, address)
        except StoreUnavailable:
            return True
        return any(entry.incarnation == incarnation for entry in stored)

    def _note_clocks(self, address: str, health: Health) -> None:
        if health.clock_offset is not None:
            self._offsets[address] = health.clock_offset
        if health.incarnation is not None and health.tick_ahead is not None:
            now = self.clock.monotonic()
            found = Measurement(health.incarnation, health.tick_ahead, health.tick_error, now)
            self._reach.ticks.measured(address, found)

    def _may_watch(self, address: str, target: Target) -> bool:
        if not target.ours or target.short_lives >= _SHORT_LIVES:
            return False
        return address in self._lines or len(self._lines) < self._watching.limit

    def _line_ended(self, address: str, silent: bool) -> None:
        target = self._agenda.targets.get(address)
        if target is None:
            return
        lived = self.clock.monotonic() - target.opened
        target.short_lives = target.short_lives + 1 if lived < _SHORT_LIFE else 0
        if target.short_lives < _SHORT_LIVES:
            self._reach.silent(address, "nothing came from its machine" if silent else "its connection was closed")

    def _forget_unlisted(self, address: str) -> None:
        """An address that no list has is probed until it answers, or for as long as a list would keep it."""
        sight = self._reach.sight(address)
        assert sight is not None, "it was just called"
        settled = sight.state is Reachability.REACHABLE
        if settled or self.clock.now() - sight.since > _UNLISTED_FOR * 1000:
            self._forget(address)

    def _rest(self, address: str) -> float:
        return self._pace.pause(
            self._reach.sight(address),
            self.clock.now(),
            watched=address in self._lines,
            overdue=address in self._overdue,
            unwatched=self._agenda.sharing(address, len(self._agenda.targets) - len(self._lines)),
        )

    # --- remembering

    async def _look_and_save(self, now: float) -> None:
        """Agree with the database on who is there, and on what is doubted here."""
        looking = now >= self._next_look
        if looking:
            self._next_look = now + max(_LOOK_EVERY, len(self._roster) / _LOOKED_AT)
        try:
            if not self._began:  # an earlier process of this name may have left some
                await self._db.tx(clear_doubts, self._node_id)
                self._began = True
            await self._save(now)
            if looking:
                self._roster.begin_look()
                entries, manual = await self._db.read(_listed)
                self._roster.follow(entries)
                self._follow_manual(manual)
                self._mind_overdue()
        except StoreUnavailable:  # told by those who can do nothing without it; here the memory goes on
            self._store_from = self.clock.monotonic() + _STORE_AGAIN

    async def _save(self, now: float) -> None:
        if now - self._renewed >= _RENEW_DOUBTS:
            self._renewed = now
            self._reach.doubt_again()
        changed = dict(self._reach.unsaved)
        if changed:
            await self._db.tx(_write, self._node_id, changed)
            for address, sight in changed.items():
                if self._reach.unsaved.get(address) is sight:
                    self._reach.unsaved.pop(address, None)

    def _follow_manual(self, manual: Mapping[str, frozenset[str]]) -> None:
        now = self.clock.monotonic()
        before, self._manual = self._manual, manual
        for address in manual:
            if self._roster.at(address) is None:
                self._expect(address, False, now)
        for address in before.keys() - manual.keys():
            if self._roster.at(address) is None:
                self._forget(address)

    def _mind_overdue(self) -> None:
        now, before = self.clock.monotonic(), self._overdue
        self._overdue = self._roster.overdue(self._watching.beat.total_seconds() * SLACK)
        for address in self._overdue - before:
            if address in self._agenda.targets:
                self._agenda.schedule(address, now)

    def _stored(self, task: asyncio.Task[None]) -> None:
        self._storing = None
        self._note_bug(task)

    def _called(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._note_bug(task)

    def _note_bug(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
        self.wake()

    def _pause(self, now: float) -> float:
        due = self._agenda.next_due()
        if due is not None and self._allowed < _A_CALL:
            due = max(due, now + (1 - self._allowed) / self._pace.rate)
        look = self._next_look if not self._reach.unsaved else now
        soonest = max(look, self._store_from) if self._storing is None else now + _LOOK_EVERY
        return max(0.0, min(soonest, due if due is not None else soonest) - now)


def _says(what: object) -> str:
    return f"it answers, and says: {what}"


def _listed(connection: Connection) -> tuple[list[ExecutorEntry], dict[str, frozenset[str]]]:
    manual: dict[str, frozenset[str]] = {}
    for address, app_name in manual_addresses(connection):
        address = normal_address(address)
        manual[address] = manual.get(address, frozenset()) | {app_name}
    return list_executors(connection), manual


def _write(connection: Connection, node_id: str, changed: Mapping[str, Sight | None]) -> None:
    clear_doubts(connection, node_id, [address for address, sight in changed.items() if sight is None])
    doubts = [
        Doubt(node_id, address, sight.state, sight.since, sight.checked_at, sight.reason)
        for address, sight in changed.items()
        if sight is not None
    ]
    save_doubts(connection, doubts)
