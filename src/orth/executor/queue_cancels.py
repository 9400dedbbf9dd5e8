"""Which executions are to end: every executor of queues hears it, and those that have one begin to end it.

Whoever cancels tells it again while an executor still names the execution, so one that was not heard is only late. What
no coordinator has signed ends nothing.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress

from pydantic import ValidationError

from orth.channels.interface import Channels, Listening
from orth.channels.names import Names
from orth.clock import Clock
from orth.errors import OrthError, Unavailable
from orth.events import Events
from orth.executor.admission import Admission
from orth.executor.facts import DispatchUnreadable, EntriesRefused
from orth.executor.queue_reports import Taken
from orth.loop import Loop
from orth.wire.channel_messages import Cancel
from orth.wire.entry_signatures import refusal_of
from orth.wire.messages import KillRequest
from orth.wire.signatures import Key

LISTEN_WAIT = 1.0
"""Seconds a turn listens; leaving waits for it."""
_LONGEST_PAUSE = 5.0


class Cancels(Loop):
    """Listens, and kills."""

    def __init__(
        self,
        channels: Channels,
        names: Names,
        taken: Mapping[int, Taken],
        admission: Admission,
        key: Key,
        clock: Clock,
        events: Events,
    ) -> None:
        super().__init__(clock, events)
        self._longest_pause = _LONGEST_PAUSE
        self._channels = channels
        self._topic = names.cancel
        self._taken = taken
        self._admission = admission
        self._key = key
        self._stack = AsyncExitStack()
        self._ear: Listening | None = None

    async def turn(self) -> float:
        try:
            if self._ear is None:
                self._ear = await self._stack.enter_async_context(self._channels.listen([self._topic]))
            heard = await self._ear.next(LISTEN_WAIT)
        except Unavailable:
            await self.deafen()
            raise
        for one in heard:
            self._cancel(one.message)
        return 0.0

    async def deafen(self) -> None:
        """Listen no more, until the next turn."""
        self._ear = None
        with suppress(OrthError):
            await self._stack.aclose()

    def _cancel(self, message: Mapping[str, object]) -> None:
        try:
            cancel = Cancel.model_validate(message)
        except ValidationError as error:
            self.events.emit(DispatchUnreadable(self._topic, f"{error.error_count()} members are missing or wrong"))
            return
        taken = self._taken.get(cancel.execution_id)
        if taken is None:
            return  # another executor's, which may have another token
        refused = refusal_of(message, self._topic, self._key, self.clock.now())
        if refused is not None:
            self.events.emit(EntriesRefused(self._topic, refused, 1))
            return
        taken.cancelled = True
        self._admission.kill(KillRequest(job_id=taken.job_id, log_id=taken.id))
