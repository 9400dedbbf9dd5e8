"""[7] One thread per active job: its queue, its turn, its retirement.

A job's thread is made by its first trigger, waits on a condition (nothing polls) and is retired once it has been idle
long enough. One lock guards everything that is decided about threads and triggers, so accepting a trigger and retiring
a thread cannot pass each other unseen.

Every accepted trigger ends in exactly one result. ``JobThreads.settle`` is the only way to end one, and the first to
come wins: the thread that carried it out, or the drain that could not wait for it any longer.
"""

import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from orth.domain.executions import FAILURE
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.context import Outcome
from orth.executor.facts import DestroyFailed, ExecutionFinished
from orth.executor.handlers import Handler
from orth.executor.performers import Performer
from orth.executor.running import Tools, carry_out, conclude
from orth.loop import Loop
from orth.wire.messages import CallbackItem, RunRequest

REMEMBERED = 100_000
"""Ended executions kept in mind, so that a repeated request for one of them is not run again."""

_DESTROY_GRACE = 5.0
_SHORTEST_PAUSE = 0.01

Report = Callable[[CallbackItem], None]


@dataclass(slots=True, eq=False)
class Accepted:
    """A trigger this executor has said yes to."""

    request: RunRequest
    handler: Handler
    settled: bool = False


class JobThread:
    """The thread of one job. Its fields are guarded by the lock of ``JobThreads``."""

    def __init__(self, job_id: int, handler: Handler, all_threads: "JobThreads") -> None:
        self.job_id = job_id
        self.queue: deque[Accepted] = deque()
        self.running: Accepted | None = None
        self.idle_since = all_threads.tools.clock.monotonic()
        self._all = all_threads
        self._retired = False
        self._woken = threading.Condition(all_threads.lock)
        self._performer: tuple[Handler, Performer] | None = None
        self._thread = threading.Thread(target=self._run, name=f"orth-job-{job_id}-{handler.name}", daemon=True)

    @property
    def load(self) -> int:
        """Triggers that run or wait here."""
        return len(self.queue) + (self.running is not None)

    def start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError as error:
            raise Unavailable(f"no thread can be started for job {self.job_id}: {error}") from None

    def put(self, accepted: Accepted) -> None:
        self.queue.append(accepted)
        self._woken.notify()

    def retire(self) -> None:
        """Let the thread end when it has nothing left; whoever calls this has made sure that no trigger follows."""
        self._retired = True
        self._woken.notify()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        while (accepted := self._next()) is not None:
            self._all.settle(accepted, self._carry_out(accepted))
        self._close_performer()

    def _next(self) -> Accepted | None:
        with self._woken:
            while not self.queue:
                if self._retired:
                    return None
                self._woken.wait()
            self.running = self.queue.popleft()
            return self.running

    def _carry_out(self, accepted: Accepted) -> CallbackItem:
        tools = self._all.tools
        try:
            performer = self._performer_of(accepted.handler)
            return carry_out(accepted.request, accepted.handler, performer, tools)
        except BaseException as bug:
            # Nothing of the handler's arrives here. Even so the trigger must end, and so must not this thread.
            told = "".join(traceback.format_exception(bug))
            outcome = Outcome(FAILURE, f"The executor failed to carry it out: {bug!r}\n{told}")
            return conclude(accepted.request, outcome, None, tools.incarnation)

    def _performer_of(self, handler: Handler) -> Performer:
        """The performer kept from the last execution, unless the job was given another handler since."""
        if self._performer is None or self._performer[0] is not handler:
            self._close_performer()
            self._performer = (handler, handler.performer())
        return self._performer[1]

    def _close_performer(self) -> None:
        if self._performer is None:
            return
        handler, performer = self._performer
        self._performer = None
        try:
            performer.close()
        except BaseException as error:  # the handler's own code: whatever it raises, the thread goes on
            self._all.tools.events.emit(DestroyFailed(handler.name, repr(error)))


