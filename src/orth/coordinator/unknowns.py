"""[4] again: the Unknowns loop asks about executions whose answer was lost.

Only a process that announced it may be asked again under the same id, because it remembers the ids it has taken; and
only the very incarnation that was asked first, because its successor remembers nothing. For the others we wait for
the result, up to the bound.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.dispatch import Answer, Letter, ask_to_run, store_answers, tell_answers
from orth.coordinator.finishing import Finished, finish, tell
from orth.domain.executions import FAILURE, Execution
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.executions import Ending, list_unknown
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.registry import list_executors
from orth.wire.executor_calls import ExecutorLink
from orth.wire.messages import Extension

_BATCH = 100
_PAUSE = 1.0


class Unknowns(LeaderLoop):
    """Resolves executions in phase *unknown*."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        token: str,
        bound: timedelta,
        lost_after: timedelta,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._token = token
        self._bound = int(bound.total_seconds() * 1000)
        self._lost_after = int(lost_after.total_seconds() * 1000)

    async def lead(self, term: Term) -> float:
        doubts, orphans = await self._db.read(_doubts)
        late = [one for one, since in orphans if self.clock.now() - since >= self._bound]
        if late:
            tell(self.events, await self._db.leader_tx(term.epoch, _end_orphans, late, self.clock.now()))
        if not doubts:
            return _PAUSE
        answers = await asyncio.gather(*(self._resolve(letter, since) for letter, since in doubts))
        known = [answer for answer in answers if not answer.unknown]
        if known:
            finished: list[Finished] = await self._db.leader_tx(term.epoch, store_answers, known, self.clock.now())
            tell(self.events, finished)
            tell_answers(self.events, known)
        return _PAUSE

    async def _resolve(self, letter: Letter, since: int) -> Answer:
        may_ask = Extension.RESEND in letter.extensions and letter.incarnation is not None
        if may_ask:
            answer = await ask_to_run(self._link, letter, self._token, again=True)
        else:
            answer = Answer(letter, taken=False, unknown=True, message="this executor cannot be asked")
        bound = self._bound if may_ask else self._lost_after
        if answer.unknown and self.clock.now() - since >= bound:
            given_up = f"No answer from {letter.address} for {bound // 1000} s, so nobody knows whether it ran."
            return Answer(letter, taken=False, unknown=False, message=f"{given_up} Last: {answer.message}")
        return answer


def _end_orphans(connection: Connection, ids: Sequence[int], now: int) -> list[Finished]:
    why = "The job or its group was deleted while nobody knew whether the executor had this execution."
    return finish(connection, [Ending(execution_id=one, trigger_code=FAILURE, trigger_msg=why) for one in ids], now)


def _doubts(connection: Connection) -> tuple[list[tuple[Letter, int]], list[tuple[int, int]]]:
    """What can be asked about, and what has lost its job or group; each with the instant the doubt began."""
    doubts = list_unknown(connection, _BATCH)
    jobs = jobs_by_id(connection, {execution.job_id for execution, _since in doubts})
    groups = groups_by_id(connection, {execution.job_group for execution, _since in doubts})
    known = list_executors(connection)
    letters: list[tuple[Letter, int]] = []
    orphans: list[tuple[int, int]] = []
    for execution, since in doubts:
        job, group = jobs.get(execution.job_id), groups.get(execution.job_group)
        if job is None or group is None or execution.executor_address is None:
            orphans.append((execution.id, since))
            continue
        extensions = _extensions(execution, group.app_name, known)
        letters.append(
            (
                Letter(execution, job, group.app_name, execution.executor_address, execution.incarnation, extensions),
                since,
            )
        )
    return letters, orphans


def _extensions(execution: Execution, app_name: str, known: Sequence[ExecutorEntry]) -> frozenset[str]:
    address = normal_address(execution.executor_address or "")
    for entry in known:
        if entry.app_name == app_name and normal_address(entry.address) == address:
            return entry.extensions
    # It has left the registry. One that has an incarnation is ours, and ours can be asked.
    return frozenset({Extension.RESEND}) if execution.incarnation else frozenset()
