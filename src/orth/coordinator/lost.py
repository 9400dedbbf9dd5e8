"""The LostExecutions loop: an execution whose executor can no longer report it is ended.

Never by age alone, but by signs. Our executors are asked what they have (``inquiries``): about everything now and then,
and at once about what is in doubt, because its address is, because the registry knows another process there or none, or
because a beat did not name it. If nobody listens there any more, the process is gone; a successor that never had it has
read what was left on the disk, and knows that it will not be reported. One that has it keeps it from being lost.

One that neither answers nor beats is gone as well, for whatever reason: a job that says how long that may last is not
kept waiting for the registry, whose patience is longer.

An executor of another make cannot be asked about an execution. It is lost when the address has left the registry or,
written by hand, no longer answers, for a long while; when something else answers there; or when it says that the job
is idle there: some forget what they had queued when a job is killed, and some drop a result that no coordinator would
take.

A sign must stay for a while before it counts, because results may be on their way; who reports after all is told that
the execution had ended. How long "gone" must last where nothing is certain is a setting, and a job may have its own.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.inquiries import Word, inquire
from orth.coordinator.reach import Reach
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, Execution
from orth.domain.jobs import AddressType, Group, GroupDialect, Job
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executions import Ending, list_taken
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.leases import Term
from orth.wire.executor_link import ExecutorLink, NotAnExecutor, TokenNotShown

_BATCH = 1000
_QUESTIONS_AT_ONCE = 32
_LOOK_SOON = 5.0
_CERTAIN_FOR = 5.0
"""How long a sign must stay that leaves no doubt: a result may still be on its way."""
_DEAD_FOR = 35.0
"""How long a process must be gone whose successor, should there be one, would report what it left on the disk. Longer
than a beat, for a machine may also refuse connections to a process that lives: one that is heard is not gone."""
LOST = "Result lost"

_REPLACED = "the executor was restarted while it had it"
_REPORTED = "the executor has reported it, and the result is not in this database"
_FORGOTTEN = "the executor does not know it any more"
_DEAD = "nobody listens at the executor's address any more"
_GONE = "the executor has left the registry"
_FROZEN = "the executor neither answers nor beats"
_OTHER = "what answers at the executor's address is not an executor"
_SILENT = "the executor, whose address was written by hand, does not answer"
_IDLE = "the executor says that nothing of the job runs or waits there"


@dataclass(frozen=True, slots=True)
class Sign:
    """Why an execution may be lost, and for how many seconds that must stay so."""

    why: str
    patience: float
    last_beat: int = 0
    """Of the process, where being heard again makes it another sign."""
    heard: str = ""
    """What was heard last; another word does not make it another sign."""

    def __str__(self) -> str:
        return f"{self.why} ({self.heard})" if self.heard else self.why


@dataclass(frozen=True, slots=True)
class Question:
    """Is this job idle at this address? Asked once for all of its executions there."""

    address: str
    job_id: int
    app_name: str
    dialect: GroupDialect
    by_hand: bool


Place = tuple[str, str]
"""An app name and an address."""


@dataclass(frozen=True, slots=True)
class Ours:
    """An execution that one of our executors took. ``doubted``: not to wait for the next time all are asked about."""

    execution: Execution
    patience: float
    doubted: bool
    last_beat: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What the database alone says: signs by execution, whom to ask about which others (with their patience), and what
    our executors have, by app name and address.
    """

    signs: dict[int, Sign] = field(default_factory=dict)
    questions: dict[Question, dict[int, float]] = field(default_factory=dict)
    ours: dict[Place, list[Ours]] = field(default_factory=dict)


