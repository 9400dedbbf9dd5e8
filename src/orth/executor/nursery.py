"""The clean helper process in which guards are born.

Its arguments are CONTROL, EXECUTOR and perhaps TARGET FILE NAME ….

The executor has many threads and must never be forked. So it starts this program early; it has one thread, imports
TARGET if there is one, which must be FILE and register the handlers NAME …, and forks a guard whenever it is asked to.
Guards and their workers share the memory of what was imported here, and are there within milliseconds.

CONTROL is a socket to the executor, EXECUTOR a pidfd of it. When either says that the executor is gone, the nursery
takes no more orders, waits until its guards have cleared up, and ends. It is a subreaper itself: should a guard be
killed, what the guard had below comes here, and is killed.

Nobody has a reason to stop a guard but code that does not want to be ended. A guard that was stopped goes on at once;
one that is stopped again and again is killed. A nursery that was stopped goes on when the executor misses a guard, when
the executor dies, and when a guard leaves.
"""

import gc
import os
import select
import signal
import socket
import threading
import traceback
from contextlib import suppress
from typing import NoReturn

from orth.clock import SystemClock
from orth.errors import OrthError
from orth.executor.frames import Frames
from orth.executor.guard import (
    Guard,
    Work,
    descendants,
    process_tree,
    send_signal,
    wake_on_child_exit,
)
from orth.executor.prctl import become_subreaper, go_on_without_parent

IMPORTING = "ORTH_NURSERY_IMPORTING"
"""Set while a nursery imports handlers: an executor that is started by that must not have a nursery of its own."""


_STOPS_FORGIVEN = 3


class Nursery:
    """Forks guards on request."""

    def __init__(self, control: Frames, executor: int, work: Work | None) -> None:
        self._control = control
        self._executor = executor
        self._work = work
        self._guards: dict[int, int] = {}
        """How often each was stopped."""
        become_subreaper()
        go_on_without_parent()
        self._wakeup = wake_on_child_exit()

    def serve(self) -> None:
        poll = select.poll()
        for descriptor in (self._control.fileno(), self._executor, self._wakeup):
            poll.register(descriptor, select.POLLIN)
        serving = True
        while serving:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
                self._reap()
            if self._executor in ready:
                serving = False
            elif self._control.fileno() in ready:
                serving = self._listen()
        self._wait_for_guards()

    def _listen(self) -> bool:
        received = self._control.receive(files=True)
        if received is None:
            return False
        _message, (link,) = received
        guard = os.fork()
        if guard == 0:
            self._become_guard(link)
        self._guards[guard] = 0
        os.close(link)
        return True

    def _become_guard(self, link: int) -> NoReturn:
        code = 1
        try:
            os.close(self._control.fileno())
            os.close(self._wakeup)
            Guard(Frames(socket.socket(fileno=link)), self._executor, SystemClock(), self._work).serve()
            code = 0
        except ConnectionError:
            code = 0  # the executor went away in the middle of a report, which comes when nothing is left below
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> bool:
        """Collect guards that ended, and kill what a dead guard has left; whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                self._rouse(pid)
            else:
                self._guards.pop(pid, None)
        tree = process_tree()
        for stranger in set(tree.get(os.getpid(), ())) - self._guards.keys():
            send_signal({stranger} | descendants(stranger, tree), signal.SIGKILL)
        return True

    def _rouse(self, pid: int) -> None:
        if pid not in self._guards:
            return  # what a dead guard has left is killed anyway
        self._guards[pid] += 1
        send_signal([pid], signal.SIGCONT if self._guards[pid] <= _STOPS_FORGIVEN else signal.SIGKILL)

    def _wait_for_guards(self) -> None:
        while self._reap():
            select.select([self._wakeup], [], [], 1.0)
            with suppress(BlockingIOError):
                os.read(self._wakeup, 4096)


def load_work(target: str, file: str, names: list[str]) -> Work:
    """Import the handlers and return what a worker does. A thread would be lost in every fork, so none may start."""
    from orth.executor.worker import load_worker  # only here: guards of scripts stay small

    before = threading.active_count()
    os.environ[IMPORTING] = target
    try:
        work = load_worker(target, file, names)
    finally:
        del os.environ[IMPORTING]
    if threading.active_count() > before:
        threads = ", ".join(thread.name for thread in threading.enumerate()[before:])
        raise OrthError(
            f"Importing {target} starts threads ({threads}), which worker processes would not have.",
            hint='Start them in init, or below if __name__ == "__main__".',
        )
    gc.freeze()  # what was imported stays shared between the workers
    return work


def main(arguments: list[str]) -> int:
    control = Frames(socket.socket(fileno=int(arguments[0])))
    executor = int(arguments[1])
    for descriptor in (control.fileno(), executor):
        os.set_inheritable(descriptor, False)
    try:
        work = load_work(arguments[2], arguments[3], arguments[4:]) if len(arguments) > 2 else None
        nursery = Nursery(control, executor, work)
    except (OrthError, OSError) as error:
        control.send({"failed": str(error)})
        return 1
    control.send({"ready": True})
    nursery.serve()
    return 0
