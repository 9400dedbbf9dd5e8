"""The UnconfirmedEnds loop: executions that ended here while their executor may still be running them.

A kill and a time limit close the row first; a handler that could not be ended works on after its result. Until the
executor confirms the end, such an execution keeps the others of its job away from other executors (``domain.overlap``).
A late result confirms it at once (``callbacks``). Here executors are asked about the rest every second: ours by the
execution, those of other makes by the job. What an executor never had, what its successor does not have, and what a
machine says nobody listens for has ended.

An executor that says that it has the execution is believed, however long that takes: a handler that never returns keeps
its job until its executor is restarted. Where nobody says anything, the execution counts as ended when that has been so
for the ``lost_after`` of its job. A machine that is cut off for that long may still be running it: this is the one case
in which executions of a job overlap. Executions from queues are looked after by ``queueing``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import EndsConfirmed
from orth.coordinator.inquiries import Word, inquire
from orth.coordinator.reach import Reach
from orth.domain.jobs import Group, Job
from orth.errors import OrthError
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.leases import Term
from orth.store.possibly_running import UnconfirmedEnd, confirm_ends, list_all_unconfirmed
from orth.wire.executor_link import ExecutorLink

_QUESTIONS_AT_ONCE = 32
_PAUSE = 1.0
_NOBODY_FOR = 5.0
"""Seconds for which a machine must say that nobody listens: one may refuse connections for a moment."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Whom to ask. Of executors of other makes each job is a question of its own."""

    group: Group
    address: str
    job_id: int | None


@dataclass(frozen=True, slots=True)
class _Look:
    """What the database says."""

    rows: Sequence[UnconfirmedEnd] = ()
    jobs: Mapping[int, Job] | None = None
    groups: Mapping[int, Group] | None = None


class UnconfirmedEnds(LeaderLoop):
    """Finds out which executions have ended at their executors."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        reach: Reach,
        clock: Clock,
        events: Events,
        *,
        token: str,
        answer: timedelta,
        idle: timedelta,
        lost_after: timedelta,
    ) -> None:
        """A trigger may be on its way for ``answer``. An executor of another make must say for ``idle`` that it is not
        busy with the job.
        """
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._reach = reach
        self._token = token
        self._patience = {
            Word.REPORTED: 0.0,
            Word.FORGOTTEN: answer.total_seconds() + _PAUSE,
            Word.REPLACED: answer.total_seconds() + _PAUSE,
            Word.NOBODY_THERE: _NOBODY_FOR,
        }
        self._idle = idle.total_seconds()
        self._lost_after = lost_after.total_seconds()
        self._since: dict[int, float] = {}
        """When each was first seen here or its executor last said that it has it, on the monotonic clock."""
        self._signs: dict[int, tuple[Word, float]] = {}
        """The last word about each, and since when it is the last."""

    async def lead(self, term: Term) -> float:
        look: _Look = await self._db.read(_look)
        now = self.clock.monotonic()
        self._since = {one.id: self._since.get(one.id, now) for one in look.rows}
        if not look.rows:
            self._signs = {}
            return _PAUSE
        words = await self._words(look)
        now = self.clock.monotonic()
        self._since |= {one: now for one, word in words.items() if word is Word.HERE}
        self._signs = {
            one: before if (before := self._signs.get(one)) and before[0] is word else (word, now)
            for one, word in words.items()
        }
        over = [one.id for one in look.rows if self._is_over(one, look, now)]
        if over:
            jobs = await self._db.leader_tx(term, confirm_ends, over)
            self.events.emit(EndsConfirmed(tuple(jobs)))
        return _PAUSE

    def _is_over(self, one: UnconfirmedEnd, look: _Look, now: float) -> bool:
        job = (look.jobs or {}).get(one.job_id)
        if (
            job is None
            or one.executor_address is None
            or now - self._since[one.id] >= (job.lost_after or self._lost_after)
        ):
            return True
        word, since = self._signs.get(one.id, (Word.SILENCE, now))
        if word is Word.FORGOTTEN and one.incarnation is None:
            return now - since >= self._idle
        if word in (Word.FORGOTTEN, Word.REPLACED):  # its trigger may have been on its way when it ended
            since = max(since, self._since[one.id])
        return word in self._patience and now - since >= self._patience[word]

    async def _words(self, look: _Look) -> dict[int, Word]:
        places: dict[_Place, list[UnconfirmedEnd]] = {}
        for one in look.rows:
            group = (look.groups or {}).get(one.job_group)
            if group is not None and one.executor_address is not None:
                job_id = one.job_id if one.incarnation is None else None
                places.setdefault(_Place(group, one.executor_address, job_id), []).append(one)
        turns = asyncio.Semaphore(_QUESTIONS_AT_ONCE)

        async def ask(place: _Place, some: Sequence[UnconfirmedEnd]) -> dict[int, Word]:
            async with turns:
                if place.job_id is None:
                    return await inquire(self._link, place.address, some, self._token, place.group.app_name)
                return dict.fromkeys((one.id for one in some), await self._idle_word(place, place.job_id))

        words: dict[int, Word] = {}
        for heard in await asyncio.gather(*(ask(place, some) for place, some in places.items())):
            words |= heard
        return words

    async def _idle_word(self, place: _Place, job_id: int) -> Word:
        """What an executor of another make says about all of a job."""
        group = place.group
        try:
            reply = await self._link.idle_beat(
                place.address, job_id, token=self._token, app_name=group.app_name, dialect=group.dialect
            )
        except OrthError:
            return Word.NO_ANSWER
        return Word.FORGOTTEN if reply.ok else Word.HERE


def _look(connection: Connection) -> _Look:
    rows = list_all_unconfirmed(connection, queued=False)
    if not rows:
        return _Look()
    jobs = jobs_by_id(connection, {one.job_id for one in rows})
    return _Look(rows, jobs, groups_by_id(connection, {one.job_group for one in rows}))
