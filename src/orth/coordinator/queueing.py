"""The Queueing loop: the leader looks after what is in queues, and after those who take from them.

Messages get lost, and executors die with some in hand. The database knows every execution that was offered; here it is
compared with what the queues hold and what the beats of executors name.

* **Missing**: an execution that waits, though its message does not and nobody has it, is offered again. That nobody has
  it must have been so for as long as any executor may be silent, without a gap in this coordinator's own listening.
  That a message does not wait is plain where none does; a queue in use is read through for it (``queue_scans``). The
  earlier offer is withdrawn first, so that its message, should it turn up after all, is not begun.
* **In the hands of the dead**: messages that a process took and never finished with go to others.
* **Lost**: an execution that a process accepted, and that neither it nor a successor names any more. As for executors
  that are sent to, it ends as *result lost*; whoever reports it after all is told that it had ended.
* **Left over**: what an executor names and no open row does, was killed or had ended otherwise. It is told again.
* **Too old**: what nobody took within its bound ends.

Silence proves something only to one who would have heard: while the channels are away, or the beats do not come here,
nothing is concluded, and what had begun to look lost begins anew when they are back.

These are looked after one by one: what cannot be done about one of them keeps nobody from the others, and no execution
stays open because something about it could not be said.

The decisions are pure functions in ``queue_evidence``; ``workers`` has what they go by.
"""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from orth.channels.interface import START, Channels, Heard, Listening
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.facts import NodeDied
from orth.cluster.hearing import Hearing
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import (
    EndsConfirmed,
    ExecutorJoined,
    ExecutorLeft,
    MessageUnreadable,
    OffersReclaimed,
    OffersRepeated,
)
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.offering import InQueues, Offering, Place, by_queue
from orth.coordinator.proving import Proving
from orth.coordinator.queue_evidence import (
    WORKER,
    Evidence,
    Patience,
    Sign,
    has_ended,
    held_until,
    is_given_back,
    is_missing,
    is_named,
    may_be_missing,
    named_by,
    sign_of_loss,
    taken_by,
)
from orth.coordinator.queue_scans import Offered, QueueScans
from orth.coordinator.workers import Fate, Process, Workers, queues_of
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.nodes import Unavailability, Vitals
from orth.errors import OrthError, TermEnded, Unavailable
from orth.events import Event, Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executions import Ending, sent_among
from orth.store.leases import Term
from orth.store.notes import Note, add_notes
from orth.store.offering import InQueue, ended_in_queues, list_in_queues, record_taken, reopen_offered
from orth.store.ownership import open_among
from orth.store.possibly_running import UnconfirmedEnd, confirm_ends, list_all_unconfirmed
from orth.store.queue_executors import QueueBeat, drop_silent, record_queue_beats, remove_queue_executors
from orth.wire.channel_messages import WorkerBeat
from orth.wire.messages import LeftBehind

_LOOK_EVERY = 5.0
_IN_HAND_FOR = 10
"""How many times the patience a living process may have messages in hand before others are not held up by that."""
_STORE_EVERY = 10.0
_CLEAN_EVERY = 3600.0
_KEEP_BOXES = 3 * 86_400.0
"""What nobody fetched is kept for so long: longer than anything may wait in a queue."""
_FORGET = 3600.0
_AT_ONCE = 500
_LEFT_OVER_AT_ONCE = 100
_CALLED_OFF_AT_ONCE = 5_000


