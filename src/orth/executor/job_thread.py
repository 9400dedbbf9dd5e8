"""[7] One job's queue and the threads that work it off.

A job has one thread, made by its first trigger; with the strategy CONCURRENT it gets more while there is work for them,
up to its concurrency. They wait on a condition (nothing polls), wake when they are let in (``turnstile``), take
triggers in the order of arrival, and share one performer, so a handler's ``init`` and ``destroy`` happen once, however
many threads execute, and in one thread: the one that has called ``init`` stays until the others are gone. A change of
the concurrency applies to what starts later: nothing is killed for it, and surplus threads leave when they are done.

An execution that is ended climbs down the ladder of ``ending`` in a thread of its own, so whoever asked need not wait.
One that could not be ended keeps its place: the job's next execution waits until it is gone. If the job must not
overlap on any executors (``overlap`` is ``cluster``), it waits however long that takes. If each executor decides for
itself, the wait is bounded by ``abandoned_hold``, and COVER_EARLY, which wants the newest at any price, does not wait
at all; then the overlap is written into both logs. A job is not idle while such a one is inside: forgotten with its
thread, it would overlap with the next in secret after all.

All that is here is guarded by the job's own lock: under load job threads take it for every execution, and one lock for
all jobs would be handed from one sleeping thread to the next. Methods that say "under the lock" expect it to be held.
What is decided from outside also holds the lock of ``JobThreads``, which is always taken first; so nothing that takes
that one is called while the job's is held, unless the caller has both.
"""

import itertools
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol

from orth.clock import SystemClock
from orth.domain.executions import FAILURE, TIMED_OUT
from orth.domain.jobs import BlockStrategy, Overlap
from orth.domain.reasons import ReportedReason
from orth.errors import Unavailable
from orth.executor.context import JobContext, Outcome
from orth.executor.ending import climb
from orth.executor.facts import AbandonedReturned, ExecutionAbandoned, ThreadMissing
from orth.executor.handlers import Handler
from orth.executor.performers import Performer
from orth.executor.results import Result
from orth.executor.running import Accepted, Tools, append_line, carry_out, conclude
from orth.executor.stage import Stage
from orth.executor.turnstile import Turnstile
from orth.wire.messages import RunRequest

_NOTABLY_LATE = 3.0
"""Seconds after which it is worth saying that a time limit came late."""
_AGAIN = 1.0


def concurrency_of(request: RunRequest) -> int:
    """How many executions of the job may run at once; one, unless its strategy is CONCURRENT."""
    return request.executor_concurrency if request.executor_block_strategy is BlockStrategy.CONCURRENT else 1


def is_exclusive(request: RunRequest) -> bool:
    """Whether nothing of the job may run beside what could not be ended."""
    return request.overlap is Overlap.CLUSTER and request.executor_block_strategy is not BlockStrategy.CONCURRENT


class House(Protocol):
    """What a job needs of the whole: see ``JobThreads``."""

    tools: Tools
    turnstile: Turnstile

    def settle(self, accepted: Accepted, item: Result) -> bool: ...

    def changed(self) -> None: ...


