"""What is said on the channels about executions that came from a queue: their standing and their logs.

Job threads and loops leave drafts; one loop posts them, many at a time, in order for each execution. A draft that a
later one makes superfluous before it was sent is not sent: of a short execution only its end is. Numbers are given when
a draft is first taken to be posted, so that a repetition after a lost answer bears the same one.

Losing all of this loses nothing: results are in the outbox, logs in their files, and what runs here is in every
heartbeat. So while the channels are away drafts wait up to a bound. A box that takes nothing is given up, but for its
last words, and a draft that is too large is given up alone.

A box holds only so much, and how an execution ended must always fit. So progress is said ever more rarely the longer it
goes on: the words about one execution grow with the logarithm of its time.
"""

import asyncio
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orth.channels.interface import BoxFull, ChannelsUnavailable, ExecutorChannels
from orth.channels.limits import Limits
from orth.channels.names import Names
from orth.clock import Clock, iso
from orth.errors import Invalid, TooLarge
from orth.events import Events
from orth.executor.facts import ReportsGivenUp
from orth.loop import Loop
from orth.wire.channel_messages import Dispatch, LogLines, Standing, StatusReport
from orth.wire.messages import CallbackItem

POST_BYTES = 512 * 1024
POST_BOXES = 500
LOG_BYTES = 4 * 1024 * 1024
"""Bytes of log text that wait to be posted; while there are more, files are not read further."""
GATHER = 0.02
PROGRESS_SPREAD = 50
"""Progress that has gone on for so many seconds is said at most once a second, and so forth."""
CUT_LINE = " …(the rest of this line is too long to be sent)"
_FRAME = 2_048
"""Bytes of a message besides its text."""
_LONGEST_PAUSE = 5.0
_IDLE = 60.0
_ENDS = frozenset(Standing) - {Standing.ACCEPTED, Standing.RUNNING, Standing.PROGRESS}


@dataclass(frozen=True, slots=True)
class Worker:
    """Who reports."""

    id: str
    incarnation: str


@dataclass(slots=True, eq=False)
class Taken:
    """An execution that this process took from a queue, until its result is judged."""

    dispatch: Dispatch
    status_seq: int = 0
    log_seq: int = 0
    cancelled: bool = False
    spoken_of: bool = False
    """Whether anything was said of it."""
    progress_since: float | None = None
    progress_at: float = 0.0
    progress_count: int = 0

    @property
    def id(self) -> int:
        return self.dispatch.execution_id

    @property
    def job_id(self) -> int:
        return self.dispatch.job_id

    @property
    def log_time(self) -> int:
        return self.dispatch.trigger.log_date_time

    @property
    def report_key(self) -> str | None:
        return self.dispatch.trigger.report_key


@dataclass(slots=True, eq=False)
class AskedFor:
    """An execution that is over here, and of whose log a coordinator misses something."""

    job_id: int
    id: int
    log_time: int
    report_key: str | None = None
    log_seq: int = 0


@dataclass(slots=True, eq=False)
class _Draft:
    taken: Taken | AskedFor
    standing: Standing | None
    """None of a piece of log."""
    facts: dict[str, Any]
    """Further members of the message."""
    size: int
    seq: int | None = None


Batch = Mapping[str, list[_Draft]]
"""Drafts by box."""


