"""[8b] Results waiting to be delivered.

A result is on the disk before it is sent (``recorder``, ``journal``), and is removed only when a coordinator has
answered for it by name. In between it survives a killed process, a restart and a coordinator that is away for a week;
delivering it twice is harmless, losing it is not. ``retry`` is the only answer that keeps a result. ``unknown`` and
``malformed`` end it too, for sending it again could never help, but are told as events.

Sending is the loop's work and happens in batches; a new result wakes it. While more is on its way (``more_coming``)
there are ``GATHER`` seconds between two batches, and up to five times as long where many come: then a request carries
what came meanwhile instead of one result each, which spares both ends. A full one, the last result, or a lone one
leaves at once. When no coordinator
answers, the pauses grow from half a second to the ``callback_retry`` setting, and new results wait like the others.

The outbox has a cap. It never drops a result to stay below it: admission stops taking work instead, as it does while
the disk refuses to be written.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events
from orth.executor.facts import CallbacksDelivered, CallbacksFailed, OutboxRecovered, OutboxUnwritable, ResultDisowned
from orth.executor.journal import Journal, done_record, is_same, put_record
from orth.executor.recorder import Recorder
from orth.loop import Loop
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict

COUNT_LIMIT = 10_000
BYTE_LIMIT = 64 * 1024 * 1024
BATCH_COUNT = 500
BATCH_BYTES = 768 * 1024
GATHER = 0.02
_LONGER = 5.0
SEGMENT_LIMIT = 4 * 1024 * 1024
_FIRST_PAUSE = 0.5
_BROKEN_PAUSE = 5.0


@dataclass(slots=True, eq=False)
class _Waiting:
    item: CallbackItem
    since: float
    not_before: float
    ready: bool = False
    """False until its record is on the disk."""
    tries: int = 0
    _record: bytes | None = None

    @property
    def record(self) -> bytes:
        """Made by whoever writes it: the thread of a job has its next trigger to see to."""
        if self._record is None:
            self._record = put_record(self.item)
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
    ) -> None:
        super().__init__(clock, events)
        self._link = link
        self._retry = retry
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._bytes = 0
        self._unreachable = 0
        self._more_coming = more_coming
        self._not_before = clock.monotonic()
        self._gather_until = self._not_before
        self._looks_soon = False
        """Whether the loop only pauses for results to gather."""
        self._closed = False
        self._turning = asyncio.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="orth-outbox")
        """Its own: delivery does not wait for whoever else keeps the threads of the event loop."""
        self.verdicts: Counter[Verdict] = Counter()
        """What coordinators have said so far, by result."""
        self._journal = Journal(directory, events)
        self._recorder: Recorder[_Waiting] = Recorder(self._journal, self._recorded, before_recording, starting)
        for item in self._journal.recover().values():
            now = clock.monotonic()
            waiting = self._waiting[item.log_id] = _Waiting(item, now, now, ready=True)
            self._bytes += len(waiting.record)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, log_id: int) -> bool:
        return log_id in self._waiting

    def holds(self, log_id: int, log_time: int) -> bool | None:
        """Whether the result of this execution waits here; ``None`` when another's does, under the same id."""
        waiting = self._waiting.get(log_id)
        if waiting is None:
            return False
        return True if is_same(waiting.item.log_date_time, log_time) else None

    def delivered(self, log_id: int, log_time: int) -> int | None:
        """The code of a result that was lately delivered, by this process or one before it.

        A coordinator that begins with an empty database counts from 1 again: an id with another time is another
        execution.
        """
        code, ended_time = self._journal.ended.get(log_id, (None, 0))
        return code if code is not None and is_same(ended_time, log_time) else None

    def waiting(self) -> list[CallbackItem]:
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
    def refusal(self) -> str | None:
        """Why no new work should be taken; ``None`` while all is well."""
        if self._journal.broken:
            return "results cannot be made durable here at the moment"
        if len(self._waiting) >= COUNT_LIMIT or self._bytes >= BYTE_LIMIT:
            return f"{len(self._waiting)} results wait for a coordinator, and there is no room for more"
        return None

    def add(self, item: CallbackItem) -> None:
        """Take a result and have it recorded. If the disk fails it is kept in memory and sent from there.

        Job threads call this, all of them: it takes no lock that they would have to queue for.
        """
        if self._closed:
            return
        now = self.clock.monotonic()
        waiting = self._waiting[item.log_id] = _Waiting(item, now, now)
        self._recorder.give(waiting)

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
        deadline = self.clock.monotonic() + seconds
        self._not_before = self.clock.monotonic()
        self._unreachable = 0
        while self._waiting:
            pause = await self.turn()
            left = deadline - self.clock.monotonic()
            if not self._waiting or left <= 0:
                return
            await self.clock.sleep_unless(asyncio.Event(), min(pause, left))

    def _work(self) -> float:
        """Mend the journal if it is broken and send what is due, in a thread: both wait for others."""
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
        try:
            verdicts = self._link.call_back([waiting.item for waiting in batch])
        except OrthError as error:
            return self._put_off(str(error))
        self._unreachable = 0
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
        if self._looks_soon and self._gathering() > 0:
            return
        with suppress(RuntimeError):  # the event loop has ended before us; the record is there all the same
            self.wake()

    def _next_batch(self, now: float) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        for waiting in list(self._waiting.values()):
            if not waiting.ready or waiting.not_before > now:
                continue
            size += len(waiting.record)
            if len(batch) == BATCH_COUNT or (batch and size > BATCH_BYTES):
                break
            batch.append(waiting)
        return batch

    def _pause_until_due(self, now: float) -> float:
        ready = (waiting for waiting in list(self._waiting.values()) if waiting.ready)
        return min((waiting.not_before - now for waiting in ready), default=self._retry)

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
        with self._lock:
            self._bytes -= sum([len(waiting.record) for waiting in settled])
        try:
            self._journal.append(done_record(waiting.item.log_id for waiting in settled), force=False)
            if self._journal.size > max(SEGMENT_LIMIT, 2 * self._bytes):
                self._journal.rewrite(self._records)
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
