"""The terminal of a person: draws what there is, and turns keys into wishes. Used by the ``orth up`` that keeps the
processes and by one that only watches.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from orth.apphost.drawing import frame
from orth.apphost.lines import LastLines
from orth.apphost.screen import Screen
from orth.apphost.snapshot import Snapshot
from orth.apphost.viewing import View, Wish, step
from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop

_PAUSE = 0.25
_NOTICE_FOR = 4.0


class Front(Loop):
    """Draws four times a second, and after every key."""

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        lines: LastLines,
        carry_out: Callable[[Wish], Awaitable[str]],
        clock: Clock,
        events: Events,
    ) -> None:
        """``carry_out`` does what is wished and says what was done."""
        super().__init__(clock, events)
        self.view = View()
        self._noticed_at = clock.monotonic()
        self._snapshot = snapshot
        self._lines = lines
        self._carry_out = carry_out
        self._screen: Screen | None = None
        self._wishes: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with Screen(self.press) as screen:
            self._screen = screen
            loop.add_signal_handler(signal.SIGWINCH, self.wake)
            try:
                await super().run()
            finally:
                loop.remove_signal_handler(signal.SIGWINCH)
                self._screen = None
                for wish in self._wishes:
                    wish.cancel()

    async def turn(self) -> float:
        if self.clock.monotonic() > self._noticed_at + _NOTICE_FOR:
            self.view = replace(self.view, notice="")
        if self._screen is not None:
            width, height = self._screen.size
            self._screen.draw(frame(self._snapshot(), self.view, self._lines, width, height))
        return _PAUSE

    def press(self, key: str) -> None:
        """A key was pressed."""
        names = [row.name for row in self._snapshot().rows]
        self.view, wish = step(self.view, key, names, self._lines.count)
        if wish is not None:
            task = asyncio.create_task(self._wished(wish))
            self._wishes.add(task)
            task.add_done_callback(self._wishes.discard)
        self.wake()

    async def _wished(self, wish: Wish) -> None:
        with suppress(asyncio.CancelledError):
            try:
                said = await self._carry_out(wish)
            except OrthError as error:
                said = str(error)
            self.view, self._noticed_at = replace(self.view, notice=said), self.clock.monotonic()
            self.wake()
