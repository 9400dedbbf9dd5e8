"""Processes that really end: the executor's side of guards.

``Processes`` starts the nursery, asks it for guards and keeps idle ones warm. A ``GuardLink`` runs one command at a
time, its output line by line to the caller, and ends it from any thread.

What is guaranteed, on Linux: when a run has ended, for whatever reason, nothing it started is alive, grandchildren with
sessions of their own included; and nothing outlives the executor, even when that is killed with SIGKILL. What is not:
code that runs under the same user and sets out to stop or kill guard *and* nursery gets away, and so does work handed
to a process outside (a systemd unit, a container, ``at``).
"""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from weakref import WeakSet

from orth.clock import Clock
from orth.errors import CannotStart, Unavailable
from orth.executor.confinement import UNCONFINED, Confinement, Limits
from orth.executor.exits import Exit
from orth.executor.frames import Frames, Message, frame_pair
from orth.executor.guard import KILL_PATIENCE, LONGEST_POLL, Standing
from orth.executor.masking import NOTHING_HIDDEN, Mask
from orth.executor.nursery import IMPORTING
from orth.executor.output import Lines, Sink
from orth.forked import let_go_in_child

_PATH = "ORTH_NURSERY_PATH"
_PROGRAM = (
    f"import os, sys; sys.path[:] = os.environ.pop('{_PATH}').split(os.pathsep); "
    "from orth.executor.nursery import main; sys.exit(main(sys.argv[1:]))"
)
_READY_WITHIN = 60.0
_ROUSED_AFTER = 0.5
_ROUSED_AT_MOST = 20
_CLOSED_WITHIN = 10.0
_CHUNK = 65_536
_IDLE_KEPT = 8


class GuardLost(Unavailable):
    """A guard was killed, and the nursery with it or after it has killed what the guard had below."""

    kind = "guard-lost"


