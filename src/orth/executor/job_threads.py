"""All job threads of an executor: what they hold, and what they lately held.

One lock is held by whoever decides about jobs and triggers, so accepting a trigger and retiring a thread cannot
pass each other unseen.

Every accepted trigger ends in exactly one result. ``settle`` is the only way to end one, and the first to come wins:
the thread that carried it out, the one that ended it, or the drain that could not wait for it any longer.
"""

import itertools
import threading
from collections.abc import Callable, Collection

from orth.clock import SystemClock
from orth.domain.executions import COVERED_WORDS, FAILURE
from orth.domain.jobs import BlockStrategy
from orth.domain.reasons import ReportedReason
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.context import JobContext, Outcome
from orth.executor.facts import ExecutionFinished
from orth.executor.handlers import Handler
from orth.executor.held import Held
from orth.executor.job_thread import JobThread
from orth.executor.journal import Ended, is_same
from orth.executor.results import Result
from orth.executor.running import Accepted, Tools, conclude
from orth.executor.turnstile import Turnstile
from orth.loop import Loop
from orth.wire.messages import ENDED_WITH, RunRequest

REMEMBERED = 100_000
"""Ended executions kept in mind, so that a repeated request for one of them is not run again."""

_FORGOTTEN = 1000
_HELD_ON_STOP = 5.0
"""Seconds within which a trigger taken ahead must come due to be waited for."""
_DESTROY_GRACE = 5.0
_SHORTEST_PAUSE = 0.01

