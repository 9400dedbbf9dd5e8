"""A worker: the process in which handlers with ``isolation="process"`` run, one execution at a time.

It is forked from a nursery that has imported the handlers, and runs them in its main thread, where a program expects to
be: signals can be caught, ``asyncio`` works, and nothing else goes on beside. Handlers with ``init`` and ``destroy``
have one life per worker: ``init`` before the first execution there, ``destroy`` when the worker retires. What ``init``
starts, and what it changes in the process, stays with the worker. What an execution changes there is put back after it
(``belongings``). One that leaves threads or processes running, or the process in a state that cannot be put back, is
the last of its worker, which then retires; the guard ends what is left.

Everything an execution writes goes through one pipe, in order: what is logged and printed, and what C code and child
processes write to the descriptors 1 and 2. SIGTERM sets ``ctx.cancelled`` and raises ``Cancelled`` in the handler, so
that its ``finally`` blocks run; after that execution the worker leaves. SIGKILL follows from the guard.

A child that a handler forks is not the worker: it has no part in the conversation with the executor, a signal ends it
as any process, and it exits where the handler's code ends, whether that returns there or raises.
"""

import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, TextIO

from orth.clock import SystemClock
from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, FAILURE, cut
from orth.errors import CannotStart, Invalid
from orth.executor.belongings import Belongings
from orth.executor.capture import capturing, finish_prints
from orth.executor.confinement import grant_cpu
from orth.executor.context import Cancelled, JobContext, Outcome, entered
from orth.executor.ending import Stay
from orth.executor.environment import inheritable_variables
from orth.executor.frames import Frames, Message
from orth.executor.guard import Work
from orth.executor.handlers import Handler, Handlers
from orth.executor.leftovers import Company, company, in_words
from orth.executor.loading import load_same_handlers
from orth.executor.log_writing import RunLog, lines_of_text
from orth.executor.one_process import OneProcess
from orth.executor.performers import ObjectPerformer, Performer
from orth.executor.progress import Progress
from orth.executor.running import outcome_of
from orth.forked import let_go_in_child

# What of a context travels as it is; ``facts_of`` adds what needs another form.
FACTS = (
    *("job_id", "log_id", "log_time", "handler", "param", "shard_index", "shard_total", "attempt", "run_key"),
    *("job_name", "executor", "deadline", "inherit_threads", "log_level"),
)


class PipedLog(RunLog):
    """The log as a worker has it: lines go down the pipe, and the executor writes them to the file.

    They are lines already as they will be there: what makes a line too long for the pipe is cut off at its end.
    """

    def __init__(self, log_id: int, path: Path) -> None:
        self.log_id = log_id
        self.name = str(path)
        self._ended = False

    def write(self, text: str, *, own: bool = False) -> None:  # noqa: ARG002  # nothing here is the executor's own
        if self._ended:
            return
        lines = lines_of_text(self.mask.hide(text))  # before it is broken, where a secret could be
        data = "".join([f"{line}\n" for line in lines]).encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(1, data) :]

    def bring_out(self) -> None:
        return

    def part(self) -> None:
        return

    @property
    def closed(self) -> bool:
        return self._ended

    def close(self) -> None:
        self._ended = True


class WorkerContext(JobContext):
    """The context as a worker has it: progress is told to the executor, which keeps and logs it.

    A forked child cannot tell the executor anything; its progress is a line in the log.
    """

    link: Frames
    worker: int

    def _tell_progress(self, value: Progress) -> None:
        if os.getpid() != self.worker:
            super()._tell_progress(value)
        else:
            self.link.send({"log_id": self.log_id, "progress": [value.done, value.total, value.message]})


def facts_of(context: JobContext) -> Message:
    """What a worker must know to make the same context; ``context_from`` is the other half."""
    due = context.schedule_time
    return {name: getattr(context, name) for name in FACTS} | {
        "secrets": dict(context.secrets),
        "schedule_time": due and due.isoformat(),
        "trigger_time": context.trigger_time.isoformat(),
        "log_file": context.log_file,
    }


def context_from(facts: Message, link: Frames) -> WorkerContext:
    due = facts["schedule_time"]
    context = WorkerContext(
        schedule_time=datetime.fromisoformat(due) if due else None,
        trigger_time=datetime.fromisoformat(facts["trigger_time"]),
        run_log=PipedLog(facts["log_id"], Path(facts["log_file"])),
        clock=SystemClock(),
        secrets=MappingProxyType(facts["secrets"]),
        **{name: facts[name] for name in FACTS},
    )
    context.run_log.mask = context.mask
    context.link, context.worker = link, os.getpid()
    return context