class JobThread:
    """One job on this executor, or the tests of one."""

    def __init__(self, first: RunRequest, handler: Handler, house: House) -> None:
        self.job_id = first.job_id
        self.key = first.thread_key
        self.handler = handler
        """The handler of its newest trigger."""
        self.concurrency = 1
        self.exclusive = is_exclusive(first)
        """Whether nothing of the job may run beside what could not be ended, as its newest trigger says."""
        self.queue: deque[Accepted] = deque()
        self.held: set[Accepted] = set()
        """Came before their time, and are put into the queue when it has come."""
        self.running: dict[Accepted, threading.Thread] = {}
        self.left_behind: dict[Accepted, bool] = {}
        """Abandoned and still inside; true while it keeps its place."""
        self.idle_since = house.tools.clock.monotonic()
        self._house = house
        self._newest = 0
        self._retired = False
        self.lock = threading.RLock()
        """Guards all that is here; the lock of ``JobThreads``, where both are needed, is taken first."""
        self._woken = threading.Condition(self.lock)
        self._hands = 0
        self._places: deque[int] = deque()
        """Of those who may wake and have not begun yet."""
        self._threads: set[threading.Thread] = set()
        self._last: threading.Thread | None = None
        """The one that was left when all others had gone, and has gone too."""
        self._numbers = itertools.count(1)
        self._stage = Stage(self.job_id, house.tools, self._threads)

    @property
    def load(self) -> int:
        """Triggers that run or wait here, and places kept by what could not be ended."""
        with self.lock:
            return len(self.queue) + len(self.held) + len(self.running) + self._kept_places()

    @property
    def idle(self) -> bool:
        """Whether nothing runs or waits here. What was left behind runs, also when it keeps its place no longer."""
        with self.lock:
            return not (self.queue or self.held or self.running or self.left_behind)

    # --- from outside, under the lock of JobThreads

    def put(self, accepted: Accepted) -> None:
        """Queue a trigger; ``Unavailable`` when there is no thread for it."""
        with self.lock:
            if not self._hands:
                self._hire()
            if not self.overtaken(accepted):
                self._newest = accepted.number
                self.concurrency = concurrency_of(accepted.request)
                self.exclusive = is_exclusive(accepted.request)
                self.handler = accepted.handler
            self.held.discard(accepted)
            self.queue.append(accepted)
            self._call_up()

    def hold(self, accepted: Accepted) -> None:
        """Keep a trigger whose time has not come; ``Unavailable`` when there is no thread for it."""
        with self.lock:
            if not self._hands:
                self._hire()  # now, while there is time
            self.held.add(accepted)

    def overtaken(self, accepted: Accepted) -> bool:
        """Whether one that arrived after it is here already: then that one says what the job is like now."""
        return accepted.number < self._newest

    def end_all(self, why: str, reason: ReportedReason) -> tuple[int, int]:
        """End what runs and report what waits in the queue, because of ``why``; how many of each."""
        with self.lock:
            ending = sum([self.end(accepted, why, reason) for accepted in list(self.running)])
            return ending, self.clear_queue(why, reason)

    def end_one(self, accepted: Accepted, why: str, reason: ReportedReason) -> tuple[int, int]:
        """End one if it runs, report it if it waits; how many of each."""
        with self.lock:
            if accepted in self.running:
                return int(self.end(accepted, why, reason)), 0
            if accepted in self.queue or accepted in self.held:
                self.remove(accepted, why, reason)
                return 0, 1
            return 0, 0

    def cut_all_short(self, why: str) -> int:
        """End what runs and report it at once, because the executor stops; how many."""
        with self.lock:
            return sum([self._cut_short(accepted, why) for accepted in list(self.running)])

    def clear_held(self, why: str, reason: ReportedReason) -> int:
        """Report what came before its time as not executed."""
        held = sorted(self.held, key=lambda accepted: accepted.number)
        for accepted in held:
            self.remove(accepted, why, reason)
        return len(held)

    def clear_queue(self, why: str, reason: ReportedReason) -> int:
        """Report what waits as not executed."""
        with self.lock:
            waiting = list(self.queue)
            self.queue.clear()
        for accepted in waiting:
            self._settle(accepted, _not_executed(why, reason))
        return len(waiting)

    def remove(self, accepted: Accepted, why: str, reason: ReportedReason) -> None:
        """Report one that waits as not executed."""
        self.withdraw(accepted)
        self._settle(accepted, _not_executed(why, reason))

    def withdraw(self, accepted: Accepted) -> bool:
        """Take one that waits out of the queue, to be carried out elsewhere; false when it does not wait."""
        with self.lock:
            if accepted in self.held:
                self.held.discard(accepted)
            elif accepted in self.queue:
                self.queue.remove(accepted)
            else:
                return False
            return True

    def end(self, accepted: Accepted, why: str, reason: ReportedReason) -> bool:
        """Begin to end a running execution, which is then a failure because of ``why``; false if that has begun."""
        return self._end(accepted, Outcome(FAILURE, f"Ended: {why}.", reason=reason), at_once=False)

    def _cut_short(self, accepted: Accepted, why: str) -> bool:
        """As ``end``, but its result is reported before it has ended."""
        outcome = Outcome(FAILURE, f"Cut short: {why}.", reason=ReportedReason.EXECUTOR_STOPPED)
        return self._end(accepted, outcome, at_once=True)

    def retire(self) -> None:
        """Let the threads leave when nothing is left; whoever calls this has made sure that no trigger follows."""
        with self.lock:
            self._retired = True
            self._woken.notify_all()

    def let_go(self) -> None:
        """Forget what waits."""
        with self.lock:
            self.queue.clear()
            self.held.clear()

    # --- not under a lock

    def join(self, until: float) -> None:
        """Wait for the threads to end, no longer than ``until`` on the system's monotonic clock."""
        for thread in list(self._threads):
            thread.join(max(0.0, until - SystemClock().monotonic()))

    # --- the threads

    def _hire(self) -> None:
        self._start(self._work, ())
        self._hands += 1

    def _start(self, work: Callable[..., None], given: tuple[Accepted, ...]) -> threading.Thread:
        number = next(self._numbers)
        name = f"orth-job-{self.job_id}-{self.handler.name}" + (f"-{number}" if number > 1 else "")
        thread = threading.Thread(target=work, args=given, name=name, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:
            self._threads.discard(thread)
            raise Unavailable(f"no thread can be started for job {self.job_id}: {error}") from None
        return thread

    def _call_up(self) -> None:
        """See to it that what may start does. Under the lock."""
        if self._may_start(len(self._places)):
            self._house.turnstile.ask(self)

    def let_in(self, place: int) -> bool:
        """Wake a thread that waits, or start one, if something may start; from the turnstile."""
        with self.lock:
            if not self._may_start(len(self._places)):
                return False
            if self._hands == len(self.running) + len(self._places):  # nobody waits, or is about to
                if self._hands >= self.concurrency:
                    return False
                try:
                    self._hire()
                except Unavailable as unavailable:  # those that are there will see to it, one after the other
                    self._house.tools.events.emit(ThreadMissing(self.job_id, str(unavailable)))
                    return False
            self._places.append(place)
            self._woken.notify()
            return True

    def _may_start(self, promised: int = 0) -> bool:
        """Whether one more may start, besides those who were let in for it."""
        if len(self.queue) <= promised:
            return False
        places = len(self.running) + promised
        covers = self.queue[0].request.executor_block_strategy is BlockStrategy.COVER_EARLY
        if self.left_behind and (self.exclusive or not covers):
            places += self._kept_places()
        return places < self.concurrency

    def _kept_places(self) -> int:
        """How many places are kept by what could not be ended. Under the lock."""
        return len(self.left_behind) if self.exclusive else sum(self.left_behind.values())

    def _work(self, accepted: Accepted | None = None) -> None:
        """Carry out one after the other; the first may have been begun by the thread before."""
        done = None
        accepted = accepted or self._next(done)
        while accepted is not None:
            if self._handed_over(accepted):
                return
            self._house.settle(accepted, self._carry_out(accepted))
            done = accepted
            accepted = self._next(done)
        self._leave()

    def _handed_over(self, accepted: Accepted) -> bool:
        """Whether it has another handler than this thread has served so far. Then a new thread goes on in its stead
        and this one ends with the old handler's ``destroy``, so that what its ``init`` has bound to the thread (a
        connection to SQLite, say) is let go of where it was made.
        """
        with self.lock:
            act = self._stage.given_up_for(accepted.handler)
            if act is None:
                return False
            try:
                self.running[accepted] = self._start(self._work, (accepted,))
            except Unavailable as unavailable:
                self._house.tools.events.emit(ThreadMissing(self.job_id, str(unavailable)))
                self._stage.take_back(act)
                return False
        self._stage.see_off(act)
        return True

    def _next(self, done: Accepted | None) -> Accepted | None:
        """Release what is done and take the next, in one step if there is one; ``None`` when this thread has to go."""
        if done is not None:
            with self.lock:
                stays = self._release(done)
                if stays and self._may_start() and self._hands <= self.concurrency:
                    return self._begun()
            self._house.changed()
            if not stays:
                self._note_return(done)
                return None
        while True:
            with self.lock:
                place = self._slept()
                if place is None:
                    return None
                if self._may_start():
                    return self._begun(place)
            self._house.turnstile.leave(place)  # another thread has taken it, or it was withdrawn

    def _slept(self) -> int | None:
        """Wait to be let in: with which place; ``None`` when this thread has to go. Under the lock."""
        while not self._places:
            if (self._retired and not self.queue) or self._hands > self.concurrency:
                leaves = self._hands == 1 or not self._stage.begun_here
                if leaves:
                    self._depart()
                self._woken.notify_all()  # those who wait for others to leave, and those who can leave instead
                self._call_up()
                if leaves:
                    return None
                if self._places:
                    break
            self._woken.wait()
        return self._places.popleft()

    def _depart(self) -> None:
        self._hands -= 1
        if self._retired and not self._hands:
            self._last = threading.current_thread()

    def _begun(self, place: int | None = None) -> Accepted:
        """The next of the queue, which may start. Under the lock."""
        accepted = self.queue.popleft()
        accepted.place = place
        self.running[accepted] = threading.current_thread()
        self._call_up()
        return accepted

    def _pass(self, accepted: Accepted) -> None:
        """It has got as far as its handler, or will never."""
        if accepted.place is not None:
            self._house.turnstile.leave(accepted.place)
            accepted.place = None

    def _carry_out(self, accepted: Accepted) -> Result:
        tools = self._house.tools
        try:
            with self._limited(accepted), self._stage.entered(accepted.handler) as performer:
                return carry_out(accepted, performer, tools, *self._beside(), begun=lambda: self._pass(accepted))
        except BaseException as bug:
            # Nothing of the handler's arrives here. Even so the trigger must end, and so must not this thread.
            accepted.stay.leave()
            told = "".join(traceback.format_exception(bug))
            message = f"The executor failed to carry it out: {bug!r}\n{told}"
            outcome = Outcome(FAILURE, message, reason=ReportedReason.EXECUTOR_FAILED)
            spent = accepted.spent(tools.clock)
            return conclude(accepted.request, accepted.ending or outcome, spent, tools.incarnation)
        finally:
            self._pass(accepted)

    def _release(self, accepted: Accepted) -> bool:
        """Its handler has returned; false when it was left behind before that, and its thread has to go. Under the
        lock.
        """
        here = self.running.pop(accepted, None) is not None
        self.idle_since = self._house.tools.clock.monotonic()
        if not here:
            self.left_behind.pop(accepted, None)
            self._call_up()
        return here

    def _note_return(self, accepted: Accepted) -> None:
        tools = self._house.tools
        tools.abandoned.remove(accepted.request.log_id)
        tools.events.emit(AbandonedReturned(accepted.request.log_id, self.job_id))
        append_line(accepted.request, "--- the handler that was left behind has returned", tools)

    def _beside(self) -> list[int]:
        if not self.left_behind:
            return []
        with self.lock:
            return [accepted.request.log_id for accepted in self.left_behind]

    def _leave(self) -> None:
        with self.lock:
            last = self._retired and not self._hands and self._last in (None, threading.current_thread())
        if last:
            self._stage.close()
        self._threads.discard(threading.current_thread())

    # --- ending what runs

    def _limited(self, accepted: Accepted) -> AbstractContextManager[None]:
        limit, tools = accepted.request.executor_timeout, self._house.tools
        due = tools.clock.monotonic() + limit
        return tools.limits.watching(limit, lambda: self._run_out(accepted, due)) if limit else nullcontext()

    def _run_out(self, accepted: Accepted, due: float) -> None:
        told = f"The execution took longer than its limit of {accepted.request.executor_timeout} s."
        late = self._house.tools.clock.monotonic() - due
        if late > _NOTABLY_LATE:
            told += (
                f" It is ended {late:.0f} s late: this process stood still, as when code in C holds the interpreter."
            )
        self._end(accepted, Outcome(TIMED_OUT, told, reason=ReportedReason.TIMED_OUT), at_once=True)

    def _end(self, accepted: Accepted, outcome: Outcome, *, at_once: bool) -> bool:
        with self.lock:
            if accepted.settled or accepted.ending is not None:
                return False
            accepted.ending = outcome
        self._send_up(accepted, at_once)
        return True

    def _send_up(self, accepted: Accepted, at_once: bool) -> None:
        name = f"orth-end-{accepted.request.log_id}"
        try:
            threading.Thread(target=self._climb, args=(accepted, at_once), name=name, daemon=True).start()
        except RuntimeError as error:
            self._house.tools.events.emit(ThreadMissing(self.job_id, str(error)))
            self._house.tools.limits.after(_AGAIN, lambda: self._send_up(accepted, at_once))

    def _climb(self, accepted: Accepted, at_once: bool) -> None:
        tools = self._house.tools
        outcome, context = accepted.ending, tools.contexts.get(accepted.request.log_id)
        if outcome is None:
            return
        if context is not None:
            context.run_log.write(f"--- being ended. {outcome.message}")
        if at_once:
            self._settle(accepted, outcome, inside=context is not None)
        if accepted.stay.bar() or context is None or accepted.performer is None:
            return  # the handler is not inside and will not be
        if not climb(accepted.stay, accepted.performer, context, tools.kill_grace):
            self._abandon(accepted, accepted.performer, context, outcome)

    def _abandon(self, accepted: Accepted, performer: Performer, context: JobContext, outcome: Outcome) -> None:
        """Give up on the thread: it gets no more work, and its job another one in its stead."""
        tools = self._house.tools
        with self.lock:
            thread = self.running.pop(accepted, None)
            if thread is None:
                return  # it has left after all
            performer.abandon(context)
            tools.abandoned.add(accepted.request, tools.clock.now())
            self.left_behind[accepted] = True
            self._threads.discard(thread)
            self._hands -= 1
            self._woken.notify_all()
            tools.limits.after(tools.abandoned_hold, lambda: self._let_pass(accepted))
            self._replace_hand()
        told = f"The handler did not end within {tools.kill_grace:g} s; its thread is left behind and may still work."
        context.run_log.write(f"--- {told} What it writes from now on is not kept.")
        context.run_log.close()
        tools.contexts.pop(accepted.request.log_id, None)
        tools.events.emit(ExecutionAbandoned(accepted.request.log_id, self.job_id, tools.kill_grace, thread.name))
        self._settle(accepted, replace(outcome, message=f"{outcome.message} {told}"), inside=True)
        self._house.changed()

    def _replace_hand(self) -> None:
        try:
            if not self._hands:
                self._hire()
            self._call_up()
        except Unavailable as unavailable:  # the next trigger tries again
            self._house.tools.events.emit(ThreadMissing(self.job_id, str(unavailable)))

    def _let_pass(self, accepted: Accepted) -> None:
        """It has kept its place long enough: the job goes on beside it."""
        with self.lock:
            if accepted in self.left_behind:
                self.left_behind[accepted] = False
                self._call_up()

    def _settle(self, accepted: Accepted, outcome: Outcome, *, inside: bool = False) -> bool:
        tools = self._house.tools
        item = conclude(accepted.request, outcome, accepted.spent(tools.clock), tools.incarnation, inside=inside)
        return self._house.settle(accepted, item)


def _not_executed(why: str, reason: ReportedReason) -> Outcome:
    return Outcome(FAILURE, f"Not executed: {why}.", reason=reason)
