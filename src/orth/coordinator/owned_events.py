"""The OwnedEvents loop: what executors of queues say about the executions that this coordinator looks after.

Boxes announce that they have grown; those of our own executions are read on from where we stopped, many at a time.
Whoever becomes the owner reads from the beginning, so nothing depends on what an earlier one had in memory.

* **Who speaks**: what was offered with a report key is spoken of with it (``proving``). Other words change nothing.
* **Results** go the way of every result (``callbacks``), and what became of each is told in the box of the process that
  reported it, after the commit: only then may it forget it.
* **Standing**: that somebody has an execution, or runs it, is written down a moment later, and not at all if its result
  was quicker. So a short execution costs no more writes than one that is sent to an address.
* **Logs** stay in their box while they grow, where anybody may read them (``logs.boxes``). They are archived before the
  result is applied if they are complete by then, else a little later (``ended_logs``); so they outlive their executor.
"""

from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field

from orth import failpoints
from orth.channels.interface import START, Channels, ChannelsUnavailable, Entry, Heard, Listening, Message
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.hearing import Hearing
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.ended_logs import EndedLogs
from orth.coordinator.facts import AnswersUndelivered, ExecutionsTaken, MessageUnreadable
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.log_keeping import LogKeeping
from orth.coordinator.logs.boxes import LogBoxes
from orth.coordinator.proving import Proving
from orth.coordinator.queue_evidence import WORKER
from orth.coordinator.refusals import Refusals
from orth.domain import reasons
from orth.domain.executions import FAILURE
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executions import Ending, sent_among
from orth.store.offering import Taking, record_returned, record_taken
from orth.store.ownership import Owned, open_among
from orth.wire.channel_messages import Acknowledged, Standing, StatusReport
from orth.wire.messages import CallbackVerdict, Verdict

_AT_ONCE = 200
_WORDS = 100
_WRITE_AFTER = 0.5
"""Seconds after which the standing of an execution is written down."""
_LOOK_AGAIN = 30.0
"""Each box is read at least that often, for news may be lost; one that is empty, every fourth time."""
_WAIT = 5.0
_ENDS = frozenset({Standing.COMPLETED, Standing.FAILED, Standing.TIMED_OUT, Standing.CANCELLED})
_DISCARDS = ("DISCARD_LATER", "Discard Later")


_Word = tuple[int, StatusReport]
"""What is said of an execution, by its id."""


@dataclass(slots=True)
class _Followed:
    """An execution of ours, and how far its status box was read."""

    job_id: int
    position: str = START
    read_at: float = 0.0
    begun: bool = False
    """Whether an executor had it: then no message of it waits in a queue."""
    counted: bool = False
    """Whether it was told that somebody took it, by us or by an earlier owner."""
    kept: bool = False
    """Whether its log is archived."""
    ended: bool = False
    """Whether it is known to be over."""


@dataclass(slots=True)
class _Words:
    """What was read at once, by execution."""

    results: dict[int, list[StatusReport]] = field(default_factory=dict)
    takings: dict[int, Taking] = field(default_factory=dict)
    returned: dict[int, str] = field(default_factory=dict)
    in_no_queue: set[int] = field(default_factory=set)
    """Those of the returned that nobody has put back into a queue."""
    refused: dict[int, str] = field(default_factory=dict)
    positions: dict[int, str] = field(default_factory=dict)

    def add(self, one: int, word: StatusReport) -> None:
        if is_result(one, word):
            self.results.setdefault(one, []).append(word)
        elif word.status is Standing.RETURNED:
            self.takings.pop(one, None)
            self.returned[one] = word.incarnation
            if word.offer_again:
                self.in_no_queue.add(one)
        elif word.status is Standing.REFUSED:
            self.refused[one] = word.message or "The executor refused it without a word."
        else:
            running = word.status is not Standing.ACCEPTED
            self.takings[one] = Taking(one, f"{WORKER}{word.worker_id}", word.incarnation, running)
            self.returned.pop(one, None)


def is_result(one: int, word: StatusReport) -> bool:
    """Whether a word in the box of an execution is its result."""
    return word.status in _ENDS and word.result is not None and word.result.log_id == one


