"""How far an execution is, as it says itself: looked up when somebody asks, and never written down.

What came out of a queue says so in its status box, which every coordinator reads; what was sent to an address is asked
about there. So it costs nothing while nobody looks, and it is gone with the execution: the last word is in the log.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from orth.channels.interface import START, Channels, Entry
from orth.channels.names import Names
from orth.coordinator.logs.reading import LogReading
from orth.domain.executions import TAKEN_PHASES, Execution, Phase
from orth.errors import OrthError
from orth.wire.channel_messages import Standing
from orth.wire.messages import ProgressTold

_PATIENCE = 1.0
"""Seconds for which somebody who looks at an execution waits for this part of it."""
_WORDS = 500
_REMEMBERED = 1_000
_MAY_RUN = (*TAKEN_PHASES, Phase.OFFERED, Phase.UNKNOWN)
"""That somebody took it is written down a moment after it has begun to speak."""


@dataclass(slots=True)
class _Read:
    """How far a status box was read, and what it said last."""

    position: str = START
    newest: ProgressTold | None = None


class ProgressReading:
    """Finds the newest progress of open executions."""

    def __init__(self, logs: LogReading, channels: Channels | None, names: Names) -> None:
        self._logs = logs
        self._channels = channels
        self._names = names
        self._read: OrderedDict[int, _Read] = OrderedDict()

    async def of(self, execution: Execution) -> ProgressTold | None:
        """How far it is; None when it has not said so, is over, or cannot be asked in time."""
        if execution.phase not in _MAY_RUN:
            self._read.pop(execution.id, None)
            return None
        try:
            async with asyncio.timeout(_PATIENCE):
                if execution.queue is None:
                    return await self._logs.executor_progress(await self._logs.source(execution.id))
                return await self._in_box(execution)
        except (TimeoutError, OrthError):
            return None

    async def _in_box(self, execution: Execution) -> ProgressTold | None:
        if self._channels is None:
            return None
        read = self._remembered(execution.id)
        box = self._names.status(execution.job_id, execution.id)
        while entries := (await self._channels.read({box: read.position}, limit=_WORDS)).get(box):
            read.newest = newest_in(entries, read.newest)
            read.position = entries[-1].position
            if len(entries) < _WORDS:
                break
        return read.newest

    def _remembered(self, execution_id: int) -> _Read:
        read = self._read.setdefault(execution_id, _Read())
        self._read.move_to_end(execution_id)
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)
        return read


def newest_in(said: Sequence[Entry], known: ProgressTold | None) -> ProgressTold | None:
    """What the last word about progress is; none when another process has begun since."""
    for entry in said:
        status = entry.message.get("status")
        if status in (Standing.ACCEPTED, Standing.RETURNED):
            known = None
        elif status == Standing.PROGRESS:
            known = ProgressTold.read(entry.message.get("progress")) or known
    return known
