"""Bytes that a process writes, as lines of text: in bounded memory, whatever it writes.

Invalid UTF-8 is replaced. A line longer than the limit is cut and says by how much; of a line that a progress bar
rewrote with carriage returns the last state is kept.
"""

from collections.abc import Callable

from orth.executor.masking import NOTHING_HIDDEN, Mask

LINE_LIMIT = 32 * 1024
"""Bytes of a line that are kept."""

Sink = Callable[[list[str]], None]


class Lines:
    """Collects bytes and hands over the lines they complete, a batch per call."""

    def __init__(self, sink: Sink, mask: Mask = NOTHING_HIDDEN, limit: int = LINE_LIMIT) -> None:
        self._sink = sink
        self._limit = limit
        self._mask = mask
        self._kept = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        *pieces, rest = data.split(b"\n")
        batch = []
        for piece in pieces:
            self._add(piece)
            batch.append(self._line())
        self._add(rest)
        if batch:
            self._sink(batch)

    def finish(self) -> None:
        """Hand over a last line that had no line break."""
        if self._kept:
            self._sink([self._line()])

    def _add(self, piece: bytes) -> None:
        taken = piece[: self._limit - len(self._kept)]
        self._kept += taken
        self._dropped += len(piece) - len(taken)

    def _line(self) -> str:
        text = self._kept.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        if self._dropped:
            text = self._mask.hide_cut(text)
            text += f" … {self._dropped} more bytes of this line are left out"
        self._kept.clear()
        self._dropped = 0
        return text
