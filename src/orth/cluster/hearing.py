"""A loop that listens to topics."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from orth.channels.interface import Channels, Heard, Listening
from orth.clock import Clock
from orth.events import Events
from orth.loop import Loop

_PATIENCE = 30.0


class Hearing(Loop):
    """Keeps an ear open from its first turn to its end; each turn is what has come by then.

    A backend that fails is listened to anew at the next turn, after the pause of every failed turn.
    """

    def __init__(
        self,
        channels: Channels,
        topics: Sequence[str],
        clock: Clock,
        events: Events,
        *,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(clock, events, chance=chance)
        self._channels = channels
        self._topics = topics
        self._ear: tuple[AsyncExitStack, Listening] | None = None

    @abstractmethod
    async def heard(self, messages: Sequence[Heard]) -> None:
        """What was said; perhaps nothing."""

    async def turn(self) -> float:
        try:
            ear = await self._open()
            messages = await self._next(ear)
        except BaseException:
            await self.close()
            raise
        await self.heard(messages)
        return 0.0

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await self.close()

    async def close(self) -> None:
        ear, self._ear = self._ear, None
        if ear is not None:
            await ear[0].aclose()

    @property
    def missed(self) -> int:
        """How much went by unheard since this ear was opened."""
        return 0 if self._ear is None else self._ear[1].missed

    def listening(self) -> AbstractAsyncContextManager[Listening]:
        """A new ear; asked for whenever there is none."""
        return self._channels.listen(self._topics)

    def patience(self) -> float:
        """Seconds after which a turn goes on though nothing has come."""
        return _PATIENCE

    async def _open(self) -> Listening:
        if self._ear is None:
            stack = AsyncExitStack()
            self._ear = stack, await stack.enter_async_context(self.listening())
        return self._ear[1]

    async def _next(self, ear: Listening) -> Sequence[Heard]:
        """What comes next; nothing when this loop is woken, so that it stops at once when it is told to."""
        coming = asyncio.ensure_future(ear.next(self.patience()))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait((coming, woken), return_when=asyncio.FIRST_COMPLETED)
            return await coming if coming.done() else ()
        finally:
            for task in (coming, woken):
                task.cancel()
            await asyncio.gather(coming, woken, return_exceptions=True)
