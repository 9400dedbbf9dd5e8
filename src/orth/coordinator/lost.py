"""The LostExecutions loop: an execution whose executor can no longer report it is ended.

Four signs, never age alone. The address has a new incarnation: the process that had it is gone, and its successor has
had time to deliver what its predecessor left on disk. The address has left the registry, or, written by hand, no longer
answers. Or an executor of another make says that the job is idle there: some forget what they had queued when a job is
killed, and some drop a result that no coordinator would take.

A sign must stay for a while before it counts, because results may be on their way; who reports after all is told that
the execution had ended. How long "gone" must last is a setting, and a job may have its own.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.finishing import Finished, finish, tell
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, Execution
from orth.domain.jobs import AddressType, Group, GroupDialect, Job
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.errors import OrthError
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.executions import Ending, list_taken
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.registry import list_executors
from orth.wire.executor_calls import ExecutorLink

_BATCH = 1000
_QUESTIONS_AT_ONCE = 32
_REPLACED_FOR = 30.0
LOST = "Result lost"

_REPLACED = "the executor was restarted while it had it"
_GONE = "the executor has left the registry"
_SILENT = "the executor, whose address was written by hand, does not answer"
_IDLE = "the executor says that nothing of the job runs or waits there"


@dataclass(frozen=True, slots=True)
class Sign:
    """Why an execution may be lost, and for how many seconds that must stay so."""

    why: str
    patience: float


@dataclass(frozen=True, slots=True)
class Question:
    """Is this job idle at this address? Asked once for all of its executions there."""

    address: str
    job_id: int
    app_name: str
    dialect: GroupDialect
    by_hand: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What the database alone says: signs by execution, and whom to ask about which others (with their patience)."""

    signs: dict[int, Sign] = field(default_factory=dict)
    questions: dict[Question, dict[int, float]] = field(default_factory=dict)


class LostExecutions(LeaderLoop):
    """Ends executions that nobody will report."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        token: str,
        every: timedelta,
        lost_after: timedelta,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._token = token
        self._every = min(every.total_seconds(), lost_after.total_seconds())
        self._lost_after = lost_after.total_seconds()
        self._signs: dict[int, tuple[Sign, float]] = {}
        """Executions with a sign of loss: which, and since when on the monotonic clock."""

    async def lead(self, term: Term) -> float:
        findings = await self._db.read(_look, self._lost_after, self.clock.now())
        signs = findings.signs | await self._asked(findings.questions)
        now = self.clock.monotonic()
        self._signs = {one: _since(self._signs.get(one), sign, now) for one, sign in signs.items()}
        lost = [(one, sign.why) for one, (sign, since) in self._signs.items() if now - since >= sign.patience]
        if lost:
            finished: list[Finished] = await self._db.leader_tx(term.epoch, _end, lost, self.clock.now())
            tell(self.events, finished)
        # A sign is looked at again when it begins to count; without any, at the usual pace.
        waits = (sign.patience - (now - since) for sign, since in self._signs.values())
        return max(1.0, min(self._every, *(wait for wait in waits if wait > 0), self._every))

    async def _asked(self, questions: dict[Question, dict[int, float]]) -> dict[int, Sign]:
        """Ask the executors; the signs their answers are."""
        turns = asyncio.Semaphore(_QUESTIONS_AT_ONCE)

        async def ask(question: Question) -> str | None:
            async with turns:
                return await self._ask(question)

        answers = await asyncio.gather(*map(ask, questions))
        signs: dict[int, Sign] = {}
        for why, executions in zip(answers, questions.values(), strict=True):
            if why is not None:
                signs |= {
                    one: Sign(why, self._every if why == _IDLE else patience) for one, patience in executions.items()
                }
        return signs

    async def _ask(self, question: Question) -> str | None:
        try:
            reply = await self._link.idle_beat(
                question.address,
                question.job_id,
                token=self._token,
                app_name=question.app_name,
                dialect=question.dialect,
            )
        except OrthError:
            return _SILENT if question.by_hand else None  # the registry knows whether any other is still there
        return _IDLE if reply.ok else None


def _since(before: tuple[Sign, float] | None, sign: Sign, now: float) -> tuple[Sign, float]:
    return before if before is not None and before[0] == sign else (sign, now)


def _look(connection: Connection, lost_after: float, now: int) -> Findings:
    """Every taken execution that shows a sign of loss, and those that only their executor knows about."""
    known = {(entry.app_name, normal_address(entry.address)): entry for entry in list_executors(connection)}
    findings = Findings()
    for execution, job, group in _taken(connection):
        address = execution.executor_address or ""
        patience = float(job.lost_after) if job is not None and job.lost_after else lost_after
        entry = known.get((group.app_name if group else "", normal_address(address)))
        sign = _sign(execution, group, entry, patience)
        if sign is not None:
            findings.signs[execution.id] = sign
        elif job is not None and group is not None and _worth_asking(execution, job, patience, now):
            by_hand = entry is None
            question = Question(address, job.id, group.app_name, group.dialect, by_hand)
            findings.questions.setdefault(question, {})[execution.id] = patience
    return findings


def _taken(connection: Connection) -> Iterable[tuple[Execution, Job | None, Group | None]]:
    after = 0
    while taken := list_taken(connection, after, _BATCH):
        groups = groups_by_id(connection, {execution.job_group for execution in taken})
        jobs = jobs_by_id(connection, {execution.job_id for execution in taken})
        for execution in taken:
            yield execution, jobs.get(execution.job_id), groups.get(execution.job_group)
        after = taken[-1].id


def _sign(execution: Execution, group: Group | None, entry: ExecutorEntry | None, patience: float) -> Sign | None:
    if entry is None:
        # An address somebody wrote by hand need never have been in the registry: its absence says nothing.
        by_hand = group is not None and group.address_type is AddressType.MANUAL and execution.incarnation is None
        return None if by_hand else Sign(_GONE, patience)
    if execution.incarnation is not None and entry.incarnation not in (None, execution.incarnation):
        return Sign(_REPLACED, min(_REPLACED_FOR, patience))
    return None


def _worth_asking(execution: Execution, job: Job, patience: float, now: int) -> bool:
    """Whether an executor of another make has had it for so long that it should have ended. Ours name in their beats
    what they have.
    """
    age = (now - execution.trigger_time) / 1000
    return execution.incarnation is None and age >= max(patience, job.executor_timeout)


def _end(connection: Connection, lost: Sequence[tuple[int, str]], now: int) -> list[Finished]:
    endings = [
        Ending(
            execution_id=one,
            trigger_code=SUCCESS,
            handle_code=FAILURE,
            handle_msg=f"{LOST}: {why}.",
            reason_code=reasons.RESULT_LOST,
        )
        for one, why in lost
    ]
    return finish(connection, endings, now)