class FileChanged(OSError):
    """The file that was to be run is not the one that was meant, or was changed since."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: no shell reads it, and the environment is this one alone."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    limit: float | None = None
    """Seconds after which it is ended."""
    grace: float = 0.0
    """Seconds between SIGTERM and SIGKILL when the limit has passed."""
    unchanged: tuple[str, Standing] | None = None
    """A file that must stand as it did then."""
    confinement: Confinement = UNCONFINED


class Run:
    """One child under a guard, from its start to the report that nothing of it is left."""

    def __init__(self) -> None:
        self.exit: Exit | None = None
        self.over = False
        """Whether the guard has nothing more to say of it."""
        self._going_on = threading.Lock()  # held until then: an event would take several times as long to make and set
        self._going_on.acquire()

    def end(self) -> None:
        """Let those go on who wait for it. Once."""
        self.over = True
        self._going_on.release()

    def wait(self, grace: float) -> bool:
        """Wait for the end that was asked for; true when nothing is left."""
        if self._going_on.acquire(timeout=max(0.0, grace) + KILL_PATIENCE + 1.0):
            self._going_on.release()
        return self.exit is not None and not self.exit.survivors


class GuardLink:
    """The executor's end of one guard."""

    def __init__(self, frames: Frames, clock: Clock) -> None:
        self._frames = frames
        self._clock = clock
        self._run = Run()
        self.usable = True
        """Whether another child may be started: not after the guard was lost, or a process could not be ended."""

    def fileno(self) -> int:
        return self._frames.fileno()

    def is_there(self, seconds: float) -> bool:
        """Whether the guard says within ``seconds`` that it is there; asked before anything else is."""
        if not self._hears(seconds):
            return False
        if self._frames.receive() is None:
            raise self._lost()
        return True

    def start_worker(self, limits: Limits, conversation: int, output: int) -> None:
        self._run = Run()
        self._ask({"do": "work", "limits": dict(limits)}, conversation, output)

    def run(self, command: Command, sink: Sink, mask: Mask = NOTHING_HIDDEN) -> Exit:
        """Run to the end, which includes everything the command has started.

        ``OSError`` when it cannot be started, ``FileChanged`` when its file is not the one that was meant.
        """
        self._run = Run()
        request = {
            "do": "spawn",
            "argv": list(command.argv),
            "env": dict(command.environment),
            "cwd": str(command.folder),
            "unchanged": command.unchanged,
            "confined": command.confinement.message,
        }
        self._ask(request)
        lines = Lines(sink, mask)
        overdue = self.follow(lines, command.limit, command.grace)
        lines.finish()
        ended = self.ended()
        return Exit(ended.code, ended.survivors, overdue)

    def ask_end(self, grace: float) -> Run:
        """Tell the guard to end what it has; from any thread. Wait for the end on the run that is returned."""
        with suppress(OSError):  # the guard is gone, and has taken everything with it
            self._frames.send({"do": "end", "grace": grace})
        return self._run

    def ended(self) -> Exit:
        """How the child ended; waits for it. ``OSError`` when it could not be started."""
        while self._run.exit is None:
            self.receive()
        return self._run.exit

    def await_end(self, seconds: float) -> bool:
        """Whether the child ends by itself within ``seconds``."""
        return self._hears(seconds)

    def _hears(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._frames.fileno(), select.POLLIN)
        return bool(poll.poll(min(seconds, LONGEST_POLL) * 1000))

    @property
    def idle(self) -> bool:
        """Whether it can be given another child: nothing of the last one is left, and the guard is there."""
        return self.usable and self._run.over

    def close(self) -> None:
        """Let the guard go; what it still guards is killed."""
        self.usable = False
        self._frames.close()

    def _ask(self, request: Message, *descriptors: int) -> None:
        try:
            self._frames.send(request, descriptors)
        except OSError as error:
            raise self._lost() from error

    def follow(self, lines: Lines, limit: float | None, grace: float, output: FileIO | None = None) -> bool:
        """Hand over output until the end of the run is reported; whether it had to be ended for its limit.

        A guard passes on what a command writes; ``output`` is where a worker does without it.
        """
        deadline = None if limit is None else self._clock.monotonic() + limit
        overdue = False
        if deadline is None and output is None:
            while self._run.exit is None:
                self.receive(lines)
            return False
        heard = select.poll()
        heard.register(self._frames, select.POLLIN)
        if output is not None:
            heard.register(output, select.POLLIN)
        while self._run.exit is None:
            pause = None if deadline is None else min(max(0.0, deadline - self._clock.monotonic()), LONGEST_POLL) * 1000
            ready = {descriptor for descriptor, _ in heard.poll(pause)}
            if output is not None and output.fileno() in ready and not feed(output, lines):
                heard.unregister(output)
                output = None
            if self._frames.fileno() in ready:
                self.receive(lines)
            if deadline is not None and self._clock.monotonic() >= deadline:
                self.ask_end(grace)
                deadline, overdue = None, True
        return overdue

    def receive(self, lines: Lines | None = None) -> None:
        """Take one report of the guard. ``GuardLost`` when there will be no more."""
        received = self._frames.receive()
        if received is None:
            raise self._lost()
        message, _ = received
        if "output" in message:
            assert lines is not None, "only commands write by way of their guard"
            lines.feed(message["output"])
            return
        if "failed" in message:
            self._run.end()
            raise (FileChanged if message.get("changed") else OSError)(message["failed"])
        self._run.exit = Exit(message["ended"], tuple(message.get("survivors", ())))
        self.usable = not self._run.exit.survivors
        self._run.end()

    def _lost(self) -> GuardLost:
        self.usable = False
        if not self._run.over:
            self._run.end()
        return GuardLost("The guard of this run was killed, and what it guarded with it.")


def feed(output: FileIO, lines: Lines) -> bool:
    """Take some of what is in the pipe; false when there is nothing."""
    data = output.read(_CHUNK)
    if data:
        lines.feed(data)
    return bool(data)


def drain(output: FileIO, lines: Lines) -> None:
    """Take what is in the pipe already, without waiting for more."""
    while feed(output, lines):
        pass


