"""What of the process itself an execution may change, put back before the next one.

A worker is used again and again. An alarm that one handler forgot would kill the next, a signal it ignores would keep
the next from being ended, a folder, a mask or a variable it left would mislead it. So after each execution everything
that belongs to the worker is as it was: signal handlers and the signal mask, timers, current folder, file mask,
environment, ``sys.stdout`` and ``sys.stderr``, and whether the descriptors 0 to 2 block. What cannot be put back is
said, and ends the worker: one of those descriptors was closed or leads elsewhere, or C code has changed what becomes of
a signal.

What else lives in Python's own objects, such as the variables of a module, is not looked at: that it stays is what a
warm worker is for.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TextIO

_STANDARD = (0, 1, 2)
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_NO_TIMER = (0.0, 0.0)
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_STATUS = "/proc/thread-self/status"
_MASKS = (b"SigBlk:", b"SigIgn:", b"SigCgt:")
_OF_THE_C_LIBRARY = 0b11 << 31
"""The signals 32 and 33, which the C library keeps for its threads and catches from the first thread on."""

_Place = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Belongings:
    """The worker as it is at one moment."""

    handlers: dict[int, Any]
    mask: frozenset[int]
    masks: tuple[int, ...]
    """What the kernel says of all signals; ``getsignal`` does not see what C code has set."""
    timers: tuple[tuple[float, float], ...]
    folder: str | None
    umask: int
    environment: dict[str, str]
    standard: tuple[_Place, ...]
    """Which file is at each descriptor; ``None`` where there is none."""
    blocking: tuple[bool, ...]
    streams: tuple[TextIO, TextIO]
    """Where prints and errors go."""

    @classmethod
    def now(cls) -> Self:
        umask = os.umask(0o077)
        os.umask(umask)
        return cls(
            handlers={number: signal.getsignal(number) for number in _SIGNALS},
            mask=frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            masks=_signal_masks(),
            timers=tuple(map(signal.getitimer, _TIMERS)),
            folder=_folder(),
            umask=umask,
            environment=dict(os.environ),
            standard=tuple(map(_place, _STANDARD)),
            blocking=tuple(map(_blocks, _STANDARD)),
            streams=(sys.stdout, sys.stderr),
        )

    def put_back(self) -> str:
        """Make everything as it was; what cannot be made so, in words, and nothing when all is."""
        self._stop_timers()  # first: one that goes off now would find the handler of another
        self._set_own_handlers()
        os.umask(self.umask)
        self._set_environment()
        sys.stdout, sys.stderr = self.streams
        found = tuple(map(_place, _STANDARD))
        if found != self.standard:
            lost = [str(number) for number in _STANDARD if found[number] != self.standard[number]]
            return f"closed or redirected descriptor {' and '.join(lost)}"
        for number in _STANDARD:
            if found[number] is not None and os.get_blocking(number) != self.blocking[number]:
                os.set_blocking(number, self.blocking[number])
        if not self._signals_are_back():
            return "changed what becomes of a signal in a way that cannot be taken back"
        return "" if self._went_back() else f"left the folder {self.folder}, which is no longer there"

    def _stop_timers(self) -> None:
        for timer, before in zip(_TIMERS, self.timers, strict=True):
            found = signal.getitimer(timer)
            if before == _NO_TIMER and found != _NO_TIMER:
                signal.setitimer(timer, 0)
            elif before[1] != found[1]:
                signal.setitimer(timer, before[1], before[1])

    def _set_own_handlers(self) -> None:
        """Python functions are set in any case: another one, or C code, may have taken their place unseen."""
        for number, handler in self.handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def _signals_are_back(self) -> bool:
        """Of the other signals the kernel knows, in one small file, whether there is anything to do."""
        if self.masks and _signal_masks() == self.masks:
            return True
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        return _signal_masks() == self.masks

    def _set_environment(self) -> None:
        found = dict(os.environ)
        if found == self.environment:
            return
        for name in found.keys() - self.environment.keys():
            del os.environ[name]
        os.environ.update(self.environment)
        if found.get("TZ") != self.environment.get("TZ"):
            time.tzset()

    def _went_back(self) -> bool:
        if self.folder is None or _folder() == self.folder:
            return True
        with suppress(OSError):
            os.chdir(self.folder)
            return True
        return False


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _place(descriptor: int) -> _Place:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _blocks(descriptor: int) -> bool:
    try:
        return os.get_blocking(descriptor)
    except OSError:
        return True


def _signal_masks() -> tuple[int, ...]:
    """Which signals are blocked, ignored and caught; nothing where the system does not tell."""
    try:
        with open(_STATUS, "rb", buffering=0) as file:
            lines = file.read(8192).split(b"\n")
    except OSError:
        return ()
    return tuple(int(line[8:], 16) & ~_OF_THE_C_LIBRARY for line in lines if line.startswith(_MASKS))
