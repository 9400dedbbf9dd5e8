"""All job threads of an executor: what they hold, and what they lately held.

One lock guards everything that is decided about jobs and triggers, so accepting a trigger and retiring a thread cannot
pass each other unseen.

Every accepted trigger ends in exactly one result. ``settle`` is the only way to end one, and the first to come wins:
the thread that carried it out, the one that ended it, or the drain that could not wait for it any longer.
"""

import threading
from collections.abc import Callable

from orth.clock import SystemClock
from orth.domain.jobs import BlockStrategy
from orth.events import Events
from orth.executor.facts import ExecutionFinished
from orth.executor.handlers import Handler
from orth.executor.job_thread import JobThread
from orth.executor.running import Accepted, Tools
from orth.loop import Loop
from orth.wire.messages import CallbackItem, RunRequest

REMEMBERED = 100_000
"""Ended executions kept in mind, so that a repeated request for one of them is not run again."""

_DESTROY_GRACE = 5.0
_SHORTEST_PAUSE = 0.01

Report = Callable[[CallbackItem], None]


class JobThreads:
    """The jobs of one executor."""

    def __init__(self, tools: Tools, report: Report) -> None:
        self.tools = tools
        self.lock = threading.RLock()
        """Hold it to decide and act in one step."""
        self._report = report
        self._changed = threading.Condition(self.lock)
        self._threads: dict[int, JobThread] = {}
        self._open: dict[int, Accepted] = {}
        self._ended: dict[int, int] = {}

    # --- what is known

    def load_of(self, job_id: int) -> int:
        """Triggers of this job that run or wait, and places kept by what could not be ended."""
        with self.lock:
            thread = self._threads.get(job_id)
            return thread.load if thread else 0

    def replaces(self, job_id: int, handler: Handler) -> bool:
        """Whether the job has another handler so far."""
        with self.lock:
            thread = self._threads.get(job_id)
            return thread is not None and thread.handler is not handler

    def left_behind(self, job_id: int) -> list[int]:
        """Executions of this job that could not be ended and are still inside."""
        with self.lock:
            thread = self._threads.get(job_id)
            return [accepted.request.log_id for accepted in thread.left_behind] if thread else []

    def count(self) -> int:
        """Triggers that run or wait, of all jobs."""
        with self.lock:
            return len(self._open)

    def open_ids(self) -> list[int]:
        """The executions that run or wait, oldest first."""
        with self.lock:
            return list(self._open)

    def thread_count(self) -> int:
        """Jobs that have a thread."""
        with self.lock:
            return len(self._threads)

    def is_open(self, log_id: int) -> bool:
        """Whether its log may grow: it waits, runs, or is being ended."""
        with self.lock:
            return log_id in self._open or log_id in self.tools.contexts

    def standing(self, log_id: int) -> str | None:
        """What is known here of an execution, in words; ``None`` when nothing is."""
        with self.lock:
            accepted = self._open.get(log_id)
            if accepted is None:
                code = self._ended.get(log_id)
                return None if code is None else f"ended with {code}"
            thread = self._threads.get(accepted.request.job_id)
            return "running" if thread and accepted in thread.running else "queued"

    # --- what is decided

    def accept(self, request: RunRequest, handler: Handler) -> None:
        """Queue a trigger, on a new thread if its job has none; what it replaces or covers is ended.

        ``Unavailable`` when there is no thread for it; then nothing has happened.
        """
        accepted = Accepted(request, handler)
        with self.lock:
            thread = self._threads.get(request.job_id)
            if thread is None:
                thread = JobThread(request.job_id, handler, self)
                thread.put(accepted)
                self._threads[request.job_id] = thread
            else:
                self._make_way(thread, accepted)
                thread.put(accepted)
            self._open[request.log_id] = accepted

    def _make_way(self, thread: JobThread, accepted: Accepted) -> None:
        request = accepted.request
        if thread.handler is not accepted.handler:
            thread.end_all(f"execution {request.log_id} brought another handler or version for this job")
        elif request.executor_block_strategy is BlockStrategy.COVER_EARLY:
            thread.end_all(f"execution {request.log_id} covers it, as the block strategy COVER_EARLY says")

    def kill(self, job_id: int, log_id: int | None = None) -> tuple[int, int]:
        """Begin to end what runs of a job, or one execution of it, and report what waits; how many of each."""
        why = "it was killed on request"
        with self.lock:
            thread = self._threads.get(job_id)
            if thread is None:
                return 0, 0
            if log_id is None:
                return thread.end_all(why)
            accepted = self._open.get(log_id)
            if accepted is None or accepted.request.job_id != job_id:
                return 0, 0
            if accepted in thread.running:
                return int(thread.end(accepted, why)), 0
            if accepted in thread.queue:
                thread.remove(accepted, why)
                return 0, 1
            return 0, 0

    # --- how a trigger ends

    def settle(self, accepted: Accepted, item: CallbackItem) -> bool:
        """End a trigger with its result. The first result counts; of a later one nothing remains but the answer no."""
        with self.lock:
            if accepted.settled:
                return False
            accepted.settled = True
        self._report(item)
        took = 0.0 if item.start_time is None else (self.tools.clock.now() - item.start_time) / 1000
        job_id = accepted.request.job_id
        self.tools.events.emit(ExecutionFinished(item.log_id, job_id, item.handle_code, took))
        with self.lock:
            del self._open[item.log_id]
            self._ended[item.log_id] = item.handle_code
            if len(self._ended) > REMEMBERED:
                del self._ended[next(iter(self._ended))]
            self._changed.notify_all()
        return True

    def changed(self) -> None:
        """Something ended. Under the lock."""
        self._changed.notify_all()

    # --- how threads end

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
        """Wait until nothing runs or waits, every result being in the outbox; false when it took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)

    def drain(self, seconds: float) -> int:
        """End everything: what waits at once, what runs when it is done or after ``seconds``. How many were cut short.

        The caller has seen to it that nothing is accepted any more.
        """
        with self.lock:
            for thread in self._threads.values():
                thread.clear_queue("the executor stopped")
        self.join_idle(seconds)
        threads = self._retire_all()
        cut_short = self._cut_short(f"the executor stopped and waited {seconds:.0f} s for it")
        with self._changed:
            self._changed.wait_for(
                lambda: not any(thread.running for thread in threads), self.tools.kill_grace + _DESTROY_GRACE
            )
        self.join_idle(_DESTROY_GRACE)  # those that ended just now may still be writing their result
        until = SystemClock().monotonic() + _DESTROY_GRACE  # of all together: many that hang cost no more than one
        for thread in threads:
            thread.join(until)
        return cut_short

    def let_go(self) -> None:
        """Forget what waits and let every thread end, with no result for anything; as the end of the process would."""
        with self.lock:
            for thread in self._threads.values():
                thread.queue.clear()
        self._retire_all()

    def _cut_short(self, why: str) -> int:
        with self.lock:
            running = [(thread, accepted) for thread in self._threads.values() for accepted in thread.running]
            return sum([thread.cut_short(accepted, why) for thread, accepted in running])

    def _retire_all(self) -> list[JobThread]:
        with self.lock:
            threads = list(self._threads.values())
            for thread in threads:
                thread.retire()
            return threads


class IdleThreads(Loop):
    """Retires job threads that have had nothing to do for a while."""

    def __init__(self, threads: JobThreads, after: float, events: Events) -> None:
        super().__init__(threads.tools.clock, events)
        self._threads = threads
        self._after = after

    async def turn(self) -> float:
        pause = self._threads.retire_idle(self._after)
        return self._after if pause is None else max(pause, _SHORTEST_PAUSE)
