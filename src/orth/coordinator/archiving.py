"""The Archiving loop: logs of executions that have ended are copied to the coordinators, so that they outlive their
executor.

It follows the ids: it walks over those that are new, a stretch at a time, and remembers the open ones it passed until
they have ended. A new leader begins with those triggered within the last day. Logs are fetched a few at a time and page
by page, packed as they come, and stored one by one, so neither memory nor the database sees much of it at once;
planning goes on beside it. What cannot be fetched is tried again a few times, then told and left.

Logs of executions that went through a queue are archived by whoever follows them. Those that are not archived a while
after the end, because he died or forgot, are handed to whoever does that on this node (``ended_logs``).

An executor may say anything, slowly and without end: a log is given so many pages and seconds, and of one that wants
more the beginning is kept. Its executor is then left alone for a while, and nobody else waits for it. What no executor
should be able to cause, a bug met with one log, is told and costs that log its copy, not everybody the loop.

What is older than its retention is removed, a few at a time too: by the leader what the database has, by every
coordinator the days of its own folder.
"""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.logs.archives import Archives
from orth.coordinator.logs.copies import Copy, Plan
from orth.coordinator.logs.facts import LogBroughtABug, LogNotArchived
from orth.coordinator.logs.fetches import Fetches
from orth.coordinator.logs.reading import LogReading, Source
from orth.errors import NotFound, OrthError, TermEnded, Unavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.leases import Term
from orth.store.log_archives import (
    Unarchived,
    drop_archives,
    expired_archives,
    first_execution_since,
    keep_archive,
    newest_execution,
    unarchived_among,
    unarchived_between,
)
from orth.wire.executor_link import AnswerUnknown, NotSent

_EVERY = 5.0
_STRETCH = 5_000
"""Ids looked at in one statement."""
_REMEMBERED = 20_000
"""Open executions that are remembered; of those looked at in one turn, a tenth."""
_WAITING = 1_000
"""Logs known to be due, at most, before more are looked for. Those that are tried later do not count."""
_FETCHED_PER_TURN = 64
_PAGES = 10_000
_PATIENCE = 60.0
"""Seconds after which no further page of a log is read."""
_REST = 10.0
"""Seconds for which an executor that did not answer is not asked again."""
_LONG_REST = 300.0
"""The same for one whose log did not come to an end."""
_LOOK_BACK = 24 * 3600.0
_SETTLE = 3.0
"""Seconds after its end before a log is fetched: some executors write their last line after they reported."""
_LEFT_TO_OWNERS = 30.0
"""Seconds after the end for which the log of one from a queue is its owner's alone."""
_PAUSES = (10.0, 60.0, 600.0)
"""Seconds before each further attempt."""
_PURGE_EVERY = 60.0
_PURGE_BATCH = 200
_CLEAN_EVERY = 3600.0


@dataclass(slots=True)
class _Task:
    """A log to fetch."""

    due: float
    address: str
    attempts: int = 0


