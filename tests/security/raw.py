"""Raw sockets: requests as no library would send them, with a deadline for every answer."""

import select
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, all of it."""

    data: bytes
    closed: bool
    """Whether the other side has closed the connection."""
    seconds: float

    @property
    def statuses(self) -> list[int]:
        """Of every answer on the connection, in order."""
        heads = self.data.split(b"HTTP/1.1 ")[1:]
        return [int(head[:3]) for head in heads]

    @property
    def status(self) -> int:
        """Of the first answer; 0 when there was none."""
        return (self.statuses or [0])[0]


def exchange(
    port: int, pieces: Iterable[bytes], *, within: float = 10.0, pause: float = 0.0, until: bytes | None = None
) -> Answer:
    """Send all pieces, as long as they are taken, and read: until the other side closes, or ``until`` has come, or for
    ``within`` seconds.
    """
    began = time.monotonic()
    deadline = began + within
    received, closed = bytearray(), False
    waiting = iter(pieces)
    piece: bytes | None = b""
    with socket.create_connection(("127.0.0.1", port), timeout=within) as line:
        line.setblocking(False)
        poll = select.poll()
        poll.register(line, select.POLLIN)
        while time.monotonic() < deadline and not closed and (until is None or until not in received):
            if piece == b"":
                piece = next(waiting, None)
            poll.modify(line, select.POLLIN | (select.POLLOUT if piece else 0))
            ready = dict(poll.poll(200)).get(line.fileno(), 0)
            try:
                if ready & select.POLLOUT and piece:
                    piece = piece[line.send(piece[:_PIECE]) :]
                    if pause:
                        time.sleep(pause)
                if ready & ~select.POLLOUT:
                    read = line.recv(_PIECE)
                    received += read
                    closed = not read
            except (ConnectionResetError, BrokenPipeError):
                closed = True
    return Answer(bytes(received), closed, time.monotonic() - began)


def ask(port: int, request: bytes, *, within: float = 10.0) -> Answer:
    return exchange(port, [request], within=within)


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode("latin-1")


def memory_of(pid: int) -> int:
    """KiB that a process has used at most."""
    told = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("VmHWM:"))