class WorkerEar(Hearing):
    """Hears executors of queues say that they live; every coordinator does."""

    def __init__(self, channels: Channels, names: Names, workers: Workers, clock: Clock, events: Events) -> None:
        super().__init__(channels, [names.worker_heartbeat], clock, events)
        self._topic = names.worker_heartbeat
        self._workers = workers
        self._missed = 0

    async def heard(self, messages: Sequence[Heard]) -> None:
        for one in messages:
            try:
                beat = WorkerBeat.model_validate(one.message)
            except ValueError as error:
                self.events.emit(MessageUnreadable(self._topic, str(error).partition("\n")[0]))
                continue
            known = self._workers.process(beat.incarnation) is not None
            if not self._workers.heard(beat):
                told = f"{beat.app_name} speaks for a process of another application"
                self.events.emit(MessageUnreadable(self._topic, told))
            elif not known:
                self.events.emit(ExecutorJoined(beat.app_name, address_of(beat)))
            elif self._workers.fate(beat.incarnation) is Fate.LEFT:
                self.events.emit(ExecutorLeft(beat.app_name, address_of(beat), "it said good-bye"))

    async def _open(self) -> Listening:
        fresh = self._ear is None
        ear = await super()._open()
        if not ear.hears:
            self._workers.deaf()
        elif fresh or ear.missed != self._missed:
            self._workers.hears()
        self._missed = ear.missed
        return ear

    async def close(self) -> None:
        self._workers.deaf()
        await super().close()