@dataclass(slots=True)
class _Position:
    """How far the ids of one term were followed."""

    epoch: int
    mark: int
    remembered: dict[int, None] = field(default_factory=dict)
    tasks: dict[int, _Task] = field(default_factory=dict)
    queued: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Executions from queues: when they are handed on, and their jobs."""


class Archiving(LeaderLoop):
    """Copies logs, and removes the copies in the end."""

    def __init__(
        self,
        db: Database,
        election: Election,
        reading: LogReading,
        archives: Archives,
        clock: Clock,
        events: Events,
        *,
        plan: Plan,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._reading = reading
        self._archives = archives
        self._plan = plan
        self._position: _Position | None = None
        self._next_purge = 0.0
        self._fetches = Fetches()
        self._resting: dict[str, tuple[float, str]] = {}
        """Until when executors are left alone, and why."""
        self.hand_on: Callable[[int, int], bool] | None = None
        """Takes executions from queues, each with its job, whose logs nobody has archived; false when it is full."""

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await self._fetches.stop()

    async def lead(self, term: Term) -> float:
        more = await self._purge(term)
        if self._plan.kind == "none" and self.hand_on is None:
            return 0.0 if more else _PURGE_EVERY
        if self._position is None or self._position.epoch != term.epoch:
            await self._fetches.stop()
            mark = await self._db.read(_first_mark, int(self.clock.now() - _LOOK_BACK * 1000))
            self._position = _Position(term.epoch, mark)
        position = self._position
        behind = await self._look(position)
        self._hand_on(position)
        busy = await self._fetch(term, position)
        return 0.0 if more or behind or busy else _EVERY

    # --- finding

    async def _look(self, position: _Position) -> bool:
        """Find executions that have ended; whether there are more to look at."""
        now = self.clock.monotonic()
        if len(position.tasks) >= _REMEMBERED or sum(task.due <= now for task in position.tasks.values()) >= _WAITING:
            return False
        if len(position.queued) >= _REMEMBERED:
            return False
        passed = list(position.remembered)[: _REMEMBERED // 10]
        newest, found, ended = await self._db.read(_look, position.mark, passed)
        for execution_id in passed:  # those that are still open go to the end of the line
            position.remembered.pop(execution_id, None)
        position.mark = min(newest, position.mark + _STRETCH) if newest > position.mark else position.mark
        for one in (*found, *ended):
            if one.ended_at is None:
                position.remembered[one.execution_id] = None
            elif one.queue is not None:
                position.queued.setdefault(one.execution_id, (self._due(one.ended_at, _LEFT_TO_OWNERS), one.job_id))
            elif self._plan.kind != "none":
                position.tasks.setdefault(one.execution_id, _Task(self._due(one.ended_at, _SETTLE), one.address))
        while len(position.remembered) > _REMEMBERED:
            oldest = next(iter(position.remembered))
            del position.remembered[oldest]
            self.events.emit(LogNotArchived(oldest, f"more than {_REMEMBERED} executions are open"))
        return position.mark < newest

    def _due(self, ended_at: int, seconds: float) -> float:
        """So many seconds after the end, and no later than that from now: its clock may be another's."""
        left = (ended_at - self.clock.now()) / 1000 + seconds
        return self.clock.monotonic() + max(0.0, min(left, seconds))

    def _hand_on(self, position: _Position) -> None:
        now = self.clock.monotonic()
        for execution_id, (due, job_id) in list(position.queued.items()):
            if due <= now and (self.hand_on is None or self.hand_on(execution_id, job_id)):
                del position.queued[execution_id]

    # --- fetching

    async def _fetch(self, term: Term, position: _Position) -> bool:
        """Fetch what is due, as long as something ends soon; whether more is due."""
        begun = 0
        while begun < _FETCHED_PER_TURN:
            begun += self._begin(term, position)
            if not await self._fetches.some_ended():
                return False
        return True

    def _begin(self, term: Term, position: _Position) -> int:
        """Begin with as many as there is room for; how many."""
        begun = 0
        now = self.clock.monotonic()
        for execution_id, task in list(position.tasks.items()):
            if self._fetches.full:
                break
            if task.due > now or execution_id in self._fetches or self._fetches.crowded(task.address):
                continue
            until, why = self._resting.get(task.address, (now, ""))
            if until > now:
                self._try_again(position, execution_id, why)
                continue
            self._fetches.begin(execution_id, task.address, self._try(term, position, execution_id))
            begun += 1
        return begun

    async def _try(self, term: Term, position: _Position, execution_id: int) -> None:
        address = position.tasks[execution_id].address
        last = position.tasks[execution_id].attempts >= len(_PAUSES)
        try:
            if not await self._archive(term, execution_id, last):
                self._let_rest(address, _LONG_REST, f"{address} gave a log that did not come to an end")
        except TermEnded:
            raise
        except (OrthError, OSError) as error:
            if isinstance(error, AnswerUnknown | NotSent):
                self._let_rest(address, _REST, str(error))
            self._try_again(position, execution_id, str(error))
        except Exception as bug:
            del position.tasks[execution_id]
            self.events.emit(LogBroughtABug(execution_id, repr(bug), "".join(traceback.format_exception(bug))))
        else:
            del position.tasks[execution_id]

    def _let_rest(self, address: str, seconds: float, why: str) -> None:
        now = self.clock.monotonic()
        self._resting = {one: rest for one, rest in self._resting.items() if rest[0] > now}
        self._resting[address] = (now + seconds, why)

    def _try_again(self, position: _Position, execution_id: int, why: str) -> None:
        task = position.tasks[execution_id]
        if task.attempts >= len(_PAUSES):
            del position.tasks[execution_id]
            self.events.emit(LogNotArchived(execution_id, why))
            return
        task.due = self.clock.monotonic() + _PAUSES[task.attempts]
        task.attempts += 1

    async def _archive(self, term: Term, execution_id: int, last: bool) -> bool:
        """Copy a log, as far as it comes; false when it was left before its end because that took too long. One that is
        still written is left for later, until the ``last`` attempt: that keeps what there is.
        """
        try:
            source = await self._reading.source(execution_id)
        except NotFound:  # its row is gone, and with it the way to its log
            return True
        if source.archived is not None:
            return True
        copy = Copy(self._archives, execution_id, self.clock.now(), self._plan)
        try:
            came_to_an_end = await self._copy(source, copy, last)
            if not copy.lines:  # the executor has none: there is nothing to outlive it
                await asyncio.to_thread(copy.give_up)
                return True
            await asyncio.to_thread(copy.finish)
            await self._db.leader_tx(term, keep_archive, copy.kept(), copy.content)
            return came_to_an_end
        except BaseException:
            await asyncio.to_thread(copy.give_up)
            raise

    async def _copy(self, source: Source, copy: Copy, last: bool) -> bool:
        deadline = self.clock.monotonic() + _PATIENCE
        count = 0
        async with aclosing(self._reading.executor_pages(source, 1)) as pages:
            async for page in pages:
                if not page.lines.texts:
                    # A killed execution has ended, and its handler may write on. Ours say when no more will come.
                    if source.ours and not page.closed:
                        if not last:
                            raise Unavailable("its log is still written")
                        copy.gap()
                    return True
                if not await asyncio.to_thread(copy.add, page.lines):
                    ending = await self._reading.executor_tail(source)
                    if ending is not None and ending.texts:
                        await asyncio.to_thread(copy.add_last, ending)
                    return True
                if page.end:
                    return True
                count += 1
                if count >= _PAGES or self.clock.monotonic() >= deadline:
                    break
        copy.gap()
        return False

    # --- removing

    async def _purge(self, term: Term) -> bool:
        """Remove some copies that are old enough; whether there may be more."""
        now = self.clock.monotonic()
        if now < self._next_purge:
            return False
        before = self.clock.now() - int(self._plan.retention.total_seconds() * 1000)
        old = await self._db.read(expired_archives, before, _PURGE_BATCH)
        if old:
            places = [place for _, place in old if place is not None]
            await asyncio.to_thread(self._archives.remove, places)
            await self._db.leader_tx(term, drop_archives, [execution_id for execution_id, _ in old])
        if len(old) < _PURGE_BATCH:
            self._next_purge = now + _PURGE_EVERY
            return False
        return True


class ArchiveFolder(Loop):
    """Removes old days from this coordinator's own folder: the rows they belonged to are gone, or never came to be."""

    def __init__(self, archives: Archives, clock: Clock, events: Events, *, retention: timedelta) -> None:
        super().__init__(clock, events)
        self._archives = archives
        self._retention = retention

    async def turn(self) -> float:
        # A day more than the rows: while there is a row there is its file.
        before = self.clock.now() - int((self._retention + timedelta(days=1)).total_seconds() * 1000)
        await asyncio.to_thread(self._archives.remove_days_before, before)
        return _CLEAN_EVERY


def _first_mark(connection: Connection, since: int) -> int:
    first = first_execution_since(connection, since)
    return newest_execution(connection) if first is None else first - 1


def _look(connection: Connection, mark: int, passed: list[int]) -> tuple[int, list[Unarchived], list[Unarchived]]:
    newest = newest_execution(connection)
    found = unarchived_between(connection, mark, min(newest, mark + _STRETCH)) if newest > mark else []
    return newest, found, unarchived_among(connection, passed)
