"""From the boxes of logs into the archive: what executors of queues have sent is stored, many logs at a time.

Pieces need not lie in the order of their lines. Channels forget, and an executor then sends once more what did not
arrive, after what had arrived. So a piece that does not follow on what was read is passed over until something has
filled the gap before it. A log is whole when nothing is missing up to the end that its executor told; what that left
out on purpose counts as read. Of one that stays without some of its lines it says so in the text, where they were.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from orth.channels.interface import START, Channels, Entry
from orth.channels.names import Names
from orth.clock import Clock
from orth.coordinator.logs.archives import Archives
from orth.coordinator.logs.boxes import lines_after, read_piece
from orth.coordinator.logs.copies import Copy, Plan
from orth.coordinator.logs.pages import LONG, Lines, gap_note
from orth.coordinator.proving import Proving
from orth.errors import Unavailable
from orth.store.database import Database
from orth.store.executions import Sent, sent_among
from orth.store.log_archives import keep_archives
from orth.wire.channel_messages import LogLines

LEFT_OUT = "(What followed did not arrive here.)"
"""The last line of a log whose end was never sent, or had no room."""
_PIECES = 200
_ROUNDS = 100
"""How often a box is read again for what lies in front of what it follows on."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """How much of a log is in its box."""

    whole: bool
    """Then it is archived."""
    next_line: int
    """The first line that is missing."""
    pieces: int


class LogKeeping:
    """Archives logs from their boxes."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        names: Names,
        archives: Archives,
        clock: Clock,
        *,
        plan: Plan,
        proving: Proving,
    ) -> None:
        self._db = db
        self._proving = proving
        self._channels = channels
        self._names = names
        self._archives = archives
        self._clock = clock
        self._plan = plan

    async def keep(self, jobs: Mapping[int, int], late: Set[int] = frozenset()) -> dict[int, Arrived]:
        """Archive the logs of executions, each with its job, as far as they are whole, and those of ``late`` ones as
        far as they go. A whole log without a line is settled and not stored. ``Unavailable`` when the archive cannot be
        written, as on a full disk: what is in the boxes stays there.
        """
        try:
            return await self._keep(jobs, late)
        except OSError as error:
            raise Unavailable(f"The archive of logs cannot be written: {error.strerror or error}.") from error

    async def _keep(self, jobs: Mapping[int, int], late: Set[int]) -> dict[int, Arrived]:
        boxes = {self._names.logs(job_id, one): one for one, job_id in jobs.items()}
        found = await self._channels.read(dict.fromkeys(boxes, START), limit=_PIECES) if boxes else {}
        sent = await self._db.read(sent_among, list(boxes.values())) if boxes else {}
        packings = {one: self._packing(one, sent) for one in boxes.values()}
        try:
            await asyncio.to_thread(_pack, [(packings[boxes[box]], entries) for box, entries in found.items()])
            for box, one in boxes.items():
                if len(found.get(box, ())) == _PIECES:
                    await self._go_on(box, packings[one])
                await self._go_back(box, packings[one], late=one in late)
            settled = {one for one, packing in packings.items() if packing.ended} | (late & packings.keys())
            kept = [packings[one] for one in settled if packings[one].copy.lines or not packings[one].ended]
            await asyncio.to_thread(_finish, kept)
            if kept:
                await self._db.tx(keep_archives, [(one.copy.kept(), one.copy.content) for one in kept])
        finally:
            await asyncio.to_thread(_give_up, [packing for packing in packings.values() if not packing.finished])
        return {one: packing.arrived for one, packing in packings.items()}

    def _packing(self, one: int, sent: Mapping[int, Sent]) -> "_Packing":
        copy = Copy(self._archives, one, self._clock.now(), self._plan)
        return _Packing(copy, lambda piece: self._proving.tells_log(one, sent, piece.report_key))

    async def _go_on(self, box: str, packing: "_Packing") -> None:
        while entries := (await self._channels.read({box: packing.position}, limit=_PIECES)).get(box, []):
            await asyncio.to_thread(packing.add, entries)

    async def _go_back(self, box: str, packing: "_Packing", *, late: bool) -> None:
        """Read again what was passed over and follows on by now; if it is ``late``, whatever lies before it."""
        for _ in range(_ROUNDS):
            if not packing.can_go_back(late=late):
                return
            packing.go_back()
            await self._go_on(box, packing)


