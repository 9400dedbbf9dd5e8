"""A guard: the small process that stands between the executor and one child, and can end the child completely.

A guard is the *subreaper* of everything below it: whatever the child starts stays its descendant, even what is forked
twice or makes a session of its own, because the kernel gives orphans to the nearest subreaper. Ending a run is
therefore: SIGTERM to the child's process group and to every other descendant, the grace, SIGKILL to whatever is left,
and reaping until the kernel says that there are no children any more. Only then is the end reported.

What the child leaves behind when it exits by itself is ended the same way, with a short grace. When the executor dies,
however it dies, the guard sees it on the executor's pidfd and kills everything at once: nobody would take the result.

A guard has one thread and one child at a time. It serves one child after the other, so the warm ones cost a script no
fork of an interpreter. The child is started by ``posix_spawn``; or, when it is to be confined, by fork and exec; or it
is forked to become a Python worker.
"""

import os
import select
import signal
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from orth.clock import Clock
from orth.executor.confinement import CATCHABLE, become_command, impose
from orth.executor.frames import PACKET, Frames, Message
from orth.executor.prctl import become_subreaper

LEFTOVER_GRACE = 1.0
"""Seconds that processes left behind by a child have between SIGTERM and SIGKILL."""
LONGEST_POLL = 3600.0
"""Seconds for which to wait at a time: the kernel counts at most some weeks of milliseconds."""
KILL_PATIENCE = 5.0
"""Seconds after SIGKILL until a process that still exists (stuck in the kernel) is reported as a survivor."""

_KILL_AGAIN = 0.02
_STATE, _PARENT, _THREADS = 0, 1, 17  # fields of /proc/PID/stat behind the name, see proc(5)

Work = Callable[[int, int], None]
"""What a forked worker does, given its socket to the executor and where the executor's own stderr goes."""


def wake_on_child_exit() -> int:
    """A descriptor that becomes readable when a child exits.

    SIGTERM is caught rather than ignored: a service manager sends it to every process of the executor, the executor
    alone decides when to leave, and an ignored signal would stay ignored in everything that is started here.
    """
    wakeup, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return wakeup


Tree = dict[int, list[int]]


def process_tree() -> Tree:
    """The living processes of this machine, by their parent."""
    tree: Tree = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                told = file.read().rpartition(b")")[2].split()
                # One whose first thread has left looks dead while another works on.
                if told[_STATE] not in (b"Z", b"X") or int(told[_THREADS]) > 1:
                    tree.setdefault(int(told[_PARENT]), []).append(int(name))
    return tree


def descendants(ancestor: int, tree: Tree | None = None) -> set[int]:
    """Every living process below ``ancestor``."""
    tree = process_tree() if tree is None else tree
    found: set[int] = set()
    ahead = [ancestor]
    while ahead:
        below = tree.get(ahead.pop(), [])
        found.update(below)
        ahead.extend(below)
    return found


def send_signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


Standing = tuple[int, int, int, int, int, int]


