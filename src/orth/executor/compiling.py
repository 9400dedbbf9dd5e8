"""GLUE on its way from text to code, in processes that may fail at it.

``Compiler`` is one process that runs ``glue_compiler``. What it may use grows with the length of the source, far above
what sources of that length need: beyond it, the source is refused. ``Compiling`` has two lanes. A usual source goes to
one process that is kept, and takes milliseconds there; a large one gets a process of its own, which is gone afterwards
with its memory. So nobody with a usual source waits for a large one.

What was compiled is kept by job and version until its trigger is taken; so is a refusal that would be the same again.
"""

import marshal
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from os import close, pipe
from pathlib import Path
from typing import Self

from orth.clock import SystemClock
from orth.domain.jobs import GlueType
from orth.executor import glue_compiler
from orth.executor.glue import GlueSource
from orth.forked import let_go_in_child
from orth.wire.fields import BODY_LIMIT
from orth.wire.messages import RunRequest

USUAL = 16 * 1024
"""Characters of a source that goes to the compiler that is kept."""
COMPILERS = 2
"""Large sources that are compiled at the same time."""
PREPARING_LIMIT = 10
"""Requests whose large source is being compiled or waits for that; each keeps its caller's thread."""
_USUAL_PREPARING_LIMIT = 200
_LONGEST = 60.0
"""Seconds within which a compiler must have answered, however little it was allowed to work meanwhile."""
_KEPT = 2000
_KEPT_CHARACTERS = 2 * BODY_LIMIT
_MIB = 1024 * 1024

Version = tuple[GlueType, int, bytes]
Key = tuple[int, Version]


@dataclass(frozen=True, slots=True)
class Allowance:
    """What compiling one source may use."""

    seconds: float
    """Of processor time."""
    memory: int
    answer: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Several times what the worst source of this length needs that is not made to need more."""
        return cls(
            seconds=min(60.0, 2.0 + len(text) / 50_000),
            memory=min(2048 * _MIB, 256 * _MIB + 1200 * len(text)),
            answer=min(64 * _MIB, _MIB + 32 * len(text)),
        )


class Uncompiled(Exception):
    """There is no code, and why; ``lasting`` when it would be the same another time."""

    def __init__(self, why: str, *, lasting: bool) -> None:
        super().__init__(why)
        self.lasting = lasting


class Compiler:
    """One process that compiles, one source at a time; it is started when it is needed, again after it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._closed = False

    def compile(self, request: RunRequest) -> GlueSource:
        """``Uncompiled`` when that cannot be done."""
        text, name = request.glue_source, GlueSource.name_of(request)
        allowance = Allowance.of(text)
        running = self._started()
        try:
            answer = running.ask(text, name, allowance)
        except TimeoutError:
            self._stop(running)
            raise Uncompiled(f"it was not compiled within {_LONGEST:g} s", lasting=False) from None
        except (OSError, EOFError):
            raise _died(self._stop(running), allowance) from None
        try:
            code, entry, complaint = marshal.loads(answer)  # noqa: S302  # written by our own program
        except ValueError as error:
            raise Uncompiled(f"its code cannot be read: {error}", lasting=True) from None
        if complaint:
            raise Uncompiled(complaint, lasting=True)
        return GlueSource(request, code, entry)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._closed = True
            running = self._running
        if running is not None:
            self._stop(running)

    def _started(self) -> "_Running":
        with self._lock:
            if self._closed:
                raise Uncompiled("this executor is stopping", lasting=False)
            if self._running is None:
                try:
                    self._running = _Running()
                except OSError as error:
                    raise Uncompiled(f"no process to compile it can be started: {error}", lasting=False) from None
            return self._running

    def _stop(self, running: "_Running") -> int:
        with self._lock:
            if self._running is running:
                self._running = None
        return running.end()


def _died(code: int, allowance: Allowance) -> Uncompiled:
    if code == -signal.SIGXCPU:
        return Uncompiled(f"it takes more than {allowance.seconds:.3g} s of processor time to compile", lasting=True)
    died = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit value {code}"
    return Uncompiled(f"the compiler died of it: {died}", lasting=code in (-signal.SIGSEGV, -signal.SIGABRT))


class _Running:
    """The process, and the executor's ends of what connects them."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._link, theirs = socket.socketpair()
        sign, self._sign = pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own file
                [sys.executable, "-I", "-S", str(Path(glue_compiler.__file__)), str(sign)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(sign,),
                start_new_session=True,  # Ctrl-C is for the executor, which ends it in time
            )
        except BaseException:
            self._link.close()
            close(self._sign)
            raise
        finally:
            theirs.close()
            close(sign)
        self._ending = threading.Lock()
        self._ended = False
        self._keep_in_child = let_go_in_child(self._part)

    def ask(self, text: str, name: str, allowance: Allowance) -> bytes:
        """``TimeoutError`` or ``OSError`` or ``EOFError`` when no answer comes."""
        until = self._clock.monotonic() + _LONGEST
        parts = [part.encode("utf-8", "surrogatepass") for part in (name, text)]
        numbers = (*map(len, parts), allowance.seconds, allowance.memory, allowance.answer)
        self._link.settimeout(_LONGEST)
        self._link.sendall(b"".join((glue_compiler.REQUEST.pack(*numbers), *parts)))
        (size,) = glue_compiler.ANSWER.unpack(self._received(glue_compiler.ANSWER.size, until))
        return self._received(size, until)

    def _received(self, count: int, until: float) -> bytes:
        received = bytearray()
        while len(received) < count:
            self._link.settimeout(max(0.001, until - self._clock.monotonic()))
            part = self._link.recv(min(_MIB, count - len(received)))
            if not part:
                raise EOFError
            received += part
        return bytes(received)

    def end(self) -> int:
        """Kill it if it is still there; what it ended with."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2 if self._hung_up() else 0)  # with a word of its own, if it has one
        self._process.kill()
        code = self._process.wait()
        with self._ending:
            if not self._ended:
                self._ended = True
                self._keep_in_child()
                self._part()
        return code

    def _hung_up(self) -> bool:
        with suppress(OSError):
            self._link.setblocking(False)
            return not self._link.recv(1, socket.MSG_PEEK)
        return False

    def _part(self) -> None:
        """Also in a forked child, whose copies would keep the process alive after the executor's death."""
        self._link.close()
        close(self._sign)


