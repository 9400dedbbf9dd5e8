"""From the boxes of logs into the archive: what executors of queues have sent is stored, many logs at a time."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from orth.channels.interface import START, Channels, Entry
from orth.channels.names import Names
from orth.clock import Clock
from orth.coordinator.archiving import Copy, Plan
from orth.coordinator.logs.archives import Archives
from orth.coordinator.logs.boxes import lines_after, read_piece
from orth.coordinator.logs.pages import Lines
from orth.store.database import Database
from orth.store.log_archives import keep_archives

LEFT_OUT = "(What followed did not arrive here.)"
"""The last line of a log whose end was never sent, or had no room."""
_PIECES = 200


class LogKeeping:
    """Archives logs from their boxes."""

    def __init__(
        self, db: Database, channels: Channels, names: Names, archives: Archives, clock: Clock, *, plan: Plan
    ) -> None:
        self._db = db
        self._channels = channels
        self._names = names
        self._archives = archives
        self._clock = clock
        self._plan = plan

    async def keep(self, jobs: Mapping[int, int], late: Iterable[int] = ()) -> set[int]:
        """Archive the logs of executions, each with its job, as far as they are whole, and those of ``late`` ones as
        far as they go; which are settled by that. A log without a line is settled and not stored.
        """
        boxes = {self._names.logs(job_id, one): one for one, job_id in jobs.items()}
        found = await self._channels.read(dict.fromkeys(boxes, START), limit=_PIECES) if boxes else {}
        packings = {one: _Packing(self._archives, one, self._clock.now(), self._plan) for one in boxes.values()}
        await asyncio.to_thread(_pack, [(packings[boxes[box]], entries) for box, entries in found.items()])
        for box, entries in found.items():
            if len(entries) == _PIECES:
                await self._go_on(box, packings[boxes[box]], entries[-1].position)
        settled = {one for one, packing in packings.items() if packing.whole} | set(late)
        kept = [packing for one, packing in packings.items() if one in settled and packing.copy.lines]
        spare = [packing for one, packing in packings.items() if one not in settled or not packing.copy.lines]
        await asyncio.to_thread(_finish, kept, spare)
        if kept:
            await self._db.tx(keep_archives, [(one.copy.kept(), one.copy.content) for one in kept])
        return settled

    async def _go_on(self, box: str, packing: "_Packing", position: str) -> None:
        while entries := (await self._channels.read({box: position}, limit=_PIECES)).get(box, []):
            await asyncio.to_thread(packing.add, entries)
            position = entries[-1].position


class _Packing:
    """A log while it is taken out of its box."""

    def __init__(self, archives: Archives, execution_id: int, now: int, plan: Plan) -> None:
        self.copy = Copy(archives, execution_id, now, plan)
        self.whole = False
        self._last = 0
        self._end_lost = False
        """Whether the end was told, and not all that comes before it."""
        self._fits = True

    def add(self, entries: Sequence[Entry]) -> None:
        together: list[Lines] = []
        for entry in entries:
            piece = read_piece(entry.message)
            if piece is None:
                continue
            self.whole = self.whole or bool(piece.end)
            lines = lines_after(piece, self._last)
            if not lines.texts:
                self._end_lost = piece.first_line > self._last + 1
                continue
            self._end_lost = False
            if lines.first != self._last + 1:
                self.copy.gap()
                self._add(together)
                together = []
            self._last = lines.last
            together.append(lines)
        self._add(together)

    def _add(self, pieces: Sequence[Lines]) -> None:
        """Pieces that follow on each other, as one: they pack better so, and are read faster."""
        if not pieces:
            return
        lines = Lines(pieces[0].first, pieces[-1].last, [text for piece in pieces for text in piece.texts])
        if self._fits:
            self._fits = self.copy.add(lines)
        elif self.whole:
            self.copy.add_last(pieces[-1])

    def finish(self) -> None:
        if not self.whole or self._end_lost:
            self.copy.gap()
            self.copy.add_last(Lines(self._last + 1, self._last + 1, [LEFT_OUT]))
        self.copy.finish()


def _pack(parts: Iterable[tuple[_Packing, Sequence[Entry]]]) -> None:
    for packing, entries in parts:
        packing.add(entries)


def _finish(kept: Iterable[_Packing], spare: Iterable[_Packing]) -> None:
    for one in kept:
        one.finish()
    for one in spare:
        one.copy.give_up()