def standing_of(found: os.stat_result) -> Standing:
    """What is different whenever a file is another one, or was changed: the change time cannot be set by anybody."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


class _Changed(ValueError):
    """A file does not stand as it did."""


def _check(unchanged: Sequence[Any] | None) -> None:
    if unchanged is None:
        return
    path, before = unchanged
    with suppress(OSError):
        if standing_of(os.lstat(path)) == tuple(before):
            return
    raise _Changed(f"{path} was changed")


class Output:
    """What a command writes, passed on to the executor. When that has no room, the command waits.

    Each has a pipe of its own: what one does to its end, such as making it non-blocking, is done to all who share it.
    The end to write to is kept open here as well. So the pipe never ends while the command runs, and the last of its
    processes, which lets go of it on its way out, does not wake this one a moment before its exit does.
    """

    def __init__(self, link: Frames, poll: select.poll) -> None:
        self._link = link
        self._poll = poll
        self._reading = self._writing = -1
        self._kept = b""
        """Read already, and to be passed on as soon as there is room."""

    def open(self) -> int:
        """Where the next command writes."""
        self._reading, self._writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._reading, False)
        self._poll.register(self._reading, select.POLLIN)
        return self._writing

    def pass_on(self, ready: Mapping[int, int]) -> None:
        """Pass on some of it, if there is any and there is room."""
        if self._kept:
            if ready.get(self._link.fileno(), 0) & select.POLLOUT and self._link.send_output(self._kept, wait=False):
                self._kept = b""
                self._poll.modify(self._link, select.POLLIN)
                self._poll.register(self._reading, select.POLLIN)
        elif self._reading in ready:
            data = os.read(self._reading, PACKET)
            if not self._link.send_output(data, wait=False):
                self._kept = data
                self._poll.unregister(self._reading)
                self._poll.modify(self._link, select.POLLIN | select.POLLOUT)

    def finish(self) -> None:
        """Pass on everything that is left, however long the executor takes for it: there is nothing else to do."""
        if self._reading < 0:
            return
        if self._kept:
            self._link.send_output(self._kept, wait=True)
            self._poll.modify(self._link, select.POLLIN)
        with suppress(BlockingIOError):
            while True:
                self._link.send_output(os.read(self._reading, PACKET), wait=True)
        self.close()

    def close(self) -> None:
        """Let go of the pipe, if there is one."""
        if self._reading >= 0:
            with suppress(KeyError):
                self._poll.unregister(self._reading)
            os.close(self._reading)
            os.close(self._writing)
        self._reading, self._writing, self._kept = -1, -1, b""


class Guard:
    """Serves one child at a time until the executor hangs up."""

    def __init__(self, link: Frames, executor: int, clock: Clock, work: Work | None) -> None:
        self._link = link
        self._executor = executor
        self._clock = clock
        self._work = work
        self._nursery = os.getppid()
        self._child = 0
        self._status = 0
        self._running = False
        self._kill_at: float | None = None
        self._give_up_at: float | None = None
        become_subreaper()
        self._wakeup = wake_on_child_exit()
        self._home = os.getcwd()
        self._poll = select.poll()
        for descriptor in (link.fileno(), executor, self._wakeup):
            self._poll.register(descriptor, select.POLLIN)
        self._output = Output(link, self._poll)

    def serve(self) -> None:
        """Return when the executor has hung up or died, with nothing left below."""
        self._link.send({"here": os.getpid()})
        while True:
            ready = dict(self._poll.poll(self._pause()))
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            spoken_to = ready.get(self._link.fileno(), 0) & ~select.POLLOUT
            if self._executor in ready or (spoken_to and not self._listen()):
                self._kill_all()
                self._wake_nursery()
                return
            self._output.pass_on(ready)
            if self._running:
                self._follow()

    def _listen(self) -> bool:
        received = self._link.receive(files=True)
        if received is None:
            return False
        message, descriptors = received
        try:
            if message["do"] == "end":
                self._begin_end(message["grace"])
            else:
                self._start(message, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _start(self, message: Message, descriptors: list[int]) -> None:
        self._status, self._kill_at, self._give_up_at = 0, None, None
        try:
            if message["do"] == "spawn":
                _check(message["unchanged"])
                self._child = self._spawn(message)
            else:
                self._child = self._fork(message["limits"], *descriptors)
            self._running = True
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or str(error)
            self._link.send({"failed": told, "changed": isinstance(error, _Changed)})

    def _spawn(self, message: Message) -> int:
        argv: list[str] = message["argv"]
        output = self._output.open()
        try:
            os.chdir(message["cwd"])
            if message["confined"] is not None:
                return self._spawn_confined(message, output)
            return os.posix_spawn(
                argv[0],
                argv,
                message["env"],
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, output, 1),
                    (os.POSIX_SPAWN_DUP2, output, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=CATCHABLE,
            )
        except BaseException:
            self._output.close()
            raise
        finally:
            self._go_home()

    def _spawn_confined(self, message: Message, output: int) -> int:
        """By fork and exec, because ``posix_spawn`` knows neither limits nor users. Returns when it has become the
        command; ``OSError`` says why it could not.
        """
        hearing, telling = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            become_command(message, output, telling)
        os.close(telling)
        with os.fdopen(hearing, "rb") as told:
            trouble = told.read().decode()
        if trouble:
            os.waitpid(child, 0)
            raise OSError(trouble)
        return child

    def _go_home(self) -> None:
        """Leave the command's folder. It has started by now, so nothing here may fail: where the executor was started
        may have been moved or removed since.
        """
        for folder in (self._home, "/"):
            with suppress(OSError):
                os.chdir(folder)
                return

    def _fork(self, limits: Mapping[str, int], conversation: int, output: int) -> int:
        child = os.fork()
        if child == 0:
            self._become_worker(limits, conversation, output)
        return child

    def _become_worker(self, limits: Mapping[str, int], conversation: int, output: int) -> NoReturn:
        code = 1
        try:
            os.setsid()
            impose(limits)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            beyond = os.dup(2)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for source, place in ((nothing, 0), (output, 1), (output, 2)):
                os.dup2(source, place)
            for descriptor in (self._link.fileno(), self._executor, self._wakeup, nothing, output):
                os.close(descriptor)
            assert self._work is not None, "this nursery has no handlers"
            self._work(conversation, beyond)
            code = 0
        except BaseException:
            traceback.print_exc()  # to the log of whatever it is carrying out
        finally:
            os._exit(code)

    def _begin_end(self, grace: float) -> None:
        """Ask everything below to end. A second request can only shorten the grace."""
        if not self._running:
            return
        deadline = self._clock.monotonic() + max(0.0, grace)
        self._kill_at = deadline if self._kill_at is None else min(self._kill_at, deadline)
        if grace <= 0:
            return
        below = descendants(os.getpid())
        with suppress(ProcessLookupError, PermissionError):
            if self._child:
                os.killpg(self._child, signal.SIGTERM)
        send_signal((pid for pid in below if _group_of(pid) != self._child), signal.SIGTERM)

    def _follow(self) -> None:
        """Reap, and move the end of the run forward if it has begun."""
        left = self._reap()
        if left and self._child == 0 and self._kill_at is None:
            self._begin_end(LEFTOVER_GRACE)
        now = self._clock.monotonic()
        if left and self._kill_at is not None and now >= self._kill_at:
            send_signal(descendants(os.getpid()), signal.SIGKILL)
            self._give_up_at = self._give_up_at or now + KILL_PATIENCE
            left = self._reap()
        stuck = left and self._give_up_at is not None and now >= self._give_up_at
        if not left or stuck:
            self._running = False
            self._output.finish()
            if left:
                self._link.send({"ended": self._status, "survivors": sorted(descendants(os.getpid()))})
            else:
                self._link.send_ended(self._status)

    def _reap(self) -> bool:
        """Collect what has exited; whether anything is left below."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._child, self._status = 0, os.waitstatus_to_exitcode(status)

    def _kill_all(self) -> None:
        """Nothing may outlive the executor; what is forked meanwhile is met in the next round."""
        while self._reap():
            send_signal(descendants(os.getpid()), signal.SIGKILL)
            select.select([self._wakeup], [], [], _KILL_AGAIN)
            with suppress(BlockingIOError):
                os.read(self._wakeup, 4096)

    def _wake_nursery(self) -> None:
        """Should what was below have stopped it; it is dead now and cannot do it again."""
        if os.getppid() == self._nursery:
            send_signal([self._nursery], signal.SIGCONT)

    def _pause(self) -> float | None:
        """Milliseconds until something is to be done unasked."""
        if not self._running or self._kill_at is None:
            return None
        return min(max(_KILL_AGAIN, self._kill_at - self._clock.monotonic()), LONGEST_POLL) * 1000


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0
