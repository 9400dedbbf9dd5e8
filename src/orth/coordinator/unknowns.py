"""[4] again: the Unknowns loop asks about executions whose answer was lost.

Four ways to know. A process that announced it recognises a repeated trigger by its id, so it is asked again, many
executions in one request; and only the very incarnation that was asked first, because its successor remembers nothing.
A beat names what runs and waits at its sender. An executor of another make is only asked whether it is busy with the
job: while it is, it may be with this execution. And a result settles everything, at any time.

That a process does not have it counts when the trigger can no longer arrive there: its signature is good for a minute,
by a clock that may be a minute off, and whoever can change answers on the wire may have kept the trigger.

What cannot be known ends when an accepted execution that is as silent would be given up. It is never sent to anybody
else, and its end opens no retry: it may have run, or still run, where nobody can see it.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import ExecutionDispatched
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.letters import Answer, Letter, Outcome, Peer, drafted
from orth.coordinator.reach import Reach
from orth.coordinator.sealing import Sealing
from orth.coordinator.sending import Sending
from orth.domain import reasons
from orth.domain.executions import FAILURE, Execution
from orth.domain.jobs import Group, Job, longest_silence
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.errors import OrthError
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.dispatching import list_unknown, record_accepted
from orth.store.executions import Ending
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.leases import Term
from orth.store.notes import Note, add_notes
from orth.store.script_drafts import drafts_of
from orth.store.secrets import secrets_of_jobs
from orth.wire.executor_link import ExecutorLink
from orth.wire.fields import BATCH_LIMIT
from orth.wire.messages import Extension
from orth.wire.report_keys import ReportKeys
from orth.wire.signatures import WINDOW

_BATCH = 1_000
_PAUSE = 1.0
_MAY_ARRIVE = 2 * WINDOW
"""Milliseconds within which a trigger that somebody kept on the wire may still reach its process and be accepted."""
_TWICE = 2
"""How often in a row an executor of another make must not say that it is busy: one answer may get lost."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """An execution nobody is sure about."""

    letter: Letter
    since: int
    replaced: bool
    """Whether another process has registered at the address since."""


class Unknowns(LeaderLoop):
    """Resolves executions in phase *unknown*."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        reach: Reach,
        clock: Clock,
        events: Events,
        *,
        node_id: str,
        token: str,
        sealing: Sealing,
        report_keys: ReportKeys,
        bound: timedelta,
        lost_after: timedelta,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._sending = Sending(link, reach, clock, token, sealing=sealing, report_keys=report_keys)
        self._node_id = node_id
        self._token = token
        self._bound = int(bound.total_seconds() * 1000)
        self._lost_after = lost_after.total_seconds()
        self._after = 0
        self._not_busy: dict[int, int] = {}
        """How many times in a row an executor did not say that it is busy with the job of an execution."""
        self._doubted: dict[int, Doubt] = {}
        self._named: dict[int, Doubt] = {}

    def named(self, app_name: str, incarnation: str, ids: Collection[int]) -> None:
        """A beat of this process of an app names executions that it has; those of other apps it cannot have."""
        for one in ids:
            doubt = self._doubted.get(one)
            if doubt is not None and doubt.letter.peer.is_process(app_name, incarnation):
                self._named[one] = doubt
                self.wake()

    async def lead(self, term: Term) -> float:
        doubts, orphans = await self._db.read(_doubts, self._after)
        more = len(doubts) + len(orphans) >= _BATCH
        self._after = max([*(one.letter.execution.id for one in doubts), *(one for one, _ in orphans)]) if more else 0
        self._doubted = {doubt.letter.execution.id: doubt for doubt in doubts}
        now = self.clock.now()
        answers = [answer for answers in await asyncio.gather(*self._questions(doubts, now)) for answer in answers]
        self._not_busy = {one: count for one, count in self._not_busy.items() if one in self._doubted or more}
        late = [one for one, since in orphans if now - since >= self._bound]
        if answers or late:
            finished = await self._db.leader_tx(term, self._store, answers, late, self.clock.now())
            self._tell(answers, finished)
        return 0.0 if more and answers else _PAUSE

    def _questions(self, doubts: Sequence[Doubt], now: int) -> Iterator["asyncio.Future[list[Answer]]"]:
        """One question for each executor that can be asked, one for each execution elsewhere."""
        by_peer: dict[Peer, list[Doubt]] = {}
        for doubt in doubts:
            peer, one = doubt.letter.peer, doubt.letter.execution.id
            if one in self._named:
                del self._named[one]
                yield asyncio.ensure_future(_known(doubt, f"A beat of {peer.address} names it."))
            elif peer.can_be_asked:
                by_peer.setdefault(peer, []).append(doubt)
            else:
                yield asyncio.ensure_future(self._look(doubt, now))
        for asked in by_peer.values():
            yield asyncio.ensure_future(self._ask(asked, now))

    async def _ask(self, doubts: Sequence[Doubt], now: int) -> list[Answer]:
        """Send again to the process that may have it."""
        size = BATCH_LIMIT if doubts[0].letter.peer.takes_batches else 1
        settled: list[Answer] = []
        for start in range(0, len(doubts), size):
            asked = doubts[start : start + size]
            answers = await self._sending.send([doubt.letter for doubt in asked], again=True)
            for doubt, answer in zip(asked, answers, strict=True):
                if answer.outcome is Outcome.REFUSED and not doubt.replaced and now - doubt.since < _MAY_ARRIVE:
                    continue
                if answer.outcome is Outcome.REFUSED:
                    code = reasons.EXECUTOR_RESTARTED if doubt.replaced else reasons.SURELY_NOT_THERE
                    settled.append(Answer(doubt.letter, Outcome.REFUSED, answer.message, code))
                elif answer.outcome is Outcome.TAKEN:
                    settled.append(answer)
                else:
                    settled += self._given_up(doubt, answer.message, now)
            if all(answer.outcome is Outcome.UNKNOWN for answer in answers):
                for doubt in doubts[start + size :]:  # it does not answer: asking about the rest would only take time
                    settled += self._given_up(doubt, answers[0].message, now)
                break
        return settled

    async def _look(self, doubt: Doubt, now: int) -> list[Answer]:
        """Ask an executor that cannot be asked about an execution whether it is busy with the job. That it is not says
        only that nothing runs now: the execution may have ended, and its result may be on its way.
        """
        if not self._is_over(doubt, now):
            return []
        one, heard = doubt.letter.execution.id, await self._heard(doubt.letter)
        self._not_busy[one] = self._not_busy.get(one, 0) + 1 if heard is not None else 0
        return self._given_up(doubt, heard, now) if heard is not None and self._not_busy[one] >= _TWICE else []

    async def _heard(self, letter: Letter) -> str | None:
        """Why nothing speaks for the execution; None when the executor says that it is busy with the job."""
        peer = letter.peer
        try:
            reply = await self._link.idle_beat(
                peer.address, letter.job.id, token=self._token, app_name=peer.app_name, dialect=peer.dialect
            )
        except OrthError as error:
            return error.message
        return f"job {letter.job.id} is idle there." if reply.ok else None

    def _is_over(self, doubt: Doubt, now: int) -> bool:
        return now - doubt.since >= longest_silence(doubt.letter.job, self._lost_after) * 1000

    def _given_up(self, doubt: Doubt, last: str, now: int) -> list[Answer]:
        if not self._is_over(doubt, now):
            return []
        address, silent = doubt.letter.peer.address, (now - doubt.since) // 1000
        message = f"No word of it from {address} for {silent} s, so nobody knows whether it ran. Last: {last}"
        return [Answer(doubt.letter, Outcome.REFUSED, message, reasons.NEVER_RESOLVED)]

    def _store(
        self, connection: Connection, answers: Sequence[Answer], orphans: Sequence[int], now: int
    ) -> list[Finished]:
        taken = [answer for answer in answers if answer.outcome is Outcome.TAKEN]
        gone = [answer for answer in answers if answer.outcome is not Outcome.TAKEN]
        record_accepted(connection, [answer.letter.execution.id for answer in taken], now)
        notes = [Note(a.letter.execution.id, reasons.TAKEN_AFTER_ALL, a.message or "It has it.") for a in taken]
        notes += [Note(a.letter.execution.id, a.code, a.message) for a in gone]
        add_notes(connection, notes, self._node_id, now)
        deleted = "The job or its group was deleted while nobody knew whether the executor had this execution."
        endings = [_ending(a.letter.execution.id, a.code, a.message) for a in gone]
        return finish(connection, [*endings, *(_ending(one, reasons.DELETED, deleted) for one in orphans)], now)

    def _tell(self, answers: Sequence[Answer], finished: Sequence[Finished]) -> None:
        tell(self.events, finished)
        for answer in answers:
            if answer.outcome is Outcome.TAKEN:
                execution = answer.letter.execution
                self.events.emit(ExecutionDispatched(execution.id, execution.job_id, answer.letter.peer.address))


