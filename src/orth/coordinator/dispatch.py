"""[4] The Dispatch loop: opened executions go out, answers come in, both in batches.

A turn stores the answers that have arrived, then claims opened executions, as many as there is room for. Claiming
writes down the chosen address *before* anything is sent, so a successor knows whom to ask. Everything slow happens
outside the turn: ``choosing`` asks executors, ``posting`` has a queue for each of them, and an answer that cannot be
stored (the database is away) is kept and stored by a later turn.

Executions planned ahead of their time are offered once, when they appear, to executors that hold a trigger until it may
start; the others are sent when they are due, and the loop wakes for that instant.

What happens to lost answers is in ``unknowns``.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from orth import failpoints
from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.choosing import Choice, Choosing
from orth.coordinator.claiming import Outlook, QueueOutlook, take
from orth.coordinator.facts import (
    DispatchesAnswered,
    DispatchesDoubted,
    DispatchUnknown,
    EndsConfirmed,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionRerouted,
)
from orth.coordinator.finishing import tell
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.offering import Offering
from orth.coordinator.posting import HELD_LIMIT, Limits, Posting
from orth.coordinator.reach import Reach
from orth.coordinator.sealing import Sealing
from orth.coordinator.sending import Sending
from orth.coordinator.settling import Office, Settled, claim, settle
from orth.domain import reasons
from orth.domain.executions import Execution
from orth.events import Event, Events
from orth.store.database import Connection, Database
from orth.store.dispatching import doubt_earlier_dispatches, next_due
from orth.store.leases import Term
from orth.store.notes import Note, add_notes
from orth.store.possibly_running import jobs_waiting
from orth.wire.executor_link import ExecutorLink
from orth.wire.report_keys import ReportKeys

_BUSY_PAUSE = 0.25
"""Seconds between looks whether what executions wait for has ended, where another coordinator took the result."""
_ALL_LOOKED_AT = 60.0
"""Seconds between looks at all jobs of which executions wait: a commit whose answer was lost leaves some unknown."""
_IDLE_PAUSE = 1.0  # planning, triggers and answers wake the loop; this finds what other nodes opened
_LAST_TURNS = 10


@dataclass(frozen=True, slots=True)
class _Claimed:
    """What one claim found."""

    settled: Settled
    looked_at: int
    ahead_after: int
    next_due: int | None
    waiting: frozenset[int] = frozenset()
    """Jobs of which executions wait until another one has ended."""


class Dispatch(LeaderLoop):
    """Sends opened executions."""

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
        batch: int,
        limits: Limits,
        longest_wait: timedelta,
        sealing: Sealing,
        report_keys: ReportKeys,
        secrets_without_tls: bool = False,
        chance: random.Random | None = None,
        offering: Offering | None = None,
        offer_bound: timedelta = timedelta(days=1),
        settle: timedelta = timedelta(0),
        plan_ahead: timedelta = timedelta(0),
    ) -> None:
        super().__init__(election, clock, events, chance=chance)
        self._settling_until = clock.now() + settle // timedelta(milliseconds=1)
        self._plan_ahead = plan_ahead // timedelta(milliseconds=1)
        self._offering = offering
        self._offer_bound = int(offer_bound.total_seconds() * 1000)
        self._db = db
        self._node_id = node_id
        self._reach = reach
        self._batch = batch
        self._longest_wait = int(longest_wait.total_seconds() * 1000)
        self._choosing = Choosing(link, reach, clock, token)
        self._asking: set[asyncio.Task[None]] = set()
        self._answers: list[Answer] = []
        self._choices: list[Choice] = []
        self._doubted_in: int | None = None
        self._bug: BaseException | None = None
        self._ahead_after = 0
        self._waiting: dict[int, float] = {}
        """Jobs of which executions wait until another one has ended, and when to look again, on the monotonic clock."""
        self._waiting_known_at = float("-inf")
        events.listen(self._hear)
        self._plain_secrets = secrets_without_tls
        sending = Sending(link, reach, clock, token, sealing=sealing, report_keys=report_keys)
        self.posting = Posting(sending, clock, events, limits, still_leads=self._still_leads, done=self._take_answers)

    async def lead(self, term: Term) -> float:
        bug = self.posting.bug or self._bug or (self._offering.bug if self._offering else None)
        if bug is not None:
            raise bug  # a bug in a sending task is a crash of this loop: loud, and mended by the next term
        await self._doubt_once(term)
        await self._settle(term)
        room = min(self._batch, HELD_LIMIT - len(self._asking) - sum(self.posting.standing().held.values()))
        if room <= 0:
            return _IDLE_PAUSE  # an answer will wake us
        await self._know_waiting()
        now = self.clock.monotonic()
        looked_at = frozenset(job_id for job_id, due in self._waiting.items() if due <= now)
        claimed = await self._db.leader_tx(term, self._claim, self._office(term), room, looked_at)
        if failpoints.armed and claimed.settled.letters:
            failpoints.hit("dispatch.claimed")
        self._ahead_after = claimed.ahead_after
        self._wait_for(looked_at, claimed.waiting, claimed.settled)
        self._go_on(claimed.settled)
        return 0.0 if claimed.looked_at >= room else self._pause_until(claimed.next_due)

    async def _know_waiting(self) -> None:
        """Read from time to time which jobs have executions that wait."""
        now = self.clock.monotonic()
        if now - self._waiting_known_at >= _ALL_LOOKED_AT:
            self._waiting = dict.fromkeys(await self._db.read(jobs_waiting), now) | self._waiting
            self._waiting_known_at = now

    def _wait_for(self, looked_at: frozenset[int], waiting: frozenset[int], settled: Settled) -> None:
        """Note which jobs to look at again: soon those that are still busy, later those whose next could not go."""
        now = self.clock.monotonic()
        for job_id in looked_at - waiting:
            self._waiting.pop(job_id, None)
        self._waiting |= dict.fromkeys(looked_at & waiting, now + _BUSY_PAUSE)
        self._waiting |= {
            job_id: now + (_IDLE_PAUSE if job_id in looked_at else _BUSY_PAUSE) for job_id in settled.blocked
        }

    def freed(self, jobs: Collection[int]) -> None:
        """Something of these jobs is known to have ended: what waits for that may go on."""
        soon = [job_id for job_id in jobs if job_id in self._waiting]
        if soon:
            self._waiting |= dict.fromkeys(soon, self.clock.monotonic())
            self.wake()

    def _hear(self, event: Event) -> None:
        if isinstance(event, ExecutionFinished):
            self.freed([event.job_id])
        elif isinstance(event, EndsConfirmed):
            self.freed(event.job_ids)

    async def all_answered(self) -> None:
        """Wait until nothing is asked or on its way."""
        while self._asking or self.posting.busy:
            if self._asking:
                await asyncio.wait(self._asking)
            await self.posting.answered()
        if self._offering is not None:
            await self._offering.all_sent()

    async def forget(self) -> None:
        """Drop everything unstored, as a kill would."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self.posting.cancel()
        if self._offering is not None:
            self._offering.forget()
        self._answers.clear()
        self._choices.clear()

    async def drain(self, patience: float) -> None:
        """Hand back what is not sent, wait so many seconds for answers to what is, and store them; used when the node
        stops. What is answered later is the next leader's to ask about.
        """
        until = self.clock.monotonic() + patience
        for _ in range(_LAST_TURNS):
            self.posting.withdraw()
            term = self.election.term
            if term is not None:
                await self._settle(term, closing=True)
            left = until - self.clock.monotonic()
            if left <= 0 or not (self._asking or self.posting.busy or self._is_offering):
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.all_answered()

    @property
    def _is_offering(self) -> bool:
        return self._offering is not None and bool(self._offering.unsent())

    def _claim(self, connection: Connection, office: Office, room: int, looked_at: frozenset[int]) -> _Claimed:
        now = self.clock.now()
        taken = take(connection, looked_at, self._ahead_after, room, now)
        settled = claim(connection, taken.executions, office, now) if taken.executions else Settled([], [])
        count = len(taken.executions)
        waiting_for = next_due(connection, now) if count < room else None
        return _Claimed(settled, count, taken.ahead_after, waiting_for, taken.waiting)

    async def _settle(self, term: Term, *, closing: bool = False) -> None:
        """Store what has arrived, and send on what it leads to."""
        answers, choices = self._answers[:], self._choices[:]
        if not answers and not choices:
            return
        # An earlier term's doubts and refusals are its successor's business by now; only a yes is true for ever.
        told = [one for one in answers if one.letter.epoch == term.epoch or one.outcome is Outcome.TAKEN]
        chosen = [choice for choice in choices if choice.letter.epoch == term.epoch]
        settled: Settled = await self._db.leader_tx(
            term, settle, told, chosen, self._office(term, closing=closing), self.clock.now()
        )
        if failpoints.armed:
            failpoints.hit("dispatch.recorded")
        del self._answers[: len(answers)]
        del self._choices[: len(choices)]
        self._choosing.settled([answer.letter for answer in answers])
        self._wait_for(frozenset(), frozenset(), settled)
        going = {letter.execution.id for letter in settled.letters}
        self._choosing.settled([choice.letter for choice in choices if choice.letter.execution.id not in going])
        self._tell(told, settled)
        self._go_on(settled)

    def _go_on(self, settled: Settled) -> None:
        """After the commit: tell what ended, and send or ask."""
        tell(self.events, settled.finished)
        for letter in settled.letters:
            if letter.asks:
                task = asyncio.create_task(self._choose(letter))
                self._asking.add(task)
                task.add_done_callback(self._asked)
        self.posting.put(letter for letter in settled.letters if not letter.asks)
        if self._offering is not None:
            self._offering.put(settled.offers)
            for execution in settled.covered:
                task = asyncio.create_task(self._call_off(self._offering, execution))
                self._asking.add(task)
                task.add_done_callback(self._asked)

    @staticmethod
    async def _call_off(offering: Offering, execution: Execution) -> None:
        await offering.cancel(execution, "A later execution of its job covers it.")

    async def _choose(self, letter: Letter) -> None:
        choice = await self._choosing.choose(letter)
        if isinstance(choice, Answer):
            self._answers.append(choice)
        elif choice.letter.peer == letter.peer:  # committed already
            self.posting.put([choice.letter])
            return
        else:
            self._choices.append(choice)
        self.wake()

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
            self.wake()

    def _take_answers(self, answers: Sequence[Answer]) -> None:
        if failpoints.armed and answers:
            failpoints.hit("dispatch.sent")
        self._answers.extend(answers)
        self.wake()

    async def _doubt_once(self, term: Term) -> None:
        if self._doubted_in == term.epoch:
            return
        self._ahead_after = 0
        count = await self._db.leader_tx(term, self._doubt, term.epoch, self.clock.now())
        self._waiting, self._waiting_known_at = {}, float("-inf")
        self._doubted_in = term.epoch
        if count:
            self.events.emit(DispatchesDoubted(count))

    def _doubt(self, connection: Connection, epoch: int, now: int) -> int:
        ids = doubt_earlier_dispatches(connection, epoch, now, reasons.LEADER_CHANGED)
        text = "The coordinator that was sending it lost the lead before it stored an answer."
        notes = [Note(one, reasons.LEADER_CHANGED, text) for one in ids]
        add_notes(connection, notes, self._node_id, now)
        return len(ids)

    def _office(self, term: Term, *, closing: bool = False) -> Office:
        queues = self._offering.outlook() if self._offering else QueueOutlook()
        outlook = Outlook(
            self._reach.avoid,
            self._chance.randrange,
            self.posting.standing(),
            queues,
            self._plain_secrets,
            self._settling_until,
            self._plan_ahead,
        )
        return Office(self._node_id, term.epoch, self._longest_wait, outlook, closing, self._offer_bound)

    def _still_leads(self, epoch: int) -> bool:
        term = self.election.term
        return term is not None and term.epoch == epoch

    def _pause_until(self, due: int | None) -> float:
        looks = [look - self.clock.monotonic() for look in self._waiting.values()]
        pause = max(0.0, min([_IDLE_PAUSE, *looks]))
        return pause if due is None else max(0.0, min(pause, (due - self.clock.now()) / 1000))

    def _tell(self, answers: Sequence[Answer], settled: Settled) -> None:
        for outcome, count in Counter(answer.outcome for answer in answers).items():
            self.events.emit(DispatchesAnswered(outcome.name.lower(), count))
        for answer in answers:
            execution, address = answer.letter.execution, answer.letter.peer.address
            if answer.outcome is Outcome.TAKEN:
                self.events.emit(ExecutionDispatched(execution.id, execution.job_id, address))
            elif answer.outcome is Outcome.UNKNOWN:
                self.events.emit(DispatchUnknown(execution.id, address, answer.message))
        for letter, reason in settled.rerouted:
            self.events.emit(ExecutionRerouted(letter.execution.id, letter.peer.address, reason))
