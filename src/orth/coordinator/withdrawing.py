"""Taking back what was planned ahead, when its job is stopped, changed or deleted before it is due.

``withdraw`` is part of the transaction that stops or changes the job. A fire of which nothing was sent is forgotten,
row and ledger: the job is as if it had never been planned, so a change means the same whether or not fires are planned
ahead. A fire that was sent cannot be forgotten. If the job no longer has it, it is recalled: what is still here of it
ends at once, and the ``Recalls`` loop asks the executors that hold the rest to drop it, as long as there is time. What
the executor answers decides about the execution: dropped, it has failed with the reason and is not tried again; started
after all, it ends with its own result. The ledger says that a recall is under way, and *skipped* once everything that
was opened for the fire has been dropped (``finishing``): never of something that may have run.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.coordinator.facts import ExecutionRecalled
from orth.coordinator.finishing import Finished, finish, tell
from orth.domain.executions import FAILURE, Execution, Phase
from orth.domain.jobs import Job
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.domain.reasons import REASONS
from orth.domain.schedules import Schedule
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.ahead import (
    Recalled,
    decided_after,
    forget_decisions,
    forget_fires,
    hold_fires_after,
    list_recalled,
    recall_executions,
    tell_recall,
)
from orth.store.database import Connection, Database
from orth.store.executions import Ending
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id
from orth.wire.executor_link import ExecutorLink
from orth.wire.messages import Extension

_BATCH = 500
_AGAIN = 0.1  # one that was on its way when it was recalled arrives later than the first request to drop it
_NOTHING_TO_RECALL = 3600.0  # who marks something wakes the loop on its own node
_LOOK_EVERY = 1.0
_CLOCKS_DIFFER = 5000
"""Milliseconds by which the clocks of two nodes may differ without one overlooking what the other has marked."""


def withdraw(
    connection: Connection, job: Job, schedule: Schedule | None, following: Schedule | None, now: int, reason_code: str
) -> list[int]:
    """Take back the fires of ``job`` that are not due at ``now`` and of which nothing was sent; these fires, in order.

    ``schedule`` is the one they were planned by, None if it can no longer be computed. What was sent is recalled unless
    ``following``, the schedule the job goes on with, has the fire too.
    """
    ahead: dict[int, list[Execution]] = {}
    for execution in hold_fires_after(connection, job.id, now - job.jitter):
        fire = execution.schedule_time
        if fire is not None and (schedule.due_at(fire) if schedule else fire) > now:
            ahead.setdefault(fire, []).append(execution)
    unsent = {fire for fire, shards in ahead.items() if all(one.phase is Phase.OPENED for one in shards)}
    forget_fires(connection, [one for fire in unsent for one in ahead[fire]])
    sent = [fire for fire in ahead if fire not in unsent]
    unwanted = [
        one for fire in sent if not _has(following, fire) for one in ahead[fire] if one.phase is not Phase.ENDED
    ]
    _recall(connection, unwanted, reason_code, now)
    recalled = {one.schedule_time for one in unwanted if one.schedule_time is not None}
    told = f"{reason_code}: its executor was asked to drop it; it runs unless that comes in time"
    tell_recall(connection, job.id, recalled, told, now)
    gone = (unsent | decided_after(connection, job.id, now)) - set(sent)
    forget_decisions(connection, job.id, gone)
    return sorted(gone)


def _has(schedule: Schedule | None, fire: int) -> bool:
    """Whether a job with this schedule runs at ``fire``: it fires then, and its calendar does not refuse the day."""
    return schedule is not None and schedule.next_after(fire - 1) == fire and schedule.skip_reason(fire) is None


def _recall(connection: Connection, unwanted: Sequence[Execution], reason_code: str, now: int) -> None:
    here = [one.id for one in unwanted if one.phase is Phase.OPENED]
    recall_executions(connection, [one.id for one in unwanted if one.phase is not Phase.OPENED], reason_code)
    _end(connection, [(one, reason_code) for one in here], now)


def _end(connection: Connection, unwanted: Sequence[tuple[int, str]], now: int) -> list[Finished]:
    endings = [
        Ending(execution_id=one, trigger_code=FAILURE, trigger_msg=REASONS[code], reason_code=code)
        for one, code in unwanted
    ]
    return finish(connection, endings, now)


class Recalls(Loop):
    """Asks executors to drop what was sent ahead and is no longer wanted. Every coordinator may: asking twice changes
    nothing. The node that was told to stop or change the job is woken for it; in case that one dies, the leader looks
    every second, among what was opened within the window.
    """

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        token: str,
        ahead: timedelta,
    ) -> None:
        super().__init__(clock, events)
        self._db = db
        self._election = election
        self._link = link
        self._token = token
        self._ahead = ahead // timedelta(milliseconds=1)
        self._wakes = 1
        self._answered = 0
        """Of these, how many were followed by a look at everything that found nothing left to recall."""
        election.led.append(self)

    def wake(self) -> None:
        self._wakes += 1
        super().wake()

    async def turn(self) -> float:
        now, wakes = self.clock.now(), self._wakes
        opened_after = now - self._ahead - _CLOCKS_DIFFER if wakes == self._answered else 0
        recalled, holders = await self._db.read(_look, now, opened_after)
        if not recalled:
            self._answered = wakes
            return _LOOK_EVERY if self._ahead and self._election.term else _NOTHING_TO_RECALL
        back = [(one.execution.id, one.reason_code) for one in recalled if one.execution.phase is Phase.OPENED]
        if back:  # it could not be sent and waits here again
            tell(self.events, await self._db.tx(_end, back, self.clock.now()))
        await asyncio.gather(*(self._drop(one, holders) for one in recalled if one.execution.phase is not Phase.OPENED))
        return _AGAIN

    async def _drop(self, recalled: Recalled, holders: dict[int, ExecutorEntry]) -> None:
        execution = recalled.execution
        holder = holders.get(execution.id)
        if holder is None:
            return
        try:
            await self._link.kill(
                holder.address,
                execution.job_id,
                execution.id,
                token=self._token,
                app_name=holder.app_name,
                extensions=holder.extensions,
            )
        except OrthError:
            return  # asked again while there is time
        self.events.emit(ExecutionRecalled(execution.id, execution.job_id, holder.address, recalled.reason_code))


def _look(connection: Connection, now: int, opened_after: int) -> tuple[list[Recalled], dict[int, ExecutorEntry]]:
    """What is to be dropped, and who holds it: only processes that can drop one execution and leave the others."""
    recalled = list_recalled(connection, now, _BATCH, opened_after)
    groups = groups_by_id(connection, {one.execution.job_group for one in recalled}) if recalled else {}
    known = {
        (group.id, normal_address(entry.address)): entry
        for group in groups.values()
        for entry in list_executors(connection, group.app_name)
        if {Extension.NOT_BEFORE, Extension.KILL_EXECUTION} <= entry.extensions
    }
    held = ((one.execution, normal_address(one.execution.executor_address or "")) for one in recalled)
    return recalled, {
        execution.id: known[execution.job_group, address]
        for execution, address in held
        if (execution.job_group, address) in known
    }
