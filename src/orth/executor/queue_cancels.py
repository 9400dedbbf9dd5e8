"""What coordinators say to all executors of queues: which executions are to end, and which logs did not arrive whole.

Those that have such an execution begin to end it, and those that have such a log send it again. Whoever says so says it
again while it is needed, so what was not heard is only late. What no coordinator has signed does nothing.

Who listens at all times is the first to know that the channels were away, also while nothing is taken: offers are then
in doubt (``queue_doubt``).
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress

from pydantic import ValidationError

from orth.channels.interface import ExecutorChannels, Listening
from orth.channels.names import Names
from orth.clock import Clock
from orth.errors import OrthError, Unavailable
from orth.events import Events
from orth.executor.admission import Admission
from orth.executor.facts import DispatchUnreadable, EntriesRefused
from orth.executor.queue_doubt import Doubt
from orth.executor.queue_logs import LogFeed
from orth.executor.queue_reports import Taken
from orth.loop import Loop
from orth.wire.channel_messages import Cancel, LogsWanted
from orth.wire.entry_signatures import refusal_of
from orth.wire.messages import KillRequest
from orth.wire.signatures import Key

LISTEN_WAIT = 1.0
"""Seconds a turn listens; leaving waits for it."""
_LONGEST_PAUSE = 5.0


class Cancels(Loop):
    """Listens; kills, and has logs sent again."""

    def __init__(
        self,
        channels: ExecutorChannels,
        names: Names,
        taken: Mapping[int, Taken],
        admission: Admission,
        key: Key,
        clock: Clock,
        events: Events,
        *,
        feed: LogFeed,
        doubt: Doubt,
        app_name: str,
    ) -> None:
        super().__init__(clock, events)
        self._longest_pause = _LONGEST_PAUSE
        self._channels = channels
        self._topic = names.cancel
        self._wanted = names.logs_wanted
        self._feed = feed
        self._doubt = doubt
        self._app_name = app_name
        self._taken = taken
        self._admission = admission
        self._key = key
        self._stack = AsyncExitStack()
        self._ear: Listening | None = None
        self._missed = 0

    async def turn(self) -> float:
        try:
            ear = self._ear
            if ear is None:
                ear = self._ear = await self._stack.enter_async_context(
                    self._channels.listen([self._topic, self._wanted])
                )
                self._missed = ear.missed
            heard = await ear.next(LISTEN_WAIT)
        except Unavailable:
            self._doubt.arise()
            await self.deafen()
            raise
        if not ear.hears or ear.missed != self._missed:
            self._missed = ear.missed
            self._doubt.arise()
        for one in heard:
            if one.topic == self._wanted:
                self._send_logs(one.message)
            else:
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
        if not self._is_signed(self._topic, message):
            return
        taken.cancelled = True
        self._admission.kill(KillRequest(job_id=taken.job_id, log_id=taken.id))

    def _send_logs(self, message: Mapping[str, object]) -> None:
        if message.get("appName") != self._app_name:
            return  # other executors' logs
        try:
            wanted = LogsWanted.model_validate(message)
        except ValidationError as error:
            self.events.emit(DispatchUnreadable(self._wanted, f"{error.error_count()} members are missing or wrong"))
            return
        if self._is_signed(self._wanted, message):
            self._feed.send_again(wanted.logs, self._admission.is_open)

    def _is_signed(self, topic: str, message: Mapping[str, object]) -> bool:
        refused = refusal_of(message, topic, self._key, self.clock.now())
        if refused is not None:
            self.events.emit(EntriesRefused(topic, refused, 1))
        return refused is None
