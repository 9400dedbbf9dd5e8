"""The EndedLogs loop: logs of executions from queues that have ended, until they are archived whole.

Usually a log is whole when its result comes, and is archived with it; then only its boxes are left to remove. Else the
rest is awaited, and asked for where nothing more comes: channels may have forgotten what was there, and the executor
has the file. Whoever has it sends what is missing (``logs.wanted``), also a later process on the same files. So a log
counts as delivered when it is archived whole, and no sooner.

Silence counts only while the channels answer. When several questions brought nothing, what there is is archived, with a
word where something is missing; it is asked for a few times more, at long intervals, and what then comes whole takes
its place. In the end the boxes go. Those of an execution that ended while it waited stay: there it says, for whoever
takes its message out of the queue one day, that it must not be begun.

An owner hands over what it followed (``owned_events``), the leader what nobody follows any more (``archiving``). Two
may look at the same log: each finds what the other has archived, and stores the same.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto

from orth.channels.interface import Channels, ChannelsUnavailable
from orth.channels.names import Names
from orth.clock import Clock
from orth.coordinator.log_keeping import Arrived, LogKeeping
from orth.coordinator.logs.boxes import LogBoxes
from orth.coordinator.logs.facts import LogNotArchived
from orth.coordinator.offering import Offering, app_of
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.log_archives import QueuedLog, queued_logs
from orth.wire.channel_messages import WantedLog

_AT_ONCE = 200
_AWAITED = 50_000
"""Logs that are awaited at a time, at most."""
_PAUSES = (2.0, 4.0, 8.0, 16.0, 32.0, 300.0, 1500.0)
"""Seconds of silence before each step: questions, with the fifth of which what there is is archived; in the end it is
left at that."""
_ARCHIVED_AFTER = 5
_LONGEST = 3600.0
"""Seconds after which a log that still grows is left, too."""
_SOONEST, _LATEST = 1.0, 30.0
"""Seconds between two looks at a log."""
_IDLE = 60.0
_LONGEST_PAUSE = 5.0


class Step(Enum):
    """What to do about a log that is not whole."""

    WAIT = auto()
    ASK = auto()
    ARCHIVE = auto()
    """What there is, and ask all the same."""
    LEAVE = auto()


@dataclass(slots=True)
class _Awaited:
    """A log that is not archived whole, or whose boxes are still there."""

    job_id: int
    begun: bool
    """Whether an executor had the execution, as was heard: then no message of it waits in a queue."""
    kept: bool
    since: float
    silent_since: float
    look_at: float
    asked: int = 0
    pieces: int = 0
    stored: bool = False
    """Whether what there was is archived."""

    def count_anew(self, now: float) -> None:
        """The channels were away: it is as if it came now."""
        self.since = self.silent_since = self.look_at = now
        self.asked = _ARCHIVED_AFTER if self.stored else 0

    def note(self, arrived: Arrived, step: "Step", now: float) -> None:
        self.kept = self.kept or arrived.whole
        self.stored = self.stored or step is Step.ARCHIVE
        if arrived.pieces != self.pieces:
            self.pieces, self.silent_since = arrived.pieces, now
        elif step is not Step.WAIT:
            self.asked, self.silent_since = self.asked + 1, now
        pause = _PAUSES[min(self.asked, len(_PAUSES) - 1)]
        self.look_at = now + min(max(_SOONEST, pause / 4), _LATEST)


def next_step(silence: float, age: float, asked: int) -> Step:
    """What to do when nothing has come for ``silence`` seconds, after so many questions."""
    if age >= _LONGEST or asked >= len(_PAUSES):
        return Step.LEAVE
    if silence < _PAUSES[asked]:
        return Step.WAIT
    if asked + 1 == len(_PAUSES):
        return Step.LEAVE
    return Step.ARCHIVE if asked + 1 == _ARCHIVED_AFTER else Step.ASK


class EndedLogs(Loop):
    """Sees to the logs of executions that have ended."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        names: Names,
        clock: Clock,
        events: Events,
        *,
        keeping: LogKeeping,
        boxes: LogBoxes,
        offering: Offering,
    ) -> None:
        super().__init__(clock, events)
        self._longest_pause = _LONGEST_PAUSE
        self._db = db
        self._channels = channels
        self._names = names
        self._keeping = keeping
        self._boxes = boxes
        self._offering = offering
        self._awaited: dict[int, _Awaited] = {}
        self._deaf = False
        """Whether the channels did not answer the last time."""

    def __len__(self) -> int:
        return len(self._awaited)

    def add(self, execution_id: int, job_id: int, *, begun: bool = False, kept: bool = False) -> None:
        """An execution has ended; ``kept`` when its log is archived already."""
        now = self.clock.monotonic()
        known = self._awaited.get(execution_id)
        if known is not None:
            known.begun, known.kept, known.look_at = known.begun or begun, known.kept or kept, now
        elif self.is_full:
            self.events.emit(LogNotArchived(execution_id, f"{_AWAITED} others are awaited already"))
        else:
            self._awaited[execution_id] = _Awaited(job_id, begun, kept, now, now, now)
        self.wake()

    def take(self, execution_id: int, job_id: int) -> bool:
        """One that ended a while ago, and nobody has archived its log; false when there is no room for it."""
        if execution_id not in self._awaited and not self.is_full:
            self.add(execution_id, job_id)
        return execution_id in self._awaited

    @property
    def is_full(self) -> bool:
        """Whether no more can be taken."""
        return len(self._awaited) >= _AWAITED

    async def turn(self) -> float:
        now = self.clock.monotonic()
        try:
            if self._deaf and self._awaited:
                await self._hear_again(now)
            due = [one for one, awaited in self._awaited.items() if awaited.look_at <= now][:_AT_ONCE]
            if due:
                await self._see_to(due, now)
        except ChannelsUnavailable:
            self._deaf = True
            raise
        if len(due) == _AT_ONCE:
            return 0.0
        soonest = min((awaited.look_at for awaited in self._awaited.values()), default=now + _IDLE)
        return max(0.0, soonest - self.clock.monotonic())

    async def _hear_again(self, now: float) -> None:
        await self._channels.check()
        self._deaf = False
        for awaited in self._awaited.values():
            awaited.count_anew(now)

    async def _see_to(self, due: Sequence[int], now: float) -> None:
        unkept = [one for one in due if not self._awaited[one].kept]
        logs = await self._db.read(queued_logs, unkept) if unkept else {}
        wanted = {one: self._awaited[one] for one in unkept if one in logs and self._is_wanted(one, logs[one])}
        steps = {
            one: next_step(now - awaited.silent_since, now - awaited.since, awaited.asked)
            for one, awaited in wanted.items()
        }
        late = {one for one, step in steps.items() if step in (Step.ARCHIVE, Step.LEAVE)}
        arrived = await self._keeping.keep({one: awaited.job_id for one, awaited in wanted.items()}, late)
        missing = {
            one: arrived[one].next_line
            for one, step in steps.items()
            if step in (Step.ASK, Step.ARCHIVE) and not arrived[one].whole and arrived[one].pieces == wanted[one].pieces
        }
        for one, awaited in wanted.items():
            awaited.note(arrived[one], steps[one], now)
        await self._ask(missing, logs)
        left = [one for one, step in steps.items() if step is Step.LEAVE]
        await self._let_go({*due} - wanted.keys() | {one for one in due if self._awaited[one].kept} | {*left}, logs)

    def _is_wanted(self, execution_id: int, log: QueuedLog) -> bool:
        """Nothing was written by one that no executor had; and somebody else may have archived it meanwhile."""
        return log.was_taken and (self._awaited[execution_id].stored or not log.is_archived)

    async def _ask(self, missing: Mapping[int, int], logs: Mapping[int, QueuedLog]) -> None:
        by_app: dict[str, list[WantedLog]] = {}
        for one, line in missing.items():
            wanted = WantedLog(
                job_id=self._awaited[one].job_id, execution_id=one, log_time=logs[one].log_time, from_line=line
            )
            by_app.setdefault(app_of(logs[one].queue), []).append(wanted)
        await self._offering.ask_for_logs(by_app)

    async def _let_go(self, ids: Set[int], logs: Mapping[int, QueuedLog]) -> None:
        """Nothing more is to be done about these: their boxes go, but for those of executions that were never begun."""
        names = self._names
        boxes = [
            box
            for one in ids
            if self._awaited[one].begun or (one in logs and logs[one].was_taken)
            for box in (names.status(self._awaited[one].job_id, one), names.logs(self._awaited[one].job_id, one))
        ]
        if boxes:
            await self._channels.remove(boxes)
        for one in ids:
            del self._awaited[one]
            self._boxes.forget(one)