def load_worker(target: str, file: str, names: list[str]) -> Work:
    """Import ``target`` from ``file`` and see that the handlers are there; the result is what every worker does."""
    handlers = load_same_handlers(target, file)
    missing = [name for name in names if handlers.get(name) is None]
    if missing:
        raise CannotStart(
            f"Importing {target} does not register the handlers {', '.join(missing)}.",
            hint='Worker processes import the module, so nothing below if __name__ == "__main__" is seen there.',
        )

    def work(conversation: int, beyond: int) -> None:
        _use_born_descriptors(beyond)
        Worker(handlers, Frames(socket.socket(fileno=conversation))).serve()

    return work


class Worker:
    """Carries out what it is told until the executor hangs up, or SIGTERM has ended an execution."""

    def __init__(self, handlers: Handlers, link: Frames) -> None:
        self._handlers = handlers
        self._link = link
        self._performers: dict[str, Performer] = {}
        self._running: JobContext | None = None
        self._residents: Company = frozenset()
        self._leaving = False
        self._belongings: Belongings

    def serve(self) -> None:
        signal.signal(signal.SIGTERM, self._on_term)
        let_go_in_child(self._part)
        with capturing(prints=self._handlers.capture_stdout):
            self._belongings = Belongings.now()
            while not self._leaving and (received := self._link.receive()) is not None:
                self._carry_out(received[0])
            for performer in self._performers.values():
                with suppress(Exception), OneProcess(_flush):  # the handler's own farewell; nobody is left to be told
                    performer.close()

    def _on_term(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  # the form of signal handlers
        self._leaving = True
        if self._running is None:
            os._exit(0)
        self._running.cancel()
        raise Cancelled

    def _part(self) -> None:
        """In a forked child."""
        self._link.close()
        if signal.getsignal(signal.SIGTERM) == self._on_term:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _carry_out(self, message: Message) -> None:
        logging.getLogger().setLevel(message["level"])
        if message["cpu"] is not None:
            grant_cpu(message["cpu"])
        context = context_from(message["run"], self._link)
        handler = self._handlers.get(context.handler)
        assert handler is not None, "load_worker has looked for it"
        try:
            with entered(context):
                self._running = context
                outcome = self._outcome(handler, context)
                self._running = None
                finish_prints(context)
        except Cancelled:  # struck after the handler had returned
            outcome = Outcome(FAILURE, "It was told to end.")
        if len(outcome.message) > EXECUTOR_MESSAGE_LIMIT:  # reported without its middle, and here it is whole
            context.run_log.write(outcome.message)
        context.run_log.close()  # what threads of the handler print from here on belongs to no execution
        _flush()
        context.finish_progress()
        left = self._left()
        self._leaving |= bool(left)
        told = cut(outcome.message, EXECUTOR_MESSAGE_LIMIT)
        self._link.send({"log_id": context.log_id, "ended": [outcome.code, told, outcome.final], "left": left})

    def _left(self) -> str:
        """Why the worker cannot be used again, in words; empty when it is as it was before the execution."""
        spoilt = self._belongings.put_back()
        running = in_words(company() - self._residents)
        return f"left {running} running" if running else spoilt

    def _outcome(self, handler: Handler, context: JobContext) -> Outcome:
        try:
            arguments: dict[str, Any] = handler.parameters.read(context.param)
        except Invalid as unfit:
            return Outcome(FAILURE, str(unfit))
        context.params = MappingProxyType(arguments)
        performer = self._performers.get(handler.name)
        if performer is None:
            performer = self._performers[handler.name] = handler.performer()
        given = handler.parameters.with_context(arguments, context)

        def perform() -> object:
            with OneProcess(_flush):
                self._begin(performer, context)
                # Nobody else is here, so what the handler starts with a copy of the environment knows its execution
                # too; put back with all else that an execution changes.
                os.environ.update({**context.secrets, **inheritable_variables(context)})
                return performer.perform(context, given)

        return outcome_of(perform, Stay(), context, handler.give_up_on)

    def _begin(self, performer: Performer, context: JobContext) -> None:
        if isinstance(performer, ObjectPerformer) and not performer.begun:
            performer.begin(context)
            self._residents |= company()
            self._belongings = Belongings.now()


def _use_born_descriptors(beyond: int) -> None:
    """Let ``sys.stdout`` and ``sys.stderr`` write to the pipe; console handlers of the program go on as before."""
    old = (sys.stdout, sys.stderr)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        made = _writing_to(descriptor)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream in old:
            handler.setStream(_writing_to(beyond))  # in the pipe, the record would be in the log twice


def _writing_to(descriptor: int) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
