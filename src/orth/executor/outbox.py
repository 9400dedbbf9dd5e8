"""[8b] Results waiting to be delivered.

A result is on the disk before it is sent (``recorder``, ``journal``), and is removed only when a coordinator has
answered for it by name. In between it survives a killed process, a restart and a coordinator that is away for a week;
delivering it twice is harmless, losing it is not. ``retry`` is the only answer that keeps a result. ``unknown`` and
``malformed`` end it too, for sending it again could never help, but are told as events.

Sending is the loop's work and happens in batches; a new result wakes it. While more is on its way (``more_coming``)
there are ``GATHER`` seconds between two batches, and up to five times as long where many come: then a request carries
what came meanwhile instead of one result each, which spares both ends. A full one, the last result, or a lone one
leaves at once. When no coordinator answers, the pauses grow from half a second to the ``callback_retry`` setting, and
new results wait like the others. When one will not take a batch, or says nothing, smaller ones follow (``portions``). A
result that does not get through although it came alone is sent by itself from then on, in turn with the others, after
pauses of its own that grow to ``callback_retry``; one that was refused so is told and counted.

The outbox has a cap (``room``). It never drops a result to stay below it: admission stops taking work instead, as it
does while the disk refuses to be written, and of long results that come all the same the middle is left out.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from orth.clock import Clock
from orth.domain.nodes import Unavailability
from orth.errors import OrthError
from orth.events import Events
from orth.executor.declining import Declined
from orth.executor.facts import (
    CallbacksDelivered,
    CallbacksFailed,
    OutboxRecovered,
    OutboxUnwritable,
    ResultDisowned,
    ResultNotTaken,
    ResultShortened,
)
from orth.executor.journal import Journal, done_record, is_same, put_record
from orth.executor.portions import MOST, Portion
from orth.executor.recorder import Recorder
from orth.executor.results import Result
from orth.executor.room import COUNT_LIMIT, Room
from orth.loop import Loop
from orth.threads import StandingThreads
from orth.wire.coordinator_calls import CoordinatorLink, NotKnownThere, NotTaken, Unanswered
from orth.wire.messages import CallbackVerdict, RunRequest, Verdict

BATCH_COUNT = MOST
BATCH_BYTES = 768 * 1024
GATHER = 0.02
_LONGER = 5.0
SEGMENT_LIMIT = 4 * 1024 * 1024
_FIRST_PAUSE = 0.5
_REFUSED_IN_A_ROW = 3
"""Results that turn out to be refused by themselves, one after the other, before it is the coordinator that is in
trouble."""
_LONE_PAUSE = 0.05
"""Seconds before the next of those that travel alone, after one was refused again: there may be thousands."""
_BROKEN_PAUSE = 5.0


@dataclass(slots=True, eq=False)
class _Waiting:
    item: Result
    made: Callable[[Result], tuple[Result, bytes]]
    """Says as what it is kept, and makes its record."""
    since: float
    not_before: float
    ready: bool = False
    """False until its record is on the disk."""
    tries: int = 0
    alone: bool = False
    """Whether it did not get through when it came by itself: it takes no other with it any more."""
    _record: bytes | None = None
    _making: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def record(self) -> bytes:
        """Made, once, by whoever writes it: the thread of a job has its next trigger to see to."""
        with self._making:
            if self._record is None:
                self.item, self._record = self.made(self.item)
            return self._record


class Outbox(Loop):
    """Takes results from job threads and delivers them."""

    def __init__(
        self,
        directory: Path,
        link: CoordinatorLink,
        *,
        retry: float,
        clock: Clock,
        events: Events,
        before_recording: Callable[[], None] = lambda: None,
        more_coming: Callable[[], bool] = lambda: False,
        starting: Callable[[], bool] = lambda: False,
        shortened: Callable[[Result], None] = lambda _whole: None,
    ) -> None:
        """``shortened`` hears of results that are kept without their middle, before they are."""
        super().__init__(clock, events)
        self._link = link
        self._retry = retry
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._bytes = 0
        self._room = Room()
        self._shortened = shortened
        self._unreachable = 0
        self._refused = 0
        """Results found to be refused by themselves since one was taken."""
        self._lone_went_last = False
        self._lone_not_before = clock.monotonic()
        self._portion = Portion()
        self._more_coming = more_coming
        self._not_before = clock.monotonic()
        self._gather_until = self._not_before
        self._looks_soon = False
        """Whether the loop only pauses for results to gather."""
        self._closed = False
        self._turning = asyncio.Lock()
        self._worker = StandingThreads(1, "orth-outbox")
        """Its own: delivery does not wait for whoever else keeps the threads of the event loop."""
        self.verdicts: Counter[Verdict] = Counter()
        """What coordinators have said so far, by result."""
        self.not_taken = 0
        """How often one was refused that came by itself."""
        self._journal = Journal(directory, events)
        self._recorder: Recorder[_Waiting] = Recorder(self._journal, self._recorded, before_recording, starting)
        self._recorder.start()
        for item in self._journal.recover().values():
            now = clock.monotonic()
            waiting = self._waiting[item.log_id] = _Waiting(item, _as_it_is, now, now, ready=True)
            self._room.take(waiting.record)
            self._bytes += len(waiting.record)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, log_id: int) -> bool:
        return log_id in self._waiting

    def holds(self, request: RunRequest) -> bool | None:
        """Whether the result of this execution waits here; ``None`` when another's does, under the same id."""
        waiting = self._waiting.get(request.log_id)
        if waiting is None:
            return False
        return True if is_same(request, waiting.item.log_date_time, waiting.item.job_id) else None

    def delivered(self, request: RunRequest) -> int | None:
        """The code of a result that was lately delivered, by this process or one before it.

        A coordinator that begins with an empty database counts from 1 again: an id with another time, or of another
        job, is another execution.
        """
        code, ended_time, job_id = self._journal.ended.get(request.log_id, (None, 0, 0))
        return code if code is not None and is_same(request, ended_time, job_id) else None

    def ended_before(self, log_id: int) -> int | None:
        """The trigger time of what was lately delivered under this id, whichever execution it was."""
        ended = self._journal.ended.get(log_id)
        return None if ended is None else ended[1]

    def waiting(self) -> list[Result]:
        """The results not yet delivered, oldest first."""
        return [waiting.item for waiting in list(self._waiting.values())]

    @property
    def byte_count(self) -> int:
        """The size of what waits on the disk."""
        return self._bytes

    @property
    def fsyncs(self) -> int:
        """How often the disk was made to keep something."""
        return self._journal.fsyncs

    def oldest_age(self) -> float:
        """For how many seconds the oldest result has been waiting in this process."""
        oldest = next(iter(list(self._waiting.values())), None)
        return self.clock.monotonic() - oldest.since if oldest else 0.0

    @property
    def refusal(self) -> Declined | None:
        """Why no new work should be taken; ``None`` while all is well."""
        if self._journal.broken:
            return Declined(Unavailability.CANNOT_RECORD, "results cannot be made durable here at the moment")
        told = f"{len(self._waiting)} results wait for a coordinator, and"
        if len(self._waiting) >= COUNT_LIMIT:
            return Declined(Unavailability.FULL, f"{told} there is no room for more")
        if self._room.is_scarce:
            return Declined(Unavailability.FULL, f"{told} the long ones among them leave no room for more")
        return None

    def add(self, item: Result) -> None:
        """Take a result and have it recorded: as it is, or without its middle if there is no room for that. If the disk
        fails it is kept in memory and sent from there.

        Job threads call this, all of them: it takes no lock that they would have to queue for.
        """
        if self._closed:
            return
        now = self.clock.monotonic()
        waiting = self._waiting[item.log_id] = _Waiting(item, self._kept, now, now)
        self._recorder.give(waiting)

    def _kept(self, item: Result) -> tuple[Result, bytes]:
        kept, record = self._room.find(item)
        if kept is not item:
            self._shortened(item)
            self.events.emit(ResultShortened(item.log_id))
        return kept, record

    def join_recorded(self) -> None:
        """Wait until every result taken so far is on the disk, or is known not to get there."""
        self._recorder.join()

    def close(self) -> None:
        """Let go of the files. What still waits is found there at the next start."""
        self._closed = True
        self._worker.shutdown(wait=False)
        self._recorder.close()
        self._journal.close()

    async def turn(self) -> float:
        async with self._turning:
            if self._closed:
                return self._retry
            self._looks_soon = False
            gathering = self._gathering()
            if gathering > 0 and not self._journal.broken:
                self._looks_soon = True
                return gathering
            return await asyncio.get_running_loop().run_in_executor(self._worker, self._work)

    async def flush(self, seconds: float) -> None:
        """Deliver now what a coordinator will take: one try at least, more for at most ``seconds``."""
        self._not_before = now = self.clock.monotonic()
        deadline = now + seconds
        self._unreachable = self._refused = 0
        for waiting in list(self._waiting.values()):
            waiting.not_before = now
        while self._waiting:
            pause = await self.turn()
            left = deadline - self.clock.monotonic()
            if not self._waiting or left <= 0:
                return
            await self.clock.sleep_unless(asyncio.Event(), min(pause, left))

    def _work(self) -> float:
        """Mend the journal if it is broken and send what is due, in a thread: both wait for others."""
        self._check_files()
        if self._journal.broken:
            self._recover()
        pause = self._deliver()
        return min(pause, _BROKEN_PAUSE) if self._journal.broken else pause

    def _deliver(self) -> float:
        """Send one batch, if one is due; return the pause until there is something to do."""
        now = self.clock.monotonic()
        if now < self._not_before:
            return self._not_before - now
        batch = self._next_batch(now)
        if not batch:
            self._recorder.join()
            batch = self._next_batch(now)
        if not batch:
            return self._pause_until_due(now)
        self._lone_went_last = batch[0].alone
        try:
            verdicts = self._link.call_back([waiting.item for waiting in batch])
        except (NotTaken, NotKnownThere) as refusal:
            return self._after_refusal(batch, str(refusal))
        except Unanswered as silence:
            return self._after_silence(batch, str(silence))
        except OrthError as error:
            return self._put_off(str(error))
        self._unreachable = self._refused = 0
        self._portion.taken()
        self._settle(batch, verdicts)
        self._gather_until = self.clock.monotonic() + GATHER * min(max(1.0, len(batch) / 2), _LONGER)
        return 0.0

    def _gathering(self) -> float:
        """Seconds for which what waits should be left to become more."""
        if len(self._waiting) >= BATCH_COUNT or not self._more_coming():
            return 0.0
        return self._gather_until - self.clock.monotonic()

    def _recorded(self, batch: list[_Waiting], failure: OSError | None) -> None:
        if failure is not None:
            self.events.emit(OutboxUnwritable(str(failure)))
        with self._lock:
            self._bytes += sum([len(waiting.record) for waiting in batch])
        for waiting in batch:
            waiting.ready = True
        if self._looks_soon and self._gathering() > 0 and not self._journal.broken:
            return
        with suppress(RuntimeError):  # the event loop has ended before us; the record is there all the same
            self.wake()

    def _next_batch(self, now: float) -> list[_Waiting]:
        """What is due; of those that travel alone one, in turn with the others, so that neither waits for the other."""
        batch: list[_Waiting] = []
        alone: _Waiting | None = None
        size = 0
        for waiting in list(self._waiting.values()):
            if not waiting.ready or self._due(waiting) > now:
                continue
            if waiting.alone:
                alone = alone or waiting
                continue
            size += len(waiting.record)
            if len(batch) == self._portion.most or (batch and size > BATCH_BYTES):
                break
            batch.append(waiting)
        return [alone] if alone is not None and not (batch and self._lone_went_last) else batch

    def _pause_until_due(self, now: float) -> float:
        ready = (waiting for waiting in list(self._waiting.values()) if waiting.ready)
        return min((self._due(waiting) - now for waiting in ready), default=self._retry)

    def _due(self, waiting: _Waiting) -> float:
        return max(waiting.not_before, self._lone_not_before) if waiting.alone else waiting.not_before

    def _after_refusal(self, batch: list[_Waiting], error: str) -> float:
        """A coordinator has answered, and will not have this batch; the pause until there is something to do."""
        if len(batch) > 1:
            self._portion.cut(len(batch))
            return 0.0
        [refused] = batch
        if refused.alone:
            self._lone_not_before = self.clock.monotonic() + _LONE_PAUSE
        else:
            self._refused += 1
        pause = self._set_apart(refused)
        self.not_taken += 1
        self.events.emit(ResultNotTaken(refused.item.log_id, error, pause))
        return 0.0 if self._refused < _REFUSED_IN_A_ROW else self._put_off(error)

    def _after_silence(self, batch: list[_Waiting], error: str) -> float:
        """A coordinator is there, and has not answered for this batch."""
        if len(batch) > 1:
            self._portion.cut(len(batch), slow=True)
        else:
            self._set_apart(batch[0])
        return self._put_off(error)

    def _set_apart(self, waiting: _Waiting) -> float:
        """Let it travel alone from now on; the pause before it does."""
        waiting.alone = True
        pause = self._growing_pause(waiting.tries)
        waiting.tries += 1
        waiting.not_before = self.clock.monotonic() + pause
        return pause

    def _put_off(self, error: str) -> float:
        pause = self._growing_pause(self._unreachable)
        self._unreachable += 1
        self._not_before = self.clock.monotonic() + pause
        self.events.emit(CallbacksFailed(len(self), error, pause))
        return pause

    def _growing_pause(self, failures: int) -> float:
        return min(self._retry, _FIRST_PAUSE * 2.0 ** min(failures, 16))

    def _settle(self, batch: list[_Waiting], verdicts: Iterable[CallbackVerdict]) -> None:
        """Remove what was answered for. Without an answer of its own, an item is kept."""
        answers = {answer.log_id: answer.verdict for answer in verdicts}
        now = self.clock.monotonic()
        settled = []
        for waiting in batch:
            verdict = answers.get(waiting.item.log_id, Verdict.RETRY)
            self.verdicts[verdict] += 1
            if verdict is Verdict.RETRY:
                waiting.not_before = now + self._growing_pause(waiting.tries)
                waiting.tries += 1
                continue
            settled.append(waiting)
            if verdict in (Verdict.UNKNOWN, Verdict.MALFORMED):
                self.events.emit(ResultDisowned(waiting.item.log_id, verdict))
        self._remove(settled)
        self.events.emit(CallbacksDelivered(len(settled), len(batch) - len(settled), len(self)))

    def _remove(self, settled: list[_Waiting]) -> None:
        if not settled:
            return
        self._journal.remember([waiting.item for waiting in settled])  # first: it is known at every moment
        for waiting in settled:
            del self._waiting[waiting.item.log_id]
            self._room.give_back(waiting.record)
        with self._lock:
            self._bytes -= sum([len(waiting.record) for waiting in settled])
        try:
            self._journal.append(done_record(waiting.item.log_id for waiting in settled), force=False)
            if self._journal.size > max(SEGMENT_LIMIT, 2 * self._bytes):
                self._journal.rewrite(self._records)
        except OSError as error:
            self.events.emit(OutboxUnwritable(str(error)))

    def _check_files(self) -> None:
        """Notice that somebody has removed the files of the journal, also while no result comes."""
        try:
            self._journal.check_files()
        except OSError as error:
            self.events.emit(OutboxUnwritable(str(error)))

    def _recover(self) -> None:
        """Write everything that waits to a new segment: one that failed once is not trusted again."""
        try:
            self._journal.rewrite(self._records)
        except OSError as error:
            self.events.emit(OutboxUnwritable(str(error)))
        else:
            self.events.emit(OutboxRecovered(len(self)))

    def _records(self) -> list[bytes]:
        return [waiting.record for waiting in list(self._waiting.values())]


def _as_it_is(item: Result) -> tuple[Result, bytes]:
    return item, put_record(item)
