"""Noticing an async handler that blocks its event loop.

``time.sleep`` or a synchronous client inside ``async def`` stops every task of the handler, and nothing says so. One
thread asks the loops of running async handlers, twice a second, to answer. A loop that took longer than a second gets a
line in the log of its execution, with the place in the author's code where it stood: ``the handler blocked its event
loop for 4.0 s at fetch.py:31``. While no async handler runs, the thread sleeps; it ends with the last executor of the
process (``capture``).
"""

import asyncio
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from orth.executor.context import JobContext, left
from orth.executor.leftovers import ResidentThread

LOOK_EVERY = 0.5
LONGEST_SILENCE = 1.0
_ENDS_WITHIN = 1.0

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_OURS = str(Path(__file__).parent)


@dataclass(eq=False, slots=True)
class _Watched:
    """One execution on its loop. ``asked_at`` is set while an answer is owed."""

    context: JobContext
    loop: asyncio.AbstractEventLoop
    thread: int
    asked_at: float | None = None
    place: str = ""

    def look(self) -> None:
        """Ask, or see where the loop stands while it does not answer."""
        if self.asked_at is None:
            self.asked_at, self.place = self.context.clock.monotonic(), ""
            with suppress(RuntimeError):  # the loop was closed a moment ago
                self.loop.call_soon_threadsafe(self.answer)
        else:
            self.place = _place_of(sys._current_frames().get(self.thread)) or self.place

    def answer(self) -> None:
        """Called by the loop."""
        asked_at, self.asked_at = self.asked_at, None
        if asked_at is None:
            return
        silence = self.context.clock.monotonic() - asked_at
        if silence >= LONGEST_SILENCE:
            where = self.place and f" at {self.place}"
            self.context.run_log.write(f"--- the handler blocked its event loop for {silence:.1f} s{where}")


def _place_of(frame: FrameType | None) -> str:
    """The innermost line of the author's own code; of anybody's when there is none."""
    innermost = frame
    while frame is not None and frame.f_code.co_filename.startswith((*_LIBRARIES, _OURS)):
        frame = frame.f_back
    found = frame or innermost
    return f"{Path(found.f_code.co_filename).name}:{found.f_lineno}" if found is not None else ""


class _Watch:
    """The thread and what it looks at."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: set[_Watched] = set()
        self._thread: threading.Thread | None = None

    def add(self, watched: _Watched) -> None:
        with self._changed:
            self._watched.add(watched)
            if self._thread is None or not self._thread.is_alive():  # it is not there after a fork
                self._thread = ResidentThread(target=self._run, name="orth-loop-watch", daemon=True)
                with left(), suppress(RuntimeError):  # for all executions, of none; without a thread nobody watches
                    self._thread.start()
            self._changed.notify()

    def remove(self, watched: _Watched) -> None:
        with self._changed:
            self._watched.discard(watched)

    def end(self) -> None:
        """Let the thread end, whatever it looks at: a handler that was left behind is watched by nobody any more."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(_ENDS_WITHIN)

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._watched or self._thread is not me)
                if self._thread is not me:
                    return
                looked_at = tuple(self._watched)
            for watched in looked_at:
                watched.look()
            with self._changed:
                self._changed.wait_for(lambda: self._thread is not me, LOOK_EVERY)


_watch = _Watch()


def end_watch() -> None:
    """No executor is left in this process."""
    _watch.end()


@contextmanager
def watching_loop(context: JobContext) -> Iterator[None]:
    """Inside a coroutine: watch the loop it runs on until the block is left."""
    watched = _Watched(context, asyncio.get_running_loop(), threading.get_ident())
    _watch.add(watched)
    try:
        yield
    finally:
        _watch.remove(watched)
        watched.answer()  # a handler may block to its very end