class OwnedEvents(Hearing):
    """Follows the executions of this node; ``Holdings`` says which those are."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        names: Names,
        clock: Clock,
        events: Events,
        *,
        callbacks: Callbacks,
        proving: Proving,
        refusals: Refusals,
        keeping: LogKeeping,
        ended_logs: EndedLogs,
        boxes: LogBoxes,
        wakes: Sequence[Loop] = (),
    ) -> None:
        super().__init__(channels, [], clock, events)
        self._longest_pause = _WAIT
        self._db = db
        self._names = names
        self._callbacks = callbacks
        self._proving = proving
        self._refusals = refusals
        self._keeping = keeping
        self._ended_logs = ended_logs
        self._boxes = boxes
        self._wakes = wakes
        self._followed: dict[int, _Followed] = {}
        self._news: dict[int, None] = {}
        """Executions whose status box has grown, or may have."""
        self._unwritten: dict[int, tuple[Taking, float]] = {}
        """Who has what, since when that is known; the oldest first."""
        self._over: dict[int, None] = {}
        """Executions that are over, or not ours any more."""
        self._missed = 0
        self._swept_at = clock.monotonic()

    def __len__(self) -> int:
        return len(self._followed)

    # --- what is ours

    def gained(self, owned: Sequence[Owned]) -> None:
        for one in owned:
            self._followed.setdefault(one.execution_id, _Followed(one.job_id, counted=one.generation > 1))
            self._over.pop(one.execution_id, None)
            self._news[one.execution_id] = None
        self.wake()

    def lost(self, ids: Sequence[int]) -> None:
        """Somebody else's, or over: which, the database says at the next turn."""
        self._over |= {one: None for one in ids if one in self._followed}
        self.wake()

    # --- turning

    async def heard(self, messages: Sequence[Heard]) -> None:
        self._note(messages)
        await self._read_statuses()
        await self._write_takings()
        await self._see_to_ended()

    def listening(self) -> AbstractAsyncContextManager[Listening]:
        self._news |= dict.fromkeys(self._followed)  # what grew while nobody listened
        return self._channels.news()

    def patience(self) -> float:
        """Seconds until there is something to do, whether or not there is news by then."""
        if self._news:
            return 0.0
        oldest = next(iter(self._unwritten.values()), None)
        return _WAIT if oldest is None else min(_WAIT, max(0.0, oldest[1] + _WRITE_AFTER - self.clock.monotonic()))

    def _note(self, heard: Sequence[Heard]) -> None:
        if self.missed != self._missed:
            self._missed = self.missed
            self._news |= dict.fromkeys(self._followed)
        for one in heard:
            execution_id = self._execution_of(str(one.message.get("box", "")))
            if execution_id in self._followed:
                self._news[execution_id] = None
        now = self.clock.monotonic()
        if now - self._swept_at >= _WAIT:
            self._swept_at = now
            late = {False: now - 4 * _LOOK_AGAIN, True: now - _LOOK_AGAIN}
            self._news |= {key: None for key, one in self._followed.items() if one.read_at <= late[one.begun]}

    def _execution_of(self, box: str) -> int:
        """Whose status box this is; 0 for any other."""
        start, _, end = box.rpartition(".status.")
        return int(end) if start.startswith(f"{self._names.prefix}.job.") and end.isdecimal() else 0

    # --- status

    async def _read_statuses(self) -> None:
        while some := [one for one in list(self._news)[:_AT_ONCE] if one in self._followed]:
            found = await self._channels.read(
                {self._status(one): self._followed[one].position for one in some}, limit=_WORDS
            )
            words = self._gathered(found, await self._believed(self._understood(found)))
            await self._apply(words)
            now = self.clock.monotonic()
            for one in some:
                more = len(found.get(self._status(one), ())) >= _WORDS
                if not more:
                    del self._news[one]
                self._followed[one].read_at = now
                self._followed[one].position = words.positions.get(one, self._followed[one].position)

    def _status(self, execution_id: int) -> str:
        return self._names.status(self._followed[execution_id].job_id, execution_id)

    def _understood(self, found: Mapping[str, Sequence[Entry]]) -> list[_Word]:
        """What executors say, in order."""
        words: list[_Word] = []
        for box, entries in found.items():
            for entry in entries:
                try:
                    word = StatusReport.model_validate(entry.message)
                except ValueError as error:
                    self.events.emit(MessageUnreadable(box, str(error).partition("\n")[0]))
                    continue
                if word.status is not Standing.WITHDRAWN:
                    words.append((self._execution_of(box), word))
        return words

    async def _believed(self, words: Sequence[_Word]) -> list[_Word]:
        """Without those that are not of whom the execution was offered to. Results are judged where they are taken."""
        asked = {one for one, word in words if not is_result(one, word)}
        if not asked:
            return list(words)
        sent = await self._db.read(sent_among, asked)
        believed: list[_Word] = []
        for one, word in words:
            why = None
            if one in sent and not is_result(one, word):
                why = self._proving.unproved(one, sent[one], word.report_key)
            if why is None:
                believed.append((one, word))
            else:
                await self._refusals.note_unproved(one, why, word.worker_id)
        return believed

    def _gathered(self, found: Mapping[str, Sequence[Entry]], believed: Sequence[_Word]) -> _Words:
        words, taken = _Words(), 0
        for box, entries in found.items():
            if entries:
                words.positions[self._execution_of(box)] = entries[-1].position
        for one, word in believed:
            followed = self._followed[one]
            taken += not followed.counted
            followed.begun = followed.counted = True
            words.add(one, word)
        if taken:
            self.events.emit(ExecutionsTaken(taken))
        return words

    async def _apply(self, words: _Words) -> None:
        now = self.clock.monotonic()
        for one, taking in words.takings.items():
            since = self._unwritten[one][1] if one in self._unwritten else now
            self._unwritten[one] = (taking, since)
        if words.returned:
            for one in words.returned:
                self._unwritten.pop(one, None)
            in_no_queue = frozenset(words.in_no_queue)
            await self._db.tx(record_returned, words.returned, self.clock.now(), reasons.OFFERED_AGAIN, in_no_queue)
        if words.refused:
            finished: list[Finished] = await self._db.tx(_refuse, words.refused, self.clock.now())
            tell(self.events, finished)
            for loop in self._wakes if finished else ():
                loop.wake()
        taken = await self._take_results(words.results) if words.results else frozenset[int]()
        for one in (*taken, *words.refused):
            self._unwritten.pop(one, None)
            self._followed[one].ended = True
            self._over[one] = None

    async def _take_results(self, results: Mapping[int, Sequence[StatusReport]]) -> Set[int]:
        """Those executions that are over now, or were."""
        with suppress(ChannelsUnavailable):  # logs can wait
            arrived = await self._keeping.keep({one: self._followed[one].job_id for one in results})
            for one in results:
                self._followed[one].kept |= arrived[one].whole
        words = [word for some in results.values() for word in some]
        judged = await self._callbacks.take([word.result for word in words if word.result is not None])
        if failpoints.armed:
            failpoints.hit("owned_events.stored")
        for one, why in judged.unproved.items():
            await self._refusals.note_unproved(one, why, results[one][-1].worker_id)
        answered = [
            (word, verdict)
            for word, verdict in zip(words, judged.verdicts, strict=True)
            if verdict.verdict is not Verdict.RETRY
        ]
        await self._acknowledge(answered)
        return {verdict.log_id for _word, verdict in answered}

    async def _acknowledge(self, answered: Sequence[tuple[StatusReport, CallbackVerdict]]) -> None:
        told: dict[str, list[Message]] = {}
        for word, verdict in answered:
            box = self._names.acknowledged(word.incarnation)
            said = Acknowledged(execution_id=verdict.log_id, verdict=verdict.verdict)
            told.setdefault(box, []).append(said.model_dump(mode="json", by_alias=True))
        try:
            if told:
                await self._channels.post(told)
        except OrthError as error:  # the results are stored; who is not told so asks over HTTP
            self.events.emit(AnswersUndelivered(sum(map(len, told.values())), error.message))

    async def _write_takings(self) -> None:
        now = self.clock.monotonic()
        due: list[Taking] = []
        for taking, since in self._unwritten.values():
            if now - since < _WRITE_AFTER:
                break
            due.append(taking)
        if due:
            await self._db.tx(record_taken, due, self.clock.now())
            for taking in due:
                if self._unwritten.get(taking.execution_id, (None,))[0] is taking:
                    del self._unwritten[taking.execution_id]

    # --- the end

    async def _see_to_ended(self) -> None:
        over = list(self._over)[:_AT_ONCE]
        doubtful = [one for one in over if not self._followed[one].ended]
        still = await self._db.read(open_among, doubtful) if doubtful else set()
        for one in over:
            if one not in still:  # else it is somebody else's
                followed = self._followed[one]
                self._ended_logs.add(one, followed.job_id, begun=followed.begun, kept=followed.kept)
            self._forget(one)
        if len(over) == _AT_ONCE:
            self.wake()

    def _forget(self, execution_id: int) -> None:
        for known in (self._followed, self._news, self._over, self._unwritten):
            known.pop(execution_id, None)
        self._boxes.forget(execution_id)


def _refuse(connection: Connection, refused: Mapping[int, str], now: int) -> list[Finished]:
    endings = [
        Ending(
            execution_id=one,
            trigger_code=FAILURE,
            trigger_msg=message,
            reason_code=reasons.DISCARDED if any(word in message for word in _DISCARDS) else reasons.REFUSED,
        )
        for one, message in refused.items()
    ]
    return finish(connection, endings, now)
