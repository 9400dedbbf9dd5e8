"""Reads the answer of a server from a blocking socket, within a deadline and without lines that never end.

``http.client``, ``urllib3`` and ``smtplib`` read status lines, headers, chunk sizes, trailers and replies as lines, in
loops that a server can keep busy for as long as it sends: informational answers, chunk extensions and trailers have no
limit of their own. So the limit is where all of them read: lines are the smaller part of an answer, or few.

Sockets only bound each single wait. The deadline bounds all of them.
"""

import io
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from orth.clock import Clock

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LINES_LIMIT = 64 * 1024
"""Bytes of lines that any answer may have."""
_SHARE = 4
"""Of a larger answer, lines may be one byte in so many: chunks of seven bytes and more."""
_LINES = "the answer has more header, chunk or reply lines than a client has to read"

WHOLE_LIMIT = 32 * 1024 * 1024
"""Bytes of an answer that has a deadline."""

Left = Callable[[], float]
"""The seconds that are left; ``TimeoutError`` when there are none."""


class EndlessAnswer(OSError):
    """An answer that a server sends to keep its client busy."""


def left_of(seconds: float, clock: Clock) -> Left:
    """The seconds that are left of ``seconds``, counted from now."""
    until = clock.monotonic() + seconds

    def left() -> float:
        remaining = until - clock.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        return remaining

    return left


class _Received(io.RawIOBase):
    """What comes from a socket until the deadline, counted."""

    def __init__(self, sock: socket.socket, left: Left | None) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)  # keeps the connection open for as long as it is read
        self._left = left
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        if self._left is not None:
            self._sock.settimeout(self._left())
        size = self._raw.readinto(buffer)
        self.count += size or 0
        if self._left is not None and self.count > WHOLE_LIMIT:
            raise EndlessAnswer(f"the answer is larger than {WHOLE_LIMIT} bytes")
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class AnswerReader(io.BufferedReader):
    """The answers that come over one connection, or one of them. ``EndlessAnswer`` ends the reading."""

    def __init__(self, sock: socket.socket, left: Left | None = None) -> None:
        """Without ``left`` each wait has the timeout of the socket."""
        self._received = _Received(sock, left)
        self._lines = 0
        super().__init__(self._received)

    def readline(self, size: int | None = -1, /) -> bytes:
        room = LINES_LIMIT + self._received.count // _SHARE - self._lines
        if room <= 0:
            raise EndlessAnswer(_LINES)
        bounded = size is not None and 0 <= size <= room
        line = super().readline(size if bounded else room)
        self._lines += len(line)
        if not bounded and len(line) >= room and not line.endswith(b"\n"):
            raise EndlessAnswer(_LINES)
        return line