class LostExecutions(LeaderLoop):
    """Ends executions that nobody will report."""

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
        every: timedelta,
        lost_after: timedelta,
        wakes: Sequence[Loop] = (),
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._reach = reach
        self._token = token
        self._wakes = wakes
        self._held: dict[tuple[str, str], frozenset[int]] = {}
        """What our executors had at the last look, by app name and incarnation."""
        self._unnamed: set[int] = set()
        """Of these, what a beat since then did not name."""
        self._looked_at = float("-inf")
        self._all_asked_at = float("-inf")
        reach.wakes.append(self)
        self._every = min(every.total_seconds(), lost_after.total_seconds())
        self._lost_after = lost_after.total_seconds()
        self._signs: dict[int, tuple[Sign, float]] = {}
        """Executions with a sign of loss: which, and since when on the monotonic clock."""

    def named(self, app_name: str, incarnation: str, ids: Collection[int]) -> None:
        """A beat of this process of an app names executions that it has; of other apps it says nothing."""
        missing = self._held.get((app_name, incarnation), frozenset()).difference(ids)
        self._unnamed |= missing
        if missing and self.clock.monotonic() - self._looked_at >= _LOOK_SOON:
            self.wake()

    def restarted(self, process: ExecutorEntry) -> None:
        """Another process is where this one was: what it had is asked about, and not when the next look is due."""
        has_some = (process.app_name, process.incarnation) in self._held
        if has_some or self.clock.monotonic() - self._looked_at >= _LOOK_SOON:
            self.wake()

    async def lead(self, term: Term) -> float:
        doubted = frozenset(self._reach.suspects())
        findings: Findings = await self._db.read(_look, self._lost_after, self.clock.now(), doubted)
        self._remember(findings)
        signs = findings.signs | await self._asked(findings.questions)
        words = await self._inquired(findings.ours)
        now = self.clock.monotonic()
        signs = _weighed(signs, words, findings.ours)
        self._signs = {one: _since(self._signs.get(one), sign, now) for one, sign in signs.items()}
        lost = [(one, str(sign)) for one, (sign, since) in self._signs.items() if now - since >= sign.patience]
        if lost:
            finished: list[Finished] = await self._db.leader_tx(term, _end, lost, self.clock.now())
            tell(self.events, finished)
            for loop in self._wakes:  # a retry may wait for dispatch, a delay may have begun
                loop.wake()
        # A sign is looked at again when it begins to count; without any, at the usual pace or that of a job in a hurry.
        waits = [sign.patience - (now - since) for sign, since in self._signs.values()]
        hurries = (max(_LOOK_SOON, one.patience) for some in findings.ours.values() for one in some)
        return max(1.0, min([self._every, *(wait for wait in waits if wait > 0), *hurries]))

    def _remember(self, findings: Findings) -> None:
        held: dict[tuple[str, str], set[int]] = {}
        for (app_name, _address), some in findings.ours.items():
            for one in some:
                held.setdefault((app_name, one.execution.incarnation or ""), set()).add(one.execution.id)
        self._held = {process: frozenset(ids) for process, ids in held.items()}
        self._looked_at = self.clock.monotonic()

    async def _inquired(self, ours: dict[Place, list[Ours]]) -> dict[int, Word]:
        """Ask our executors: about all that they have when it is time to, else about what is in doubt."""
        now = self.clock.monotonic()
        everything = now - self._all_asked_at >= self._every
        if everything:
            self._all_asked_at = now
        suspected = self._unnamed | self._signs.keys()
        self._unnamed = set()
        turns = asyncio.Semaphore(_QUESTIONS_AT_ONCE)

        async def ask(place: Place, held: Sequence[Execution]) -> dict[int, Word]:
            app_name, address = place
            async with turns:
                return await inquire(self._link, address, held, self._token, app_name)

        wanted = {
            place: [one.execution for one in some if everything or one.doubted or one.execution.id in suspected]
            for place, some in ours.items()
        }
        words: dict[int, Word] = {}
        for heard in await asyncio.gather(*(ask(place, held) for place, held in wanted.items() if held)):
            words |= heard
        return words

    async def _asked(self, questions: dict[Question, dict[int, float]]) -> dict[int, Sign]:
        """Ask the executors; the signs their answers are."""
        turns = asyncio.Semaphore(_QUESTIONS_AT_ONCE)

        async def ask(question: Question) -> Sign | None:
            async with turns:
                return await self._ask(question)

        answers = await asyncio.gather(*map(ask, questions))
        signs: dict[int, Sign] = {}
        for sign, executions in zip(answers, questions.values(), strict=True):
            if sign is not None:
                signs |= {one: replace(sign, patience=sign.patience or own) for one, own in executions.items()}
        return signs

    async def _ask(self, question: Question) -> Sign | None:
        """The sign that its answer is; without a patience where that of the job counts."""
        try:
            reply = await self._link.idle_beat(
                question.address,
                question.job_id,
                token=self._token,
                app_name=question.app_name,
                dialect=question.dialect,
            )
        except NotAnExecutor as error:
            return Sign(_OTHER, self._every, heard=f"HTTP {error.status}")
        except TokenNotShown:  # it is there, and says nothing
            return None
        except OrthError as error:  # the registry knows whether any other is still there
            return Sign(_SILENT, 0.0, heard=error.message.rstrip(".")) if question.by_hand else None
        return Sign(_IDLE, self._every) if reply.ok else None