async def _known(doubt: Doubt, message: str) -> list[Answer]:
    return [Answer(doubt.letter, Outcome.TAKEN, message)]


def _ending(execution_id: int, code: str, message: str) -> Ending:
    return Ending(execution_id=execution_id, trigger_code=FAILURE, trigger_msg=message, reason_code=code)


def _doubts(connection: Connection, after: int) -> tuple[list[Doubt], list[tuple[int, int]]]:
    """What can be asked about, and what has lost its job or group; the latter with the instant the doubt began."""
    unknown = list_unknown(connection, _BATCH, after)
    if not unknown:
        return [], []
    jobs = jobs_by_id(connection, {execution.job_id for execution, _since in unknown})
    supers = {job.super_task_id for job in jobs.values()} - jobs.keys() - {0}
    sources = jobs | (jobs_by_id(connection, supers) if supers else {})
    groups = groups_by_id(connection, {execution.job_group for execution, _since in unknown})
    known = {group.app_name: _by_address(list_executors(connection, group.app_name)) for group in groups.values()}
    drafts = drafts_of(connection, [execution.id for execution, _since in unknown if execution.is_test])
    secrets = secrets_of_jobs(connection, jobs.values())
    doubts: list[Doubt] = []
    orphans: list[tuple[int, int]] = []
    for execution, since in unknown:
        job, group = jobs.get(execution.job_id), groups.get(execution.job_group)
        untold = execution.is_test and execution.id not in drafts
        if job is None or group is None or execution.executor_address is None or untold:
            orphans.append((execution.id, since))
            continue
        entry = known[group.app_name].get(normal_address(execution.executor_address))
        draft = drafts.get(execution.id)
        source = drafted(job, draft) if draft else sources.get(job.super_task_id, job)
        doubt = _doubt(execution, since, job, source, group, entry)
        doubts.append(replace(doubt, letter=replace(doubt.letter, secrets=secrets.get(job.id, ()))))
    return doubts, orphans


def _doubt(execution: Execution, since: int, job: Job, source: Job, group: Group, entry: ExecutorEntry | None) -> Doubt:
    # One that has left the registry but has an incarnation is ours, and ours can be asked.
    left = (
        frozenset({Extension.RESEND, Extension.SECRETS, Extension.RUN_KEY, Extension.LOG_LEVEL, Extension.OVERLAP})
        if execution.incarnation
        else frozenset[str]()
    )
    extensions = left if entry is None else entry.extensions
    address = execution.executor_address or ""
    peer = Peer(address, group.app_name, execution.incarnation, frozenset(map(str, extensions)), group.dialect)
    replaced = entry is not None and entry.incarnation not in (None, execution.incarnation)
    return Doubt(Letter(execution, job, source, peer), since, replaced)


def _by_address(entries: Sequence[ExecutorEntry]) -> dict[str, ExecutorEntry]:
    return {normal_address(entry.address): entry for entry in entries}
