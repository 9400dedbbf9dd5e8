"""Watching an ``orth up`` that runs elsewhere: the same picture and keys, through its socket.

``q`` and Ctrl+C leave the picture; what runs goes on.
"""

import asyncio
import signal
import threading

from orth.apphost.control import ask, watch
from orth.apphost.front import Front
from orth.apphost.lines import LastLines, Line
from orth.apphost.place import Place
from orth.apphost.screen import say
from orth.apphost.snapshot import Snapshot
from orth.apphost.viewing import Do, Wish
from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events


async def attach(place: Place, clock: Clock) -> int:
    """Show what runs in ``place`` until it ends or the person leaves; the exit code."""
    watching = Watching(place, clock)
    try:
        await watching.run()
    finally:
        for line in watching.farewell:
            say(line)
    return 0


class Watching:
    """A picture of somebody else's processes."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.farewell: list[str] = []
        self._place = place
        self._lines = LastLines()
        self._shown: Snapshot | None = None
        self._first = asyncio.Event()
        self._over = asyncio.Event()
        self._front = Front(self._snapshot, self._lines, self._carry_out, clock, Events())

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        # A thread that nobody waits for: it may sit in a read when the person leaves.
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        await self._first.wait()
        if self._shown is None:
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave)
        drawing = asyncio.create_task(self._front.run())
        await self._over.wait()
        self._front.stop()
        await drawing

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        said = f"the orth up in {self._place.folder} has ended"
        try:
            for shown, lines in watch(self._place):
                loop.call_soon_threadsafe(self._hear, shown, lines)
        except OrthError as error:
            said = str(error)
        except RuntimeError:  # the loop is closed: the person has left
            return
        loop.call_soon_threadsafe(self._end, said)

    def _hear(self, shown: Snapshot, lines: list[Line]) -> None:
        self._shown = shown
        for line in lines:
            self._lines.add(line)
        self._first.set()
        self._front.wake()

    def _end(self, said: str) -> None:
        if not self._over.is_set():
            self.farewell.append(said)
        self._first.set()
        self._over.set()

    def _leave(self) -> None:
        if not self._over.is_set():
            self.farewell.append(f"orth up goes on in {self._place.folder}; orth down ends it")
        self._over.set()

    def _snapshot(self) -> Snapshot:
        assert self._shown is not None
        return self._shown

    async def _carry_out(self, wish: Wish) -> str:
        if wish.do is Do.QUIT:
            self._leave()
            return ""
        return str((await asyncio.to_thread(ask, self._place, do=wish.do, name=wish.name))["said"])