class Queueing(LeaderLoop):
    """Looks after queues and those who take from them."""

    def __init__(
        self,
        db: Database,
        election: Election,
        channels: Channels,
        names: Names,
        clock: Clock,
        events: Events,
        *,
        node_id: str,
        workers: Workers,
        offering: Offering,
        proving: Proving,
        patience: Patience,
        wakes: Sequence[Loop],
    ) -> None:
        super().__init__(election, clock, events)
        self._every = self._longest_pause = min(_LOOK_EVERY, patience.missing / 6)
        self._db = db
        self._channels = channels
        self._names = names
        self._node_id = node_id
        self._workers = workers
        self._offering = offering
        self._proving = proving
        self._patience = patience
        self._wakes = wakes
        self._epoch: int | None = None
        self._in_queues = InQueues()
        self._scans = QueueScans(channels, names, clock, rest=patience.missing / 2)
        self._missing: dict[tuple[int, int], float] = {}
        """Offers that nothing speaks for, by execution and number, and since when."""
        self._in_hand: dict[tuple[Place, str], float] = {}
        self._signs: dict[int, tuple[Sign, float]] = {}
        self._unconfirmed: dict[int, float] = {}
        """Executions that have ended here and may still be running, and since when no process has named them."""
        self._left_over: frozenset[int] = frozenset()
        self._to_call_off = True
        self._stored: frozenset[tuple[str, tuple[LeftBehind, ...]]] = frozenset()
        self._stored_at = self._cleaned_at = float("-inf")

    @property
    def seen(self) -> InQueues:
        """What the last look has found, while this node leads."""
        return self._in_queues if self.election.term is not None else InQueues()

    async def lead(self, term: Term) -> float:
        if self._epoch != term.epoch or self._workers.listening_since is None:
            self._epoch = term.epoch
            self._begin_anew()
        if self._workers.listening_since is None:
            return self._every
        try:
            await self._store_beats(term)
            rows: list[InQueue] = await self._db.read(list_in_queues)
            seen = await self._look(rows)
        except Unavailable:  # nothing can be said about what is in queues now, nor who is silent
            self._workers.missed()
            self._begin_anew()
            raise
        failures: list[OrthError] = []
        steps: tuple[Callable[[], Awaitable[None]], ...] = (
            partial(self._offer_again, term, rows, seen),
            partial(self._end_lost, term, rows, seen),
            partial(self._end_old, term, rows),
            partial(self._confirm, term, seen.named),
            partial(self._tell_left_over, seen.named),
            self._call_off,
            self._clean,
        )
        for step in steps:
            try:
                await step()
            except TermEnded:
                raise
            except OrthError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        return self._every

    def _begin_anew(self) -> None:
        """What was seen before does not count."""
        self._missing, self._in_hand, self._signs = {}, {}, {}
        self._unconfirmed = {}
        self._scans.forget()
        self._to_call_off = True

    def hear(self, event: Event) -> None:
        if isinstance(event, NodeDied):
            self._to_call_off = True

    # --- looking

    async def _look(self, rows: Sequence[InQueue]) -> Evidence:
        alive = self._workers.alive()
        seen = Evidence(
            named=named_by(alive, rows),
            reticent=frozenset(process.beat.app_name for process in alive if not process.tells_all),
        )
        places = {(one.queue, one.priority) for one in rows}
        for one in rows:
            place = (one.queue, one.priority)
            if one.incarnation is not None:
                seen.overtaken[place] = max(seen.overtaken.get(place, 0), one.sending)
        in_hand: dict[tuple[Place, str], float] = {}
        for place in sorted(places | self._places_of(alive)):
            seen.waiting[place] = await self._channels.waiting(self._names.dispatch(*place))
            in_hand |= await self._reclaim(place)
        now = self.clock.monotonic()
        longest = self._patience.missing * _IN_HAND_FOR
        seen.in_hand = {place for (place, _who), since in in_hand.items() if now - since < longest}
        self._in_hand = in_hand
        self._offering.seen_waiting(seen.waiting)
        between = [await self._channels.waiting(one) for one in (self._names.assigned, self._names.handoff)]
        self._in_queues = InQueues(by_queue(seen.waiting), *between)
        return seen

    def _places_of(self, alive: Iterable[Process]) -> set[Place]:
        """Where somebody may have taken something of which no row is left."""
        known = {place for place, _who in self._in_hand}
        return known | {(queue, 1) for process in alive for queue in queues_of(process.beat)}

    async def _reclaim(self, place: Place) -> dict[tuple[Place, str], float]:
        """Give what the dead have in hand to others; what the living have, and since when."""
        queue, now = self._names.dispatch(*place), self.clock.monotonic()
        left: dict[tuple[Place, str], float] = {}
        for consumer in await self._channels.consumers(queue):
            if self._workers.fate(consumer) is Fate.ALIVE:
                left[place, consumer] = self._in_hand.get((place, consumer), now)
            else:
                count = await self._channels.give_back(queue, consumer)
                if count:
                    self.events.emit(OffersReclaimed(place[0], consumer, count))
        return left

    # --- what is missing

    async def _offer_again(self, term: Term, rows: Sequence[InQueue], seen: Evidence) -> None:
        now = self.clock.monotonic()
        unsent = self._offering.unsent()
        waits = [one for one in rows if one.incarnation is None and one.id not in unsent]
        seen.absent = await self._scans.absent(self._long_there(waits, seen))
        missing = {(one.id, one.sending): one for one in waits if is_missing(one, seen)}
        self._missing = {key: self._counted_from(self._missing.get(key, now)) for key in missing}
        ripe = [missing[key] for key, since in self._missing.items() if now - since >= self._patience.missing]
        ripe += [one for one in waits if is_given_back(one, seen) and one not in ripe]
        for start in range(0, len(ripe), _AT_ONCE):
            await self._offer_some_again(term, ripe[start : start + _AT_ONCE])

    def _long_there(self, waits: Iterable[InQueue], seen: Evidence) -> dict[Place, set[Offered]]:
        """Offers that were sent a while ago, and that nobody has, by their place."""
        before, long_there = self.clock.now() - int(self._every * 1000), defaultdict[Place, set[Offered]](set)
        for one in waits:
            if one.since < before and may_be_missing(one, seen):
                long_there[one.queue, one.priority].add((one.id, one.sending))
        return long_there

    async def _offer_some_again(self, term: Term, missing: Sequence[InQueue]) -> None:
        boxes = {self._names.status(one.job_id, one.id): one for one in missing}
        found = await self._channels.read(dict.fromkeys(boxes, START), limit=_AT_ONCE)
        sent = await self._db.read(sent_among, [one.id for one in missing])
        said = {box: self._proving.believed(boxes[box].id, sent, entries) for box, entries in found.items()}
        takings = [taking for box, one in boxes.items() if (taking := taken_by(one, said.get(box, ()))) is not None]
        had = {taking.execution_id for taking in takings}
        if takings:  # its owner has not read that, or was not there to
            await self._db.leader_tx(term, record_taken, takings, self.clock.now())
        lost = [one for one in missing if one.id not in had]
        if not lost:
            return
        unsaid = await self._offering.withdraw((one.job_id, one.id, one.sending) for one in lost)
        lost = [one for one in lost if one.id not in unsaid]  # two offers of one execution must not be open at once
        reopened = set(await self._db.leader_tx(term, self._reopen, lost, self.clock.now()))
        for queue in sorted({one.queue for one in lost}):
            count = sum(one.queue == queue and one.id in reopened for one in lost)
            if count:
                self.events.emit(OffersRepeated(queue, count))
        self._wake()

    def _reopen(self, connection: Connection, lost: Sequence[InQueue], now: int) -> list[int]:
        seen = {one.id: one.sending for one in lost}
        reopened = reopen_offered(connection, seen, now, reasons.OFFERED_AGAIN)
        told = {
            one.id: f"The executor that had taken it from {one.queue} gave it back."
            if one.reason_code == reasons.OFFERED_AGAIN
            else f"It is not in {one.queue} any more, and no executor has it."
            for one in lost
        }
        notes = [Note(one, reasons.OFFERED_AGAIN, told[one]) for one in reopened]
        add_notes(connection, notes, self._node_id, now)
        return reopened

    # --- what has ended

    async def _end_lost(self, term: Term, rows: Sequence[InQueue], seen: Evidence) -> None:
        now = self.clock.monotonic()
        signs = {one.id: sign_of_loss(one, self._workers, seen.named, self._patience) for one in rows}
        self._signs = {
            one: (
                sign,
                self._counted_from(before[1] if (before := self._signs.get(one)) and before[0] == sign else now),
            )
            for one, sign in signs.items()
            if sign is not None
        }
        until = {one.id: held_until(one, self._workers, now) for one in rows if one.id in self._signs}
        lost = {one: sign.why for one, (sign, since) in self._signs.items() if until[one] - since >= sign.patience}
        ending = [one for one in rows if one.id in lost]
        await self._end(term, ending, [_lost(one.id, lost[one.id]) for one in ending])

    def _counted_from(self, since: float) -> float:
        """From when on something has been so: not before beats were heard, and not while none are."""
        begun = self._workers.listening_since
        return max(since, self.clock.monotonic() if begun is None else begun)

    async def _end_old(self, term: Term, rows: Sequence[InQueue]) -> None:
        before = self.clock.now() - int(self._patience.offer * 1000)
        old = [one for one in rows if one.incarnation is None and one.since < before]
        await self._end(term, old, [_untaken(one, self._patience.offer) for one in old])

    async def _end(self, term: Term, ended: Sequence[InQueue], endings: Sequence[Ending]) -> None:
        if not ended:
            return
        failure: OrthError | None = None
        try:
            for start in range(0, len(ended), _AT_ONCE):
                some = ended[start : start + _AT_ONCE]
                await self._offering.withdraw((one.job_id, one.id, None) for one in some)
        except OrthError as error:  # whoever begins one all the same is told as for all that is left over
            failure = error
        finished: list[Finished] = await self._db.leader_tx(term, finish, endings, self.clock.now())
        tell(self.events, finished)
        self._wake()
        if failure is not None:
            raise failure

    async def _confirm(self, term: Term, named: frozenset[int]) -> None:
        """What ended here counts as ended at its executor when nobody who may have it names it any more."""
        rows: list[UnconfirmedEnd] = await self._db.read(list_all_unconfirmed, queued=True)
        now, before = self.clock.monotonic(), self._unconfirmed
        here = {one.id for one in rows if is_named(one, self._workers, named)}
        self._unconfirmed = {
            one.id: now if one.id in here else self._counted_from(before.get(one.id, now)) for one in rows
        }
        over = [
            one.id
            for one in rows
            if one.id not in here and has_ended(one, self._unconfirmed[one.id], self._workers, self._patience, now)
        ]
        if over:
            jobs = await self._db.leader_tx(term, confirm_ends, over)
            self.events.emit(EndsConfirmed(tuple(jobs)))

    async def _tell_left_over(self, named: frozenset[int]) -> None:
        """What executors have and no open execution is, twice in a row: they did not hear that it is to end."""
        still = await self._db.read(open_among, named) if named else set()
        left_over = named - still
        again = sorted(left_over & self._left_over)[:_LEFT_OVER_AT_ONCE]
        self._left_over = left_over
        running = {one: process.beat.app_name for process in self._workers.alive() for one in process.beat.running}
        for one in again:
            if one in running:
                await self._offering.announce_end(running[one], 0, one, "The execution has ended.")

    async def _call_off(self) -> None:
        """What ended in queues while the channels were away, or another one led, may not have been withdrawn; nor what
        was killed by a node that died, if the channels were away from that one alone.
        """
        if self._to_call_off:
            since = self.clock.now() - int(self._patience.offer * 1000)
            self._offering.owe(await self._db.read(ended_in_queues, since, _CALLED_OFF_AT_ONCE))
            self._to_call_off = False

    # --- records

    async def _store_beats(self, term: Term) -> None:
        """Let people see who takes from queues."""
        now = self.clock.monotonic()
        alive = self._workers.alive()
        known = frozenset((process.beat.incarnation, process.beat.left_behind) for process in alive)
        if now - self._stored_at < _STORE_EVERY and known == self._stored:
            return
        self._stored_at, self._stored = now, known
        self._workers.forget(_FORGET)
        beats = [_stored(process) for process in alive]
        departed = self._workers.departed()
        await self._db.leader_tx(term, self._write_beats, beats, departed, self.clock.now())

    def _write_beats(
        self, connection: Connection, beats: Sequence[QueueBeat], departed: Sequence[str], now: int
    ) -> None:
        record_queue_beats(connection, beats, now)
        remove_queue_executors(connection, departed)
        drop_silent(connection, now - int(3 * self._patience.missing * 1000))

    async def _clean(self) -> None:
        now = self.clock.monotonic()
        if now - self._cleaned_at >= _CLEAN_EVERY:
            self._cleaned_at = now
            await self._channels.clean(_KEEP_BOXES)

    def _wake(self) -> None:
        for loop in self._wakes:
            loop.wake()


