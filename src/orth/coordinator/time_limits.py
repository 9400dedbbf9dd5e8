"""The TimeLimits loop: an execution that outlasts its job's time limit is ended, if its executor does not end it.

Our executors keep the limit themselves; others may not, and any may be too busy to. So the leader watches too, and is
never early: its clock for an execution begins when it first sees that nothing is before it at its executor, because
what waits there in a queue does not run yet. Where more wait than may run, those sent first are taken to run, and their
clock begins anew with every end. What could not be ended at one of ours is before the others of a job that must not
overlap. A grace is added, a longer one for ours. A new leader counts from its own first look.

The executor is asked to end it first, and then the row ends as timed out. A result that comes in between stands. An
executor that cannot be told may go on; what it reports is written down and not applied. One of another make can only be
told to end the job as a whole: what else of it was there ends as well, as failed, in the same transaction.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.killing import Killing, ended_together, find_peer
from orth.coordinator.letters import Peer
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution
from orth.domain.jobs import BlockStrategy, Overlap
from orth.domain.nodes import normal_address
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executions import Ending, find_readable
from orth.store.leases import Term
from orth.store.possibly_running import list_all_unconfirmed
from orth.store.time_limits import Limited, list_limited

_LOOK_EVERY = 5.0
_ENDED_AT_ONCE = 200
_CALLS_AT_ONCE = 32
OURS_GET = 6
"""How many times the grace our executors get, which keep the limit themselves."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What one executor has of one job: the executions, and when one of them was last seen to have ended."""

    ids: frozenset[int]
    quiet_since: float