class Outgoing:
    """Drafts, by box. Safe from any thread."""

    def __init__(self, names: Names, worker: Worker, clock: Clock, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._names = names
        self._worker = worker
        self._clock = clock
        self._lock = threading.Lock()
        self._drafts: dict[str, list[_Draft]] = {}
        self._log_bytes = 0

    def __len__(self) -> int:
        return len(self._drafts)

    @property
    def is_full(self) -> bool:
        """Whether logs should not be read further."""
        return self._log_bytes >= LOG_BYTES

    def tell(self, taken: Taken, standing: Standing, **facts: Any) -> bool:
        """Say how an execution stands; ``facts`` are further members of the report. Whether nothing waited before."""
        if standing is Standing.PROGRESS and not self._may_tell_progress(taken):
            return False
        facts["timestamp"] = iso(self._clock.now())
        result: CallbackItem | None = facts.get("result")
        draft = _Draft(taken, standing, facts, 400 + (len(result.handle_msg) if result else 0))
        box = self._names.status(taken.job_id, taken.id)
        with self._lock:
            first = not self._drafts
            if standing is Standing.ACCEPTED and taken.spoken_of:
                return False  # its thread was quicker than whoever admitted it
            taken.spoken_of = True
            waiting = [earlier for earlier in self._drafts.get(box, ()) if not _is_superfluous(earlier, standing)]
            self._drafts[box] = [*waiting, draft]
        return first

    def _may_tell_progress(self, taken: Taken) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            if taken.progress_since is None:
                taken.progress_since = taken.progress_at = now
            pause = (now - taken.progress_since) / PROGRESS_SPREAD
            if now - taken.progress_at < pause or taken.progress_count >= self._limits.box // 2:
                return False
            taken.progress_at = now
            taken.progress_count += 1
            return True

    def has_room_for(self, result: CallbackItem) -> bool:
        """Whether a result fits into a message."""
        return _written(result.handle_msg) + _FRAME <= self._limits.message

    def add_lines(self, taken: Taken | AskedFor, first_line: int, text: str, *, end: bool) -> int:
        """Say what an execution has written, from ``first_line`` on, in as many messages as it takes; how many."""
        return self._add_pieces(taken, self._pieces(first_line, text), end=end)

    def add_last_lines(self, taken: Taken | AskedFor, first_line: int, text: str, *, follows: int, most: int) -> None:
        """Say how a log ends, in at most ``most`` messages, where what comes after line ``follows`` is left out."""
        pieces = self._pieces(first_line, text)[-most:]
        left_out = follows if follows < pieces[0][0] - 1 else None
        self._add_pieces(taken, pieces, end=True, follows=left_out)

    def _pieces(self, first_line: int, text: str) -> list[tuple[int, str]]:
        return pieces_of(first_line, text, self._limits.message - _FRAME)

    def _add_pieces(
        self, taken: Taken | AskedFor, pieces: list[tuple[int, str]], *, end: bool, follows: int | None = None
    ) -> int:
        drafts = [
            _Draft(taken, None, {"first_line": first, "text": piece}, 200 + _written(piece)) for first, piece in pieces
        ]
        drafts[0].facts["follows"] = follows
        drafts[-1].facts["end"] = end or None
        with self._lock:
            self._drafts.setdefault(self._names.logs(taken.job_id, taken.id), []).extend(drafts)
            self._count(drafts, 1)
        return len(drafts)

    def messages_of(self, batch: Batch) -> dict[str, list[dict[str, Any]]]:
        """Drafts as they are posted."""
        return {box: [self._message(draft) for draft in drafts] for box, drafts in batch.items()}

    def _message(self, draft: _Draft) -> dict[str, Any]:
        taken = draft.taken
        said: StatusReport | LogLines
        if draft.standing is None or isinstance(taken, AskedFor):
            said = LogLines(
                job_id=taken.job_id,
                execution_id=taken.id,
                seq=draft.seq,
                report_key=taken.report_key,
                **draft.facts,
            )
        else:
            dispatch = taken.dispatch
            said = StatusReport(
                job_id=dispatch.job_id,
                execution_id=dispatch.execution_id,
                attempt=dispatch.attempt,
                seq=draft.seq,
                status=draft.standing,
                sending=dispatch.sending,
                worker_id=self._worker.id,
                incarnation=self._worker.incarnation,
                report_key=dispatch.trigger.report_key,
                **draft.facts,
            )
        return said.model_dump(mode="json", by_alias=True, exclude_none=True)

    def next_batch(self) -> Batch:
        """What to post next, not too much; it is the caller's."""
        batch: dict[str, list[_Draft]] = {}
        size = 0
        with self._lock:
            for box, drafts in self._drafts.items():
                if len(batch) == POST_BOXES or size > POST_BYTES:
                    break
                for draft in drafts:
                    size += draft.size
                    if batch and size > POST_BYTES:
                        break
                    batch.setdefault(box, []).append(draft)
            for box, drafts in batch.items():
                left = self._drafts[box][len(drafts) :]
                if left:
                    self._drafts[box] = left
                else:
                    del self._drafts[box]
                self._count(drafts, -1)
        for draft in (draft for drafts in batch.values() for draft in drafts if draft.seq is None):
            _number(draft)
        return batch

    def put_back(self, batch: Batch) -> None:
        """It was not posted, or may not have been. The first box comes last the next time: it may be the obstacle."""
        first, *others = batch
        with self._lock:
            later = self._drafts
            self._drafts = {box: [*batch[box], *later.pop(box, ())] for box in others}
            again = [*batch[first], *later.pop(first, ())]
            self._drafts |= later | {first: again}
            for drafts in batch.values():
                self._count(drafts, 1)

    def forget(self, executions: Iterable[Taken]) -> None:
        """Their results were judged: how they stood needs no saying any more."""
        with self._lock:
            for taken in executions:
                self._drafts.pop(self._names.status(taken.job_id, taken.id), None)

    def _count(self, drafts: Iterable[_Draft], sign: int) -> None:
        self._log_bytes += sign * sum(draft.size for draft in drafts if draft.standing is None)


def _number(draft: _Draft) -> None:
    taken = draft.taken
    if draft.standing is None or isinstance(taken, AskedFor):
        taken.log_seq += 1
        draft.seq = taken.log_seq
    else:
        taken.status_seq += 1
        draft.seq = taken.status_seq


def _is_superfluous(draft: _Draft, later: Standing) -> bool:
    """Whether a draft says nothing that ``later`` does not. One that may have been sent keeps its number, and stays."""
    if draft.seq is not None or draft.standing in _ENDS:
        return False
    return later in _ENDS or draft.standing is Standing.ACCEPTED or draft.standing is later


def _written(text: str) -> int:
    """How many bytes a text has in a message."""
    return len(json.dumps(text))


def pieces_of(first_line: int, text: str, room: int) -> list[tuple[int, str]]:
    """Lines in pieces that have no more than ``room`` bytes each in a message, each with the number of its first line.
    Of a line that does not fit by itself, its beginning.
    """
    if _written(text) <= room:
        return [(first_line, text)]
    pieces: list[tuple[int, list[str]]] = []
    left = 0
    for number, line in enumerate(text.split("\n"), first_line):
        fitting = line if _written(line) <= room else line[: max(0, room - 2 * len(CUT_LINE)) // 12] + CUT_LINE
        size = _written(fitting)
        if not pieces or size > left:
            pieces.append((number, []))
            left = room
        pieces[-1][1].append(fitting)
        left -= size
    return [(number, "\n".join(lines)) for number, lines in pieces]


class Reports(Loop):
    """Posts drafts. ``hurry`` posts what is there now and says whether it could."""

    def __init__(self, channels: ExecutorChannels, outgoing: Outgoing, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._longest_pause = _LONGEST_PAUSE
        self._channels = channels
        self._outgoing = outgoing
        self._posting = asyncio.Lock()
        self._not_before = clock.monotonic()
        self._misses = 0

    async def turn(self) -> float:
        early = self._not_before - self.clock.monotonic()
        if early > 0:
            return early
        try:
            await self.hurry()
        except ChannelsUnavailable:  # every draft wakes this loop, which must not make it try again at once
            self._misses += 1
            self._not_before = self.clock.monotonic() + min(_LONGEST_PAUSE, GATHER * 2.0 ** min(self._misses, 16))
            raise
        self._misses = 0
        self._not_before = self.clock.monotonic() + GATHER
        return _IDLE

    async def hurry(self) -> None:
        """Post everything. ``ChannelsUnavailable`` when some of it could not be; that waits for the next time."""
        async with self._posting:
            while batch := self._outgoing.next_batch():
                try:
                    await self._channels.post(self._outgoing.messages_of(batch))
                except BoxFull as full:
                    await self._post_last({box: drafts for box, drafts in batch.items() if box in full.boxes})
                except ChannelsUnavailable:
                    await self._post_apart(batch)
                except (TooLarge, Invalid):
                    await self._post_singly(batch)
                except BaseException:
                    self._outgoing.put_back(batch)
                    raise

    async def _post_last(self, batch: Batch) -> None:
        """These boxes have no room for all that is to be said: the last words may find some."""
        last = {box: drafts[-1:] for box, drafts in batch.items() if len(drafts) > 1}
        given_up = sum(map(len, batch.values())) - len(last)
        try:
            if last:
                await self._channels.post(self._outgoing.messages_of(last))
        except BoxFull as full:
            given_up += len(full.boxes)
        except BaseException:
            self._outgoing.put_back(last)
            raise
        self.events.emit(ReportsGivenUp(given_up, ", ".join(list(batch)[:3])))

    async def _post_singly(self, batch: Batch) -> None:
        """One draft cannot be posted, by whatever is in it, and must not keep back the others."""
        left = {box: list(drafts) for box, drafts in batch.items()}
        for box, drafts in batch.items():
            for draft in drafts:
                try:
                    await self._channels.post(self._outgoing.messages_of({box: [draft]}))
                except (BoxFull, TooLarge, Invalid):
                    self.events.emit(ReportsGivenUp(1, box))
                except BaseException:
                    self._outgoing.put_back(left)
                    raise
                left[box].remove(draft)
            del left[box]

    async def _post_apart(self, batch: Batch) -> None:
        """One box may be full, and must not keep back the others. When none can be posted, the channels are away."""
        refused = dict(batch)
        for box, drafts in batch.items():
            try:
                await self._channels.post(self._outgoing.messages_of({box: drafts}))
            except ChannelsUnavailable:
                if len(refused) == len(batch):
                    break
                continue
            del refused[box]
        if len(refused) == len(batch):
            self._outgoing.put_back(batch)
            raise ChannelsUnavailable("Reports on executions cannot be posted.")
        if refused:
            self.events.emit(ReportsGivenUp(sum(map(len, refused.values())), ", ".join(list(refused)[:3])))