def _since(before: tuple[Sign, float] | None, sign: Sign, now: float) -> tuple[Sign, float]:
    """The sign with its beginning: a beat begins it anew, and leaving the registry is none."""
    if before is None or before[0].patience != sign.patience or sign.last_beat > before[0].last_beat:
        return sign, now
    same = before[0].why == sign.why or {before[0].why, sign.why} == {_FROZEN, _GONE}
    return (replace(sign, last_beat=before[0].last_beat), before[1]) if same else (sign, now)


def _weighed(signs: dict[int, Sign], words: dict[int, Word], ours: dict[Place, list[Ours]]) -> dict[int, Sign]:
    """The signs that remain, and those that were heard: whoever has it overrules what the registry says."""
    weighed = {one: sign for one, sign in signs.items() if words.get(one) is not Word.HERE}
    by_id = {one.execution.id: one for some in ours.values() for one in some}
    for one, word in words.items():
        if word in _CERTAIN:
            why, longest = _CERTAIN[word]
            last_beat = by_id[one].last_beat if word is Word.NOBODY_THERE else 0
            weighed[one] = Sign(why, min(longest, by_id[one].patience), last_beat)
        elif word is Word.NO_ANSWER and one not in weighed:
            weighed[one] = Sign(_FROZEN, by_id[one].patience, by_id[one].last_beat)
    return weighed


_CERTAIN = {
    Word.REPORTED: (_REPORTED, _DEAD_FOR),
    Word.FORGOTTEN: (_FORGOTTEN, _CERTAIN_FOR),
    Word.REPLACED: (_REPLACED, _CERTAIN_FOR),
    Word.NOBODY_THERE: (_DEAD, _DEAD_FOR),
}


def _look(connection: Connection, lost_after: float, now: int, doubted: Collection[str] = ()) -> Findings:
    """Every taken execution that shows a sign of loss, and those that only their executor knows about."""
    known = {(entry.app_name, normal_address(entry.address)): entry for entry in list_executors(connection)}
    findings = Findings()
    for execution, job, group in _taken(connection):
        address = execution.executor_address or ""
        patience = float(job.lost_after) if job is not None and job.lost_after else lost_after
        app_name = group.app_name if group else ""
        entry = known.get((app_name, normal_address(address)))
        sign = _sign(execution, group, entry, patience)
        if execution.incarnation is not None:
            heard = entry.last_beat if entry is not None and entry.incarnation == execution.incarnation else 0
            silent = now - heard >= patience * 1000
            in_doubt = sign is not None or silent or normal_address(address) in doubted
            findings.ours.setdefault((app_name, address), []).append(Ours(execution, patience, in_doubt, heard))
        if sign is not None:
            findings.signs[execution.id] = sign
        elif job is None or group is None or group.unreadable:
            continue  # in a dialect that is not its own, no answer would mean anything
        elif _worth_asking(execution, job, patience, now):
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
        return Sign(_REPLACED, min(_DEAD_FOR, patience))
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
