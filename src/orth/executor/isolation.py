"""Handlers in processes of their own: a warm pool of workers.

``@app.job(isolation="process")`` says that a handler must be able to end: when its time is up, when it is killed, or
when it crashes the interpreter. It then runs in a worker, a process under a guard (see ``guard``), with the same
context, parameters, log and results as in a thread. A worker that was ended or died is replaced at once, and so is one
in which an execution left something running or the process itself changed beyond repair; the others are used again and
again.

Workers import the module that holds the ``Executor`` as the executor has it, with the same ``sys.path`` and from the
same file: by file, or by name when it is in a package. Another file of that name, such as one in the working folder,
does not count. What cannot be imported is refused at the start, in words.
"""

import logging
import os
import select
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from types import ModuleType
from typing import Any

from orth.clock import Clock
from orth.domain.reasons import ReportedReason
from orth.errors import CannotStart, OrthError, Unavailable
from orth.executor.confinement import NO_LIMITS, Limits
from orth.executor.context import JobContext, JobFailed, NotCarriedOut, Outcome
from orth.executor.exits import Exit
from orth.executor.frames import Message, frame_pair
from orth.executor.guarded_runs import Inside
from orth.executor.handlers import Handlers
from orth.executor.log_writing import LINE_LIMIT
from orth.executor.output import Lines
from orth.executor.processes import GuardLink, GuardLost, Processes, drain, feed
from orth.executor.worker import facts_of
from orth.forked import let_go_in_child

_SECRETS = "ORTH_SECURITY__"
_RETIRE_WITHIN = 5.0
_LINE_LIMIT = 6 * LINE_LIMIT
"""Bytes; a worker breaks the lines of Python itself, and a character of one that it has broken takes six at most."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a worker says of an execution that has ended."""

    outcome: Outcome
    left: str
    """Why the worker is of no further use, in words; empty when it is."""