class Processes:
    """The nursery and its guards. ``imported`` says what workers import and must find there; commands need none."""

    def __init__(self, clock: Clock, environment: Mapping[str, str], imported: Sequence[str] = ()) -> None:
        self._clock = clock
        self._environment = dict(environment)
        self._imported = imported
        self._lock = threading.Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: Frames | None = None
        self._idle: list[GuardLink] = []
        self._links: WeakSet[GuardLink] = WeakSet()
        self._keep_in_child: Callable[[], None] | None = None
        self._closed = False

    def start(self) -> None:
        """Start the nursery, unless it runs; ``CannotStart`` says why it does not get ready."""
        with self._lock:
            self._started()

    def new_guard(self) -> GuardLink:
        """A guard of one's own. A nursery that gives none in time is roused, and then replaced."""
        for _ in range(2):
            link, nursery = self._ordered()
            with suppress(GuardLost):  # the nursery was killed with the order in its hands
                for _ in range(_ROUSED_AT_MOST):
                    if link.is_there(_ROUSED_AFTER):
                        return link
                    nursery.send_signal(signal.SIGCONT)  # should anybody have stopped it
            link.close()
            self._give_up(nursery)
        raise Unavailable("The helper process for child processes does not answer.")

    def _give_up(self, nursery: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if nursery is self._nursery:
                nursery.kill()  # its guards go on, and end with the executor
                _reap(self._let_go())

    def _ordered(self) -> tuple[GuardLink, subprocess.Popen[bytes]]:
        """A guard that the nursery has been told to make, and which nursery."""
        kept, given = frame_pair()
        link = GuardLink(kept, self._clock)
        with self._lock, given:
            self._links.add(link)  # before anything is done with it: from here on a forked child lets go of it
            try:
                self._started().send({"do": "guard"}, [given.fileno()])
            except OSError:  # the nursery was killed; its guards have cleared up or will
                _reap(self._let_go())
                self._started().send({"do": "guard"}, [given.fileno()])
            assert self._nursery is not None, "it has just taken the order"
            return link, self._nursery

    def take(self) -> GuardLink:
        """A guard for one command: an idle one if there is one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.new_guard()

    def give_back(self, guard: GuardLink) -> None:
        with self._lock:
            if guard.idle and not self._closed and len(self._idle) < _IDLE_KEPT:
                self._idle.append(guard)
                return
        guard.close()

    def close(self) -> None:
        """Kill whatever runs, and let nursery and guards go."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for guard in idle:
                guard.close()
            for guard in self._links.difference(idle):
                guard.ask_end(0)
            nursery = self._let_go()
            if self._keep_in_child is not None:
                self._keep_in_child()
        _reap(nursery)  # not under the lock: whoever gives back the last guards needs it

    def _started(self) -> Frames:
        if self._control is None:
            if self._closed:
                raise Unavailable("This executor is stopping.")
            if self._keep_in_child is None:
                self._keep_in_child = let_go_in_child(self._part)
            self._control = self._start_nursery()
        return self._control

    def _part(self) -> None:
        """In a forked child: a guard and the nursery must see it when the executor hangs up."""
        for link in list(self._links):
            link.close()
        if self._control is not None:
            self._control.close()

    def _start_nursery(self) -> Frames:
        refuse_while_imported()
        control, given = frame_pair()
        us = os.pidfd_open(os.getpid())
        try:
            handed_over = (given.fileno(), us)
            self._nursery = subprocess.Popen(  # noqa: S603  # our own program, with our own arguments
                [sys.executable, "-c", _PROGRAM, *map(str, handed_over), *self._imported],
                pass_fds=handed_over,
                stdin=subprocess.DEVNULL,
                env={**self._environment, _PATH: os.pathsep.join(sys.path)},
                start_new_session=True,
            )
        finally:
            os.close(us)
            given.close()
        self._wait_until_ready(control)
        return control

    def _wait_until_ready(self, control: Frames) -> None:
        waiting = select.poll()
        waiting.register(control.fileno(), select.POLLIN)
        received = control.receive() if waiting.poll(_READY_WITHIN * 1000) else None
        message = received[0] if received else {"failed": "it died, or was not ready in time; its output says why."}
        if "failed" in message:
            control.close()
            _reap(self._let_go())
            raise CannotStart(f"The helper process for child processes cannot start: {message['failed']}")

    def _let_go(self) -> subprocess.Popen[bytes] | None:
        """Hang up on the nursery, which then ends as soon as its guards have."""
        if self._control is not None:
            self._control.close()
            self._control = None
        nursery, self._nursery = self._nursery, None
        return nursery


def refuse_while_imported() -> None:
    """``CannotStart`` in a module that a nursery imports for its handlers, and that starts an executor by that."""
    if IMPORTING in os.environ:
        raise CannotStart(
            f"{os.environ[IMPORTING]} starts an executor when it is imported.",
            hint='Put app.main() or app.start() below if __name__ == "__main__".',
        )


def _reap(nursery: subprocess.Popen[bytes] | None) -> None:
    if nursery is None:
        return
    nursery.send_signal(signal.SIGCONT)  # should anybody have stopped it
    try:
        nursery.wait(_CLOSED_WITHIN)
    except subprocess.TimeoutExpired:
        nursery.kill()
        nursery.wait()