@dataclass(frozen=True, slots=True)
class _Overdue:
    execution: Execution
    peer: Peer | None
    timeout: int
    others: tuple[Execution, ...]
    """What its executor ends together with it."""

    @property
    def call(self) -> tuple[object, ...]:
        """Who is to be asked for what: one call for all that are ended together."""
        place = (self.execution.job_id, self.peer.key) if self.peer and self.others else ()
        return place or (self.execution.id,)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the database says. ``left`` counts, by job and address, what may still be inside after its end."""

    limited: Sequence[Limited]
    left: Mapping[tuple[int, str], int]


class TimeLimits(LeaderLoop):
    """Ends executions that have outlasted their limit."""

    def __init__(
        self,
        db: Database,
        election: Election,
        killing: Killing,
        clock: Clock,
        events: Events,
        *,
        grace: timedelta,
        wakes: Sequence[Loop] = (),
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._killing = killing
        self._grace = grace.total_seconds()
        self._wakes = wakes
        self._epoch: int | None = None
        self._places: dict[tuple[int, str], _Place] = {}
        self._running: dict[int, float] = {}
        """Executions that surely run, and since when at the latest, on the monotonic clock."""
        self._queued: set[int] = set()
        """Executions that surely wait behind others of their job."""

    async def lead(self, term: Term) -> float:
        if self._epoch != term.epoch:
            self._epoch = term.epoch
            self._places, self._running, self._queued = {}, {}, set()
        look: _Look = await self._db.read(_look)
        now = self.clock.monotonic()
        limited, since = look.limited, self._watch(look, now)
        due = {one.id: since[one.id] + one.timeout + self._patience(one) for one in limited if one.id in since}
        overdue = sorted((instant, one) for one, instant in due.items() if instant <= now)[:_ENDED_AT_ONCE]
        if overdue:
            limits = {one.id: one.timeout for one in limited}
            await self._end(term, [(one, limits[one]) for _instant, one in overdue])
        left = (instant - now for instant in due.values() if instant > now)
        return max(0.1, min([_LOOK_EVERY, *left]))

    def _patience(self, one: Limited) -> float:
        return self._grace * OURS_GET if one.ours else self._grace

    def _watch(self, look: _Look, now: float) -> dict[int, float]:
        """Since when each of those that can be judged has been running, at the latest."""
        by_place: dict[tuple[int, str], list[Limited]] = {}
        for one in look.limited:
            by_place.setdefault((one.job_id, normal_address(one.address)), []).append(one)
        places = {key: self._place(key, some, now) for key, some in by_place.items()}
        since: dict[int, float] = {}
        running: dict[int, float] = {}
        queued: set[int] = set()
        for key, some in by_place.items():
            room = _room(some, look.left.get(key, 0))
            for rank, one in enumerate(sorted(some, key=lambda each: (each.sent_at, each.id))):
                if rank >= room:
                    queued.add(one.id)
                if not one.taken:
                    continue
                if one.id in self._running or len(some) <= room:
                    running[one.id] = since[one.id] = self._running.get(one.id, now + self._held_for(one))
                elif rank < room and not one.ours:
                    since[one.id] = places[key].quiet_since + self._held_for(one)
        self._places, self._running, self._queued = places, running, queued
        return since

    def _place(self, key: tuple[int, str], some: Sequence[Limited], now: float) -> _Place:
        ids = frozenset(one.id for one in some)
        before = self._places.get(key)
        quiet = before is not None and before.ids <= ids
        return _Place(ids, before.quiet_since if before is not None and quiet else now)

    def _held_for(self, one: Limited) -> float:
        """Seconds for which its executor must not start it yet."""
        return max(0.0, ((one.not_before or 0) - self.clock.now()) / 1000)

    async def _end(self, term: Term, overdue: Sequence[tuple[int, int]]) -> None:
        found: list[_Overdue] = await self._db.read(_find, overdue)
        turns = asyncio.Semaphore(_CALLS_AT_ONCE)

        async def ask(one: _Overdue) -> str | None:
            async with turns:
                return None if one.peer is None else await self._killing.ask_to_end(one.execution, one.peer)

        calls = {one.call: one for one in found}
        troubles = dict(zip(calls, await asyncio.gather(*map(ask, calls.values())), strict=True))
        endings = [_ending(one, troubles[one.call]) for one in found]
        # After those, for of two endings the first counts.
        ended = [one for call, one in calls.items() if troubles[call] is None]
        endings += [_together(other, one, other.id in self._queued) for one in ended for other in one.others]
        finished: list[Finished] = await self._db.leader_tx(term, finish, endings, self.clock.now())
        tell(self.events, finished)
        for loop in self._wakes if finished else ():
            loop.wake()  # a retry may wait for dispatch, a delay may have begun


def _room(some: Sequence[Limited], left: int) -> int:
    """How many of these may run beside each other. Without a queue none of them waits for another."""
    strategy = some[0].block_strategy
    if strategy == BlockStrategy.CONCURRENT:
        return some[0].concurrency
    room = 1 if strategy == BlockStrategy.SERIAL_EXECUTION else len(some)
    return max(0, room - left) if some[0].overlap == Overlap.CLUSTER else room


def _look(connection: Connection) -> _Look:
    ended = list_all_unconfirmed(connection, queued=False)
    # An executor of another make says only that it is busy with the job: that may be one of those that are watched.
    left = Counter((one.job_id, normal_address(one.executor_address or "")) for one in ended if one.incarnation)
    return _Look(list(list_limited(connection)), left)


def _find(connection: Connection, overdue: Sequence[tuple[int, int]]) -> list[_Overdue]:
    found: list[_Overdue] = []
    for one, timeout in overdue:
        execution = find_readable(connection, one)
        if execution is not None:
            peer = find_peer(connection, execution)
            others = () if peer is None else ended_together(connection, execution, peer)
            found.append(_Overdue(execution, peer, timeout, tuple(others)))
    return found


def _ending(one: _Overdue, trouble: str | None) -> Ending:
    message = f"It ran longer than {one.timeout} s, and its executor did not end it."
    if trouble is not None:
        message += f" It could not be told to, and may still be working: {trouble}"
    return Ending(
        execution_id=one.execution.id,
        trigger_code=SUCCESS,
        handle_code=TIMED_OUT,
        handle_msg=message,
        reason_code=reasons.TIME_LIMIT,
        confirmed=False,
    )


def _together(other: Execution, one: _Overdue, queued: bool) -> Ending:
    """How another execution ends that its executor was told to end as well."""
    ended = "It had not begun: it waited behind others of its job and was ended with them" if queued else "It was ended"
    why = f"execution {one.execution.id} ran longer than {one.timeout} s"
    return Ending(
        execution_id=other.id,
        trigger_code=SUCCESS,
        handle_code=FAILURE,
        handle_msg=f"{ended} because {why}, and its executor can end a job only as a whole.",
        reason_code=reasons.ENDED_TOGETHER,
        confirmed=False,
    )
