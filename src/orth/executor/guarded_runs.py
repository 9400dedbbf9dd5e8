"""Executions under guards, which can be ended from outside: what scripts, commands and workers share."""

import threading
from weakref import WeakSet

from orth.errors import OrthError
from orth.executor.context import JobContext, JobFailed, NotCarriedOut
from orth.executor.exits import Exit
from orth.executor.output import Sink
from orth.executor.processes import Command, FileChanged, GuardLink, GuardLost, Processes

ARGUMENT_LIMIT = 131_072 - len("ORTH_JOB_PARAM=") - 1
"""Bytes of text that Linux passes to a program as one argument, and as the variable of the parameter."""


_SURELY_FITS = ARGUMENT_LIMIT // 4  # characters, of at most four bytes each


class Inside:
    """What is being carried out under guards, by execution, so that it can be ended from outside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guards: dict[JobContext, GuardLink] = {}
        self._ended: WeakSet[JobContext] = WeakSet()

    def enter(self, context: JobContext, guard: GuardLink) -> bool:
        """False when the execution was ended before anything of it had begun."""
        with self._lock:
            if context in self._ended:
                return False
            self._guards[context] = guard
            return True

    def leave(self, context: JobContext) -> bool:
        """Whether somebody has asked for its end meanwhile."""
        with self._lock:
            self._guards.pop(context, None)
            asked = context in self._ended
            self._ended.discard(context)
            return asked

    def end(self, context: JobContext, grace: float) -> bool:
        """End the execution, or see to it that it does not begin; true when nothing of it is left."""
        with self._lock:
            self._ended.add(context)
            guard = self._guards.get(context)
            if guard is None:
                return True
            run = guard.ask_end(grace)  # under the lock: a moment later the guard may serve another execution
        return run.wait(grace)


class GuardedRuns:
    """Runs commands for executions."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._inside = Inside()

    def run(self, context: JobContext, command: Command, sink: Sink) -> Exit:
        """Run to the end, everything it has started included. ``JobFailed`` when it cannot be started.

        ``FileChanged`` when the file it needs was changed: nothing was started.
        """
        for argument in (*command.argv, *command.environment.values()):
            if len(argument) > _SURELY_FITS or "\0" in argument:
                _check(argument)
        try:
            guard = self._processes.take()
        except OrthError as error:
            raise NotCarriedOut(str(error)) from None
        try:
            if not self._inside.enter(context, guard):
                raise JobFailed("It was ended before it began.")
            return guard.run(command, sink, context.mask)
        except GuardLost as lost:
            raise NotCarriedOut(lost.message) from None
        except FileChanged:
            raise
        except OSError as error:
            raise NotCarriedOut(f"{command.argv[0]} cannot be started: {error}.") from None
        finally:
            self._inside.leave(context)
            self._processes.give_back(guard)

    def end(self, context: JobContext, grace: float) -> bool:
        return self._inside.end(context, grace)


def _check(argument: str) -> None:
    if "\0" in argument:
        raise JobFailed("A NUL character cannot be passed to a program.")
    size = len(argument.encode("utf-8", "surrogateescape"))
    if size > ARGUMENT_LIMIT:
        raise JobFailed(f"A text of {size} bytes cannot be passed to a program; at most {ARGUMENT_LIMIT} can.")