def address_of(beat: WorkerBeat) -> str:
    return f"{WORKER}{beat.worker_id}"


def _stored(process: Process) -> QueueBeat:
    beat = process.beat
    return QueueBeat(
        beat.app_name,
        address_of(beat),
        beat.incarnation,
        queues_of(beat),
        min(beat.active_jobs, _LARGEST),
        beat.version,
        json.dumps(beat.labels, sort_keys=True) if beat.labels else None,
        process.since,
        Vitals(
            running=min(beat.active_jobs, _LARGEST),
            unacknowledged=min(beat.unacknowledged_results, _LARGEST),
            slots=min(beat.max_concurrent_jobs, _LARGEST) or None,
            python=beat.python,
            abandoned=len(beat.left_behind),
            left_behind=tuple((one.log_id, one.since) for one in beat.left_behind),
        ),
        unavailable=Unavailability.LEAVING if beat.status == "Draining" else None,
    )


_LARGEST = 2**31 - 1


def _lost(execution_id: int, why: str) -> Ending:
    return Ending(
        execution_id=execution_id,
        trigger_code=SUCCESS,
        handle_code=FAILURE,
        handle_msg=f"Result lost: {why}.",
        reason_code=reasons.RESULT_LOST,
    )


def _untaken(one: InQueue, bound: float) -> Ending:
    return Ending(
        execution_id=one.id,
        trigger_code=FAILURE,
        trigger_msg=f"Nobody took it from {one.queue} within {bound:g} s.",
        reason_code=reasons.NOBODY_TOOK_IT,
        confirmed=False,
    )