class _Lane:
    """Sources that wait for the same compilers, and who waits for them."""

    def __init__(self, compilers: int, waiting_limit: int, kept: Compiler | None = None) -> None:
        self.waiting = 0
        self.waiting_limit = waiting_limit
        self._pool = ThreadPoolExecutor(compilers, thread_name_prefix="orth-glue")
        self._kept = kept
        self._at_work: set[Compiler] = set() if kept is None else {kept}

    def submit(self, work: "_Work") -> Future[None]:
        """``RuntimeError`` when it is closed."""
        return self._pool.submit(work, self)

    def compile(self, request: RunRequest) -> GlueSource:
        if self._kept is not None:
            return self._kept.compile(request)
        own = Compiler()
        self._at_work.add(own)
        try:
            return own.compile(request)
        finally:
            self._at_work.discard(own)
            own.close()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for compiler in list(self._at_work):
            compiler.close()


@dataclass(frozen=True, slots=True)
class _Work:
    compiling: "Compiling"
    key: Key
    request: RunRequest

    def __call__(self, lane: _Lane) -> None:
        self.compiling.carry_out(self, lane)


class Compiling:
    """What is being compiled, and what was compiled and not yet taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usual = _Lane(1, _USUAL_PREPARING_LIMIT, Compiler())
        self._large = _Lane(COMPILERS, PREPARING_LIMIT)
        self._begun: dict[Key, Future[None]] = {}
        self._made: OrderedDict[Key, GlueSource | Uncompiled] = OrderedDict()
        self._characters = 0

    def knows(self, key: Key) -> bool:
        """Whether there is nothing to wait for."""
        with self._lock:
            return self._is_made(key)

    def wait_for(self, key: Key, request: RunRequest, seconds: float | None = None) -> None:
        """Have it compiled, in a line that has an end, and wait for that; ``take`` tells what has become of it."""
        lane = self._usual if len(request.glue_source) <= USUAL else self._large
        begun = self._begin(key, request, lane)
        if begun is None:
            return
        try:
            with suppress(CancelledError, TimeoutError):  # the executor is stopping, or the caller has others
                begun.result(seconds)
        finally:
            with self._lock:
                lane.waiting -= 1

    def take(self, key: Key) -> GlueSource | str | None:
        """The source, once; or why there is none; ``None`` when it was never begun, or is not done yet."""
        with self._lock:
            made = self._made.get(key)
            if isinstance(made, Uncompiled):
                return str(made)
            if made is not None:
                self._drop(key)
            return made

    def close(self) -> None:
        self._usual.close()
        self._large.close()

    def carry_out(self, work: _Work, lane: _Lane) -> None:
        made: GlueSource | Uncompiled = Uncompiled("the compiler failed", lasting=False)
        try:
            made = lane.compile(work.request)
        except Uncompiled as complaint:
            made = complaint
        finally:
            with self._lock:
                self._begun.pop(work.key, None)
                self._keep(work.key, made)

    def _begin(self, key: Key, request: RunRequest, lane: _Lane) -> "Future[None] | None":
        """What to wait for, and one more who waits; a request that is repeated finds the work begun, or done."""
        with self._lock:
            if self._is_made(key) or lane.waiting >= lane.waiting_limit:
                return None
            begun = self._begun.get(key)
            if begun is None:
                try:
                    begun = self._begun[key] = lane.submit(_Work(self, key, request))
                except RuntimeError as error:  # the executor has stopped, or the system gives no thread for it now
                    self._keep(key, Uncompiled(f"it cannot be compiled now: {error}", lasting=False))
                    return None
            lane.waiting += 1
            return begun

    def _is_made(self, key: Key) -> bool:
        made = self._made.get(key)
        # A complaint that need not last is tried again: there may have been no time, or no process.
        return isinstance(made, GlueSource) or (made is not None and made.lasting)

    def _keep(self, key: Key, made: GlueSource | Uncompiled) -> None:
        self._drop(key)
        self._made[key] = made
        self._characters += _length(made)
        while len(self._made) > 1 and (len(self._made) > _KEPT or self._characters > _KEPT_CHARACTERS):
            self._drop(next(iter(self._made)))

    def _drop(self, key: Key) -> None:
        made = self._made.pop(key, None)
        self._characters -= 0 if made is None else _length(made)


def _length(made: GlueSource | Uncompiled) -> int:
    return len(made.text) if isinstance(made, GlueSource) else 0