Report = Callable[[Result], None]


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
        self._ended: dict[int, Ended] = {}
        self._joining = 0
        """Who waits for something to end."""
        self._numbers = itertools.count(1)
        self.turnstile = Turnstile(tools.clock, tools.limits)
        self._held = Held(tools.clock, tools.limits, self._start_due)

    # --- what is known

    def load_of(self, key: int) -> int:
        """Triggers of a job, or tests of it, that run or wait, and places kept by what could not be ended."""
        with self.lock:
            thread = self._threads.get(key)
            return thread.load if thread else 0

    def replaces(self, key: int, handler: Handler) -> bool:
        """Whether the job has another handler so far."""
        with self.lock:
            thread = self._threads.get(key)
            return thread is not None and thread.handler is not handler

    def left_behind(self, job_id: int) -> list[int]:
        """Executions of this job that could not be ended and are still inside."""
        with self.lock:
            thread = self._threads.get(job_id)
            return [accepted.request.log_id for accepted in thread.left_behind] if thread else []

    def count(self) -> int:
        """Triggers that run or wait, of all jobs."""
        return len(self._open)

    @property
    def starting(self) -> bool:
        """Whether triggers that have come due are just being started."""
        return self._held.starting or self.turnstile.crowded

    def open_ids(self) -> list[int]:
        """The executions that run or wait, oldest first; then those that have their result and are being ended."""
        with self.lock:
            return list(dict.fromkeys([*self._open, *self.tools.contexts]))

    def thread_count(self) -> int:
        """Jobs that have a thread."""
        with self.lock:
            return len(self._threads)

    def is_open(self, log_id: int) -> bool:
        """Whether its log may grow: it waits, runs, or is being ended."""
        with self.lock:
            return log_id in self._open or log_id in self.tools.contexts

    def standing(self, request: RunRequest) -> str | None:
        """What is known here of an execution, in words; ``None`` when nothing is.

        A coordinator that begins with an empty database counts from 1 again, and several may send to one executor: an
        id with another trigger time, or of another job, is another execution. If the one that has the id here has
        ended, it is no obstacle. While it waits or runs, the id is its own: whatever is asked or told of an execution,
        kill, log and result, goes by the id alone. That is what ``other_open`` finds.
        """
        with self.lock:
            accepted = self._open.get(request.log_id)
            if accepted is None:
                code, ended_time, job_id = self._ended.get(request.log_id, (None, 0, 0))
                if code is None or not is_same(request, ended_time, job_id):
                    return None
                return (
                    "being ended, its handler has not returned"
                    if self._inside(request.log_id)
                    else f"{ENDED_WITH} {code}"
                )
            if not is_same(request, accepted.request.log_date_time, accepted.request.job_id):
                return None
            thread = self._threads.get(accepted.request.thread_key)
            if thread and accepted in thread.held:
                return "waits for its time"
            return "running" if thread and accepted in thread.running else "queued"

    def _inside(self, log_id: int) -> bool:
        """Whether its handler has not returned, though it may have its result."""
        return log_id in self.tools.contexts or self.tools.abandoned.request_of(log_id) is not None

    def other_open(self, request: RunRequest) -> RunRequest | None:
        """Another execution, triggered at another time or of another job, that waits or runs under this id."""
        with self.lock:
            accepted = self._open.get(request.log_id)
            is_other = accepted is not None and self.standing(request) is None
            return accepted.request if accepted is not None and is_other else None

    # --- what is decided

    def accept(self, request: RunRequest, handler: Handler, due: float | None = None) -> None:
        """Queue a trigger, on a new thread if its job has none; what it replaces or covers is ended. One that is
        ``due`` later, on the monotonic clock, is kept until then and only then has these effects.

        ``Unavailable`` when there is no thread for it; then nothing has happened.
        """
        with self.lock:
            accepted = Accepted(request, handler, next(self._numbers))
            thread = self._threads.get(request.thread_key) or JobThread(request, handler, self)
            self._open[request.log_id] = accepted  # first: its thread may begin, and end it, at once
            try:
                if due is None:
                    self._make_way(thread, accepted)
                    thread.put(accepted)
                else:
                    thread.hold(accepted)
                    self._held.add(accepted, due)
            except Unavailable:
                del self._open[request.log_id]
                raise
            self._threads[request.thread_key] = thread

    def _start_due(self) -> None:
        """Put into the queues what has come due."""
        with self.lock:
            for accepted in self._held.come_due():
                thread = self._threads.get(accepted.request.thread_key)
                if thread is None or accepted not in thread.held:
                    continue
                self._make_way(thread, accepted)
                try:
                    thread.put(accepted)
                except Unavailable as unavailable:
                    thread.remove(accepted, str(unavailable), ReportedReason.EXECUTOR_FAILED)
            self._changed.notify_all()

    def _make_way(self, thread: JobThread, accepted: Accepted) -> None:
        request = accepted.request
        if thread.handler is not accepted.handler and not thread.overtaken(accepted):
            why = f"execution {request.log_id} brought another handler or version for this job"
            thread.end_all(why, ReportedReason.HANDLER_CHANGED)
        elif request.executor_block_strategy is BlockStrategy.COVER_EARLY:
            thread.end_all(f"execution {request.log_id} {COVERED_WORDS}", ReportedReason.COVERED)

    def kill(self, job_id: int, log_id: int | None = None) -> tuple[int, int]:
        """Begin to end what runs of a job, or one execution of it, and report what waits; how many of each."""
        why = "it was killed on request"
        with self.lock:
            if log_id is None:
                return self._kill_all(job_id, why)
            accepted = self._open.get(log_id)
            thread = self._threads.get(accepted.request.thread_key) if accepted else None
            if accepted is None or thread is None or accepted.request.job_id != job_id:
                return 0, 0
            return thread.end_one(accepted, why, ReportedReason.KILLED)

    def _kill_all(self, job_id: int, why: str) -> tuple[int, int]:
        """End the job and its tests."""
        running = queued = 0
        for thread in (self._threads.get(key) for key in (job_id, ~job_id)):
            if thread is not None:
                ending, removed = thread.end_all(why, ReportedReason.KILLED)
                held = thread.clear_held(why, ReportedReason.KILLED)
                running, queued = running + ending, queued + removed + held
        return running, queued

    # --- how a trigger ends

    def settle(self, accepted: Accepted, item: Result) -> bool:
        """End a trigger with its result. The first result counts; of a later one nothing remains but the answer no."""
        if not accepted.settle():
            return False
        self._report(item)
        took = (item.duration_ms or 0) / 1000
        job_id = accepted.request.job_id
        self.tools.events.emit(ExecutionFinished(item.log_id, job_id, item.handle_code, took))
        # All job threads come here, and a lock they shared would be handed from one sleeping thread to the next. Each
        # of these steps is one for Python, and between the two the execution is known twice, never not at all.
        self._ended[item.log_id] = (item.handle_code, item.log_date_time, item.job_id)
        del self._open[item.log_id]
        if len(self._ended) > REMEMBERED + _FORGOTTEN:
            self._forget()
        if self._joining:
            with self.lock:
                self._changed.notify_all()
        return True

    def _forget(self) -> None:
        with self.lock:
            for log_id in list(self._ended)[:-REMEMBERED]:
                del self._ended[log_id]

    def changed(self) -> None:
        """Something ended. Not while a job's lock is held."""
        if self._joining:
            with self.lock:
                self._changed.notify_all()

    # --- how threads end

    def retire_idle(self, after: float) -> float | None:
        """Retire what has been idle for ``after`` seconds; return when the next could be, or ``None`` if none waits."""
        now = self.tools.clock.monotonic()
        with self.lock:
            idle = [thread for thread in self._threads.values() if thread.idle]
            for thread in idle:
                if now - thread.idle_since >= after:
                    del self._threads[thread.key]
                    thread.retire()
            return min((t.idle_since + after - now for t in idle if t.key in self._threads), default=None)

    def join_idle(self, seconds: float, *, held: bool = True) -> bool:
        """Wait until nothing runs or waits, every result being in the outbox; false when it took longer. With ``held``
        false, what came before its time is not waited for.
        """
        return self._await(lambda: len(self._open) <= (0 if held else self._held_count()), seconds)

    def _await(self, condition: Callable[[], bool], seconds: float) -> bool:
        with self._changed:
            self._joining += 1  # before looking: who ends something afterwards will tell
            try:
                return self._changed.wait_for(condition, seconds)
            finally:
                self._joining -= 1

    def _held_count(self) -> int:
        return sum(len(thread.held) for thread in self._threads.values())

    def drain(self, seconds: float, *, finish_queue: bool = False) -> int:
        """End everything: what waits at once, unless ``finish_queue`` has it carried out, what runs, or was taken a
        little ahead of its time, when it is done or after ``seconds``. How many were cut short.

        The caller has seen to it that nothing is accepted any more.
        """
        stopped, too_early = "the executor stopped", "the executor stopped before its time had come"
        reason = ReportedReason.EXECUTOR_STOPPED
        with self.lock:
            for thread in () if finish_queue else self._threads.values():
                thread.clear_queue(stopped, reason)
            for accepted in self._held.due_after(min(seconds, _HELD_ON_STOP)):
                self._threads[accepted.request.thread_key].remove(accepted, too_early, reason)
        self.join_idle(seconds)
        with self.lock:
            for thread in self._threads.values():
                thread.clear_held(too_early, reason)
                thread.clear_queue(stopped, reason)  # what has come due since, or there was no time for
            threads = self._retire_all()
        cut_short = self._cut_short(f"the executor stopped and waited {seconds:.0f} s for it")
        self._await(lambda: not any(thread.running for thread in threads), self.tools.kill_grace + _DESTROY_GRACE)
        self.join_idle(_DESTROY_GRACE)  # those that ended just now may still be writing their result
        until = SystemClock().monotonic() + _DESTROY_GRACE  # of all together: many that hang cost no more than one
        for thread in threads:
            thread.join(until)
        return cut_short

    def give_up(self, why: str) -> list[JobContext]:
        """Report everything as cut short, what runs first, and end nothing; the contexts of what ran.

        Takes no lock: the process ends, and whoever has one may be stuck.
        """
        opened = list(self._open.values())  # one step for Python
        opened.sort(key=lambda accepted: accepted.started is None)
        cut_short = []
        for accepted in opened:
            begun, log_id = accepted.started is not None, accepted.request.log_id
            told = f"{'Cut short' if begun else 'Not executed'}: {why}."
            outcome = Outcome(FAILURE, told, reason=ReportedReason.EXECUTOR_STOPPED)
            if accepted.settle():
                spent = accepted.spent(self.tools.clock)
                self._report(conclude(accepted.request, outcome, spent, self.tools.incarnation))
                cut_short += [context] if (context := self.tools.contexts.get(log_id)) else []
        return cut_short

    def withdraw(self, log_ids: Collection[int]) -> list[int]:
        """Forget those of these executions that have not begun: no result follows, and they are not known any more."""
        withdrawn: list[int] = []
        with self.lock:
            for log_id in log_ids:
                accepted = self._open.get(log_id)
                thread = self._threads.get(accepted.request.thread_key) if accepted else None
                if accepted and thread and thread.withdraw(accepted) and accepted.settle():
                    del self._open[log_id]
                    withdrawn.append(log_id)
            self._changed.notify_all()
        return withdrawn

    def let_go(self) -> None:
        """Forget what waits and let every thread end, with no result for anything; as the end of the process would."""
        with self.lock:
            self._held.clear()
            for thread in self._threads.values():
                thread.let_go()
        self._retire_all()

    def _cut_short(self, why: str) -> int:
        with self.lock:
            return sum([thread.cut_all_short(why) for thread in self._threads.values()])

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