class _Packing:
    """A log while it is taken out of its box."""

    def __init__(self, copy: Copy, is_of_it: Callable[[LogLines], bool]) -> None:
        """``is_of_it`` says whether a piece comes from where the execution was sent."""
        self.copy = copy
        self._is_of_it = is_of_it
        self.ended = False
        """Whether its end was read."""
        self.finished = False
        self.last = 0
        """The line up to which nothing is missing, or never will come."""
        self.pieces = 0
        self.position = START
        self._first_lost: int | None = None
        """The first line that was given up."""
        self._ahead: tuple[str, int] | None = None
        """The position before the first piece that was passed over, and the line on which it follows."""
        self._again = False
        self._fits = True

    def add(self, entries: Sequence[Entry]) -> None:
        together: list[Lines] = []
        for entry in entries:
            before, self.position = self.position, entry.position
            self.pieces += not self._again
            piece = read_piece(entry.message)
            if piece is None or self.ended or not self._is_of_it(piece):
                continue
            follows = _follows(piece)
            if follows > self.last:
                self._ahead = self._ahead or (before, follows)
                continue
            lines = lines_after(piece, self.last)
            if lines.texts and lines.first > self.last + 1:
                self._add(together)
                together = []
                self._note(lines.first - 1, LONG)
            if lines.texts:
                self.last = lines.last
                together.append(lines)
            self.ended = bool(piece.end)
        self._add(together)

    @property
    def arrived(self) -> Arrived:
        lost = self._first_lost
        return Arrived(self.ended and lost is None, lost or self.last + 1, self.pieces)

    def can_go_back(self, *, late: bool) -> bool:
        return not self.ended and self._ahead is not None and (late or self._ahead[1] <= self.last)

    def go_back(self) -> None:
        """To what was passed over; what is missing before it will not come."""
        assert self._ahead is not None
        (self.position, follows), self._ahead, self._again = self._ahead, None, True
        if follows > self.last:
            self._first_lost = self._first_lost or self.last + 1
            self._note(follows)
            self.last = follows

    def _note(self, through: int, *what: str) -> None:
        """Say that the lines after the last one, ``through`` that one, are missing."""
        first = self.last + 1
        self.copy.gap(through)
        self._add([Lines(first, first, [gap_note(first, through, *what)])])

    def _add(self, pieces: Sequence[Lines]) -> None:
        """Pieces that follow on each other, as one: they pack better so, and are read faster."""
        if not pieces:
            return
        lines = Lines(pieces[0].first, pieces[-1].last, [text for piece in pieces for text in piece.texts])
        if self._fits:
            self._fits = self.copy.add(lines)
        elif self.ended:
            self.copy.add_last(pieces[-1])

    def finish(self) -> None:
        if not self.ended:
            self.copy.gap()
            self.copy.add_last(Lines(self.last + 1, self.last + 1, [LEFT_OUT]))
        self.copy.finish()
        self.finished = True


def _follows(piece: LogLines) -> int:
    """The line that comes before a piece: what is between them was left out, or there is nothing."""
    return piece.first_line - 1 if piece.follows is None else min(piece.follows, piece.first_line - 1)


def _pack(parts: Iterable[tuple[_Packing, Sequence[Entry]]]) -> None:
    for packing, entries in parts:
        packing.add(entries)


def _finish(kept: Iterable[_Packing]) -> None:
    for one in kept:
        one.finish()


def _give_up(spare: Iterable[_Packing]) -> None:
    for one in spare:
        one.copy.give_up()
