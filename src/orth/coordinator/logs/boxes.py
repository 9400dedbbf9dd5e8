"""Logs that executors of queues send while they are written: they are in a box until they are archived.

Pieces come in order, each with the number of its first line. A piece may come twice, and one that was sent by another
process begins anew: what is there already is passed over. Numbers may jump where the middle of a long log was left out.
What does not come from where the execution was sent (``proving``) is no piece of its log.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orth.channels.interface import START, Channels
from orth.channels.names import Names
from orth.coordinator.logs.pages import Lines, no_lines
from orth.coordinator.proving import Proving
from orth.store.database import Database
from orth.store.executions import sent_among
from orth.wire.channel_messages import LogLines

_PIECES = 100
_REMEMBERED = 1_000
_MARKS = 200


@dataclass(frozen=True, slots=True)
class BoxPage:
    """Some lines of a box, and whether its executor said that these were the last."""

    lines: Lines
    end: bool


@dataclass(slots=True)
class _Place:
    """Where in a box some lines are: from which position to read for the lines after ``line``."""

    marks: list[tuple[int, str]] = field(default_factory=lambda: [(0, START)])

    def before(self, line: int) -> tuple[int, str]:
        return max(mark for mark in self.marks if mark[0] < line)

    def note(self, line: int, position: str) -> None:
        if line > self.marks[-1][0]:
            self.marks.append((line, position))
            if len(self.marks) > _MARKS:
                self.marks = [self.marks[0], *self.marks[1::2]]


class LogBoxes:
    """Reads logs from their boxes."""

    def __init__(self, db: Database, channels: Channels, names: Names, proving: Proving) -> None:
        self._db = db
        self._proving = proving
        self._channels = channels
        self._names = names
        self._places: OrderedDict[int, _Place] = OrderedDict()

    async def page(self, job_id: int, execution_id: int, from_line: int) -> BoxPage:
        """Lines from ``from_line`` on, as many as are in some pieces."""
        box = self._names.logs(job_id, execution_id)
        place = self._place(execution_id)
        last, position = place.before(from_line)
        sent = await self._db.read(sent_among, [execution_id])
        while True:
            entries = (await self._channels.read({box: position}, limit=_PIECES)).get(box, [])
            if not entries:
                return BoxPage(no_lines(from_line), end=False)
            found: list[Lines] = []
            end = False
            for entry in entries:
                piece = read_piece(entry.message)
                position = entry.position
                if piece is None or not self._proving.tells_log(execution_id, sent, piece.report_key):
                    continue
                lines, end = lines_after(piece, last), bool(piece.end)
                if lines.texts:
                    last = lines.last
                    found.append(lines)
                    if not end:  # whoever asks for what follows the last line is to find the end again
                        place.note(last, position)
            joined = joined_from(found, from_line)
            if joined.texts or end:
                return BoxPage(joined, end and last <= joined.last)

    def forget(self, execution_id: int) -> None:
        self._places.pop(execution_id, None)

    def _place(self, execution_id: int) -> _Place:
        place = self._places.setdefault(execution_id, _Place())
        self._places.move_to_end(execution_id)
        if len(self._places) > _REMEMBERED:
            self._places.popitem(last=False)
        return place


def read_piece(message: Mapping[str, Any]) -> LogLines | None:
    """A piece of a log; None when it is not one."""
    try:
        return LogLines.model_validate(message)
    except ValueError:
        return None


def lines_after(piece: LogLines, last: int) -> Lines:
    """The lines of a piece that come after ``last``."""
    if not piece.text and piece.end:
        return no_lines(piece.first_line)
    texts = piece.text.split("\n")
    lines = Lines(piece.first_line, piece.first_line + len(texts) - 1, texts)
    return lines.since(last + 1) if lines.last > last else no_lines(last + 1)


def joined_from(pieces: Iterable[Lines], from_line: int) -> Lines:
    """Consecutive lines from ``from_line`` on, or from the first there is after it; up to the next gap."""
    first: int | None = None
    texts: list[str] = []
    for lines in pieces:
        some = lines.since(from_line) if lines.last >= from_line else no_lines(from_line)
        if not some.texts:
            continue
        if first is None:
            first = some.first
        elif some.first != first + len(texts):
            break
        texts += some.texts
    return no_lines(from_line) if first is None else Lines(first, first + len(texts) - 1, texts)