class JobThreads:
    """All job threads, what they hold, and what they lately held."""

    def __init__(self, tools: Tools, report: Report) -> None:
        self.tools = tools
        self.lock = threading.RLock()
        """Hold it to decide and act in one step."""
        self._report = report
        self._changed = threading.Condition(self.lock)
        self._threads: dict[int, JobThread] = {}
        self._open: dict[int, Accepted] = {}
        self._ended: dict[int, int] = {}

    def load_of(self, job_id: int) -> int:
        """Triggers of this job that run or wait."""
        with self.lock:
            thread = self._threads.get(job_id)
            return thread.load if thread else 0

    def count(self) -> int:
        """Triggers that run or wait, of all jobs."""
        with self.lock:
            return len(self._open)

    def thread_count(self) -> int:
        with self.lock:
            return len(self._threads)

    def is_open(self, log_id: int) -> bool:
        with self.lock:
            return log_id in self._open

    def standing(self, log_id: int) -> str | None:
        """What is known here of an execution, in words; ``None`` when nothing is."""
        with self.lock:
            accepted = self._open.get(log_id)
            if accepted is not None:
                thread = self._threads.get(accepted.request.job_id)
                return "running" if thread and thread.running is accepted else "queued"
            code = self._ended.get(log_id)
            return None if code is None else f"ended with {code}"

    def accept(self, request: RunRequest, handler: Handler) -> None:
        """Queue a trigger, on a new thread if its job has none."""
        with self.lock:
            thread = self._threads.get(request.job_id)
            if thread is None:
                thread = JobThread(request.job_id, handler, self)
                thread.start()
                self._threads[request.job_id] = thread
            accepted = Accepted(request, handler)
            self._open[request.log_id] = accepted
            thread.put(accepted)

    def settle(self, accepted: Accepted, item: CallbackItem) -> bool:
        """End a trigger with its result. The first result counts; of a later one nothing remains but the answer no."""
        with self.lock:
            if accepted.settled:
                return False
            accepted.settled = True
        self._report(item)  # outside the lock: it waits for the disk
        took = 0 if item.start_time is None else self.tools.clock.now() - item.start_time
        job_id = accepted.request.job_id
        self.tools.events.emit(ExecutionFinished(item.log_id, job_id, item.handle_code, took / 1000))
        with self.lock:
            self._forget(accepted, item.handle_code)
            self._changed.notify_all()
        return True

    def _forget(self, accepted: Accepted, code: int) -> None:
        log_id = accepted.request.log_id
        del self._open[log_id]
        self._ended[log_id] = code
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
        thread = self._threads.get(accepted.request.job_id)
        if thread is not None and thread.running is accepted:
            thread.running = None
            thread.idle_since = self.tools.clock.monotonic()

    def retire_idle(self, after: float) -> float | None:
        """Retire what has been idle for ``after`` seconds; return when the next could be, or ``None`` if none waits."""
        now = self.tools.clock.monotonic()
        with self.lock:
            idle = [thread for thread in self._threads.values() if not thread.load]
            for thread in idle:
                if now - thread.idle_since >= after:
                    del self._threads[thread.job_id]
                    thread.retire()
            return min((t.idle_since + after - now for t in idle if t.job_id in self._threads), default=None)

    def join_idle(self, seconds: float) -> bool:
        """Wait until nothing runs or waits; false when it took longer than ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)

    def drain(self, seconds: float) -> int:
        """End everything: what waits at once, what runs when it is done or after ``seconds``. How many were cut short.

        The caller has seen to it that nothing is accepted any more.
        """
        for accepted in self._clear_queues():
            self._settle_undone(accepted, "Not executed: the executor stopped.")
        self.join_idle(seconds)
        idle = self._retire_all()
        cut_short = self._cut_short(f"Cut short: the executor stopped and waited {seconds:.0f} s for it.")
        self.join_idle(_DESTROY_GRACE)  # those that ended just now may still be writing their result
        for thread in idle:
            thread.join(_DESTROY_GRACE)
        return cut_short

    def let_go(self) -> None:
        """Forget what waits and let every thread end, with no result for anything; as the end of the process would."""
        self._clear_queues()
        self._retire_all()

    def _clear_queues(self) -> list[Accepted]:
        with self.lock:
            waiting = [accepted for thread in self._threads.values() for accepted in thread.queue]
            for thread in self._threads.values():
                thread.queue.clear()
            return waiting

    def _cut_short(self, why: str) -> int:
        """End what still runs, as far as its result goes; the handlers themselves cannot be ended."""
        with self.lock:
            unfinished = list(self._open.values())
        settled = 0
        for accepted in unfinished:
            context = self.tools.contexts.get(accepted.request.log_id)
            if context is not None:
                context.cancel()
                context.log("--- {}", why)
            settled += self._settle_undone(accepted, why)
        return settled

    def _settle_undone(self, accepted: Accepted, why: str) -> bool:
        return self.settle(accepted, conclude(accepted.request, Outcome(FAILURE, why), None, self.tools.incarnation))

    def _retire_all(self) -> list[JobThread]:
        """Let every thread end; return the idle ones, whose handlers' ``destroy`` is worth waiting for."""
        with self.lock:
            threads = list(self._threads.values())
            for thread in threads:
                thread.retire()
            return [thread for thread in threads if not thread.load]


class IdleThreads(Loop):
    """Retires job threads that have had nothing to do for a while."""

    def __init__(self, threads: JobThreads, after: float, events: Events) -> None:
        super().__init__(threads.tools.clock, events)
        self._threads = threads
        self._after = after

    async def turn(self) -> float:
        pause = self._threads.retire_idle(self._after)
        return self._after if pause is None else max(pause, _SHORTEST_PAUSE)