class WorkerLink:
    """The executor's end of one worker: its guard, the conversation with it, and its output."""

    def __init__(self, guard: GuardLink, limits: Limits) -> None:
        self.guard = guard
        self.alive = True
        self._cpu = limits.get("cpu")
        self._link, given = frame_pair()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._output = FileIO(reading)
        self._keep_in_child = let_go_in_child(self._part)
        with given:
            try:
                whole_life = {name: most for name, most in limits.items() if name != "cpu"}
                guard.start_worker(whole_life, given.fileno(), writing)
            except GuardLost:
                self.close()
                raise
            finally:
                os.close(writing)

    def run(self, context: JobContext) -> Outcome | Exit:
        """Carry out one execution: its outcome, or how the worker died of it.

        ``JobFailed`` when the worker says what it cannot mean; it is of no use then.
        """
        lines = Lines(lambda batch: context.run_log.write("\n".join(batch)), context.mask, _LINE_LIMIT)
        try:
            self.alive = False  # until it has said that it is done
            self._link.send({"run": facts_of(context), "level": logging.getLogger().level, "cpu": self._cpu})
            said = self._follow(context, lines)
            self.alive = said is not None and not said.left
            if said is not None and said.left:
                self._await_leaving(lines)
        except (OSError, EOFError):
            said = None
        except BaseException:
            self._finish(lines)
            raise
        died = None if said is not None else self.guard.ended()
        self._finish(lines)
        if said is None:
            return died or Exit(0)
        if said.left:
            context.run_log.write(f"It {said.left}; its worker process was ended with all below it.")
        return said.outcome

    def has_died(self) -> bool:
        """Whether an idle worker is no longer there: then its end of the conversation is closed."""
        poll = select.poll()
        poll.register(self._link.fileno(), 0)
        return bool(poll.poll(0))

    def retire(self) -> None:
        """Let it destroy its handlers and leave; what does not go by itself is killed."""
        self._link.close()
        self.guard.await_end(_RETIRE_WITHIN)
        self.close()

    def close(self) -> None:
        """Kill it, with everything it has started."""
        self._keep_in_child()
        self._link.close()
        self.guard.close()
        self._output.close()

    def _part(self) -> None:
        """In a forked child: the worker must see it when the executor hangs up."""
        self._link.close()
        self._output.close()

    def _await_leaving(self, lines: Lines) -> None:
        """Until the worker has gone and the guard has ended what was left."""
        with suppress(GuardLost):  # then the nursery ends it
            self.guard.follow(lines, _RETIRE_WITHIN, 0.0, self._output)

    def _follow(self, context: JobContext, lines: Lines) -> _Said | None:
        """Hand over output and progress until the execution has ended; ``None`` when the worker died before."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._link, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._output.fileno() in ready and not feed(self._output, lines):
                poll.unregister(self._output)
            if self._link.fileno() not in ready:
                continue
            try:
                received = self._link.receive()
            except ValueError:
                raise NotCarriedOut("The worker process sent what is no message, and was ended.") from None
            if received is None:
                return None
            said = _heard(received[0], context)
            if said is not None:
                return said

    def _finish(self, lines: Lines) -> None:
        drain(self._output, lines)  # whatever was written before the last word is in the pipe by now
        lines.finish()


def _heard(message: Message, context: JobContext) -> _Said | None:
    mine = message.get("log_id") == context.log_id
    if "progress" in message:
        if mine:  # a thread that has outlived the execution before this one may still tell of that
            context.progress(*message["progress"])
        return None
    if not mine:
        raise NotCarriedOut(f"The worker process reported the end of log {message.get('log_id')}, and was ended.")
    code, text, final = message["ended"]
    return _Said(Outcome(int(code), str(text), bool(final)), str(message.get("left", "")))


class WorkerPool:
    """Warm workers, ``warm`` of them kept ready; more are made when more executions run at once."""

    def __init__(
        self, handlers: Handlers, warm: int, clock: Clock, environ: Mapping[str, str], limits: Limits = NO_LIMITS
    ) -> None:
        self._handlers = handlers
        self._limits = limits
        self._clock = clock
        self._environment = {name: value for name, value in environ.items() if not name.startswith(_SECRETS)}
        self._warm = warm
        self._processes: Processes | None = None
        self._lock = threading.Lock()
        self._idle: list[WorkerLink] = []
        self._closed = False

    def start(self) -> None:
        """Import the handlers in the nursery and make the first workers; ``CannotStart`` when that fails."""
        imported = [*target_of(self._handlers), *self._handlers.isolated()]
        self._processes = Processes(self._clock, self._environment, imported)
        self._processes.start()
        self._replenish()

    def take(self) -> WorkerLink:
        """An idle worker, or a new one."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return self._new()
            if not worker.has_died():
                return worker
            worker.close()

    def give_back(self, worker: WorkerLink) -> None:
        """Keep it for the next execution; one that died, or was ended, is replaced."""
        if worker.alive:
            if not self._keep(worker):
                worker.retire()
            return
        worker.close()
        self._replenish()

    def close(self) -> None:
        """Retire the idle workers and kill the others."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.retire()
        if self._processes is not None:
            self._processes.close()

    def _replenish(self) -> None:
        try:
            while not self._closed and len(self._idle) < self._warm:
                made = self._new()
                if not self._keep(made):
                    made.close()
        except OrthError:
            return  # the next execution that needs a worker meets the same, and says so in its result

    def _keep(self, worker: WorkerLink) -> bool:
        """Keep an idle worker; false when there are enough, or the pool was closed meanwhile."""
        with self._lock:
            if self._closed or len(self._idle) >= self._warm:
                return False
            self._idle.append(worker)
            return True

    def _new(self) -> WorkerLink:
        if self._processes is None:
            raise Unavailable("The worker processes have not been started.")
        return WorkerLink(self._processes.new_guard(), self._limits)


class IsolatedPerformer:
    """Carries out executions of one handler in workers."""

    maker = None

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._inside = Inside()

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  # the worker reads them
        try:
            worker = self._pool.take()
        except OrthError as error:
            raise NotCarriedOut(str(error)) from None
        try:
            if not self._inside.enter(context, worker.guard):
                raise JobFailed("It was ended before it began.")
            ended = worker.run(context)
        except GuardLost as lost:
            raise NotCarriedOut(lost.message) from None
        finally:
            if self._inside.leave(context):
                worker.alive = False  # it has been told to leave, whether it has heard it yet or not
            self._pool.give_back(worker)
        if isinstance(ended, Exit):
            raise NotCarriedOut(f"The worker process died: {ended}.", ReportedReason.PROCESS_DIED)
        context.result(ended.code, ended.message, final=ended.final)

    def end(self, context: JobContext, grace: float) -> bool:
        return self._inside.end(context, grace)

    def abandon(self, context: JobContext) -> None:  # noqa: ARG002  # executions share nothing
        return

    def close(self) -> None:
        return


def target_of(handlers: Handlers) -> tuple[str, str]:
    """Where workers find ``handlers``, ``module:name`` or ``file:name``, and the file of that module."""
    homes = {handler.target.__module__ for name in handlers.isolated() if (handler := handlers.get(name))}
    # The handlers' own modules first: a program may know the executor by a name of its own.
    for name in [*sorted(homes & sys.modules.keys()), *list(sys.modules)]:
        module = sys.modules[name]
        for attribute, value in list(vars(module).items()):
            if value is handlers:
                file = getattr(module, "__file__", None) or ""
                return f"{_place_of(module)}:{attribute}", os.path.abspath(file) if file else ""
    raise CannotStart(
        'Handlers with isolation="process" are imported by their worker processes, but their Executor is not at the '
        "top level of any module.",
        hint='Write app = Executor("my-app") at the top of a module, and its handlers below.',
    )


def _place_of(module: ModuleType) -> str:
    file: str | None = getattr(module, "__file__", None)
    if module.__name__ != "__main__":
        # In no package it may have been loaded by its path, and another file of its name may come first.
        by_file = file is not None and os.path.basename(file) == f"{module.__name__}.py"
        return os.path.abspath(file) if file is not None and by_file else module.__name__
    if module.__spec__ is not None:  # python -m package.module
        return str(module.__spec__.name)
    if file is None:
        raise CannotStart(
            'Handlers with isolation="process" need a module that can be imported, not an interactive session.'
        )
    return os.path.abspath(file)
