"""Servers whose answers never end, each in a way of its own, and what they could send before they were cut off."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.wire.peers import read_request

_SENT_AT_ONCE = 256 * 1024
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
_LONGEST = 1 << 30
"""Bytes after which such a server gives up: a test must end."""


@dataclass(frozen=True)
class Endless:
    """An answer: how it begins, and what follows for ever."""

    begins: bytes
    repeats: bytes


ANSWERS: Mapping[str, Endless] = {
    "hints": Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "early hints": Endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"),
    "large hints": Endless(b"", b"HTTP/1.1 102 Processing\r\n" + b"A: b\r\n" * 90 + b"\r\n"),
    "mixed hints": Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 X\r\n\r\n"),
    "a status line": Endless(b"HTTP/1.1 200 ", b"OK"),
    "headers": Endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
    "one header": Endless(b"HTTP/1.1 200 OK\r\nA: ", b"b"),
    "a folded header": Endless(b"HTTP/1.1 200 OK\r\nA: b\r\n", b" c\r\n"),
    "tiny chunks": Endless(CHUNKED, b"1\r\n \r\n"),
    "chunk extensions": Endless(CHUNKED, b"1;" + b"x" * 2_000 + b"\r\n \r\n"),
    "one chunk extension": Endless(CHUNKED + b"1;", b"x"),
    "one chunk size": Endless(CHUNKED, b"0"),
    "trailers": Endless(CHUNKED + b"2\r\n{}\r\n0\r\n", b"A: b\r\n"),
    "one trailer": Endless(CHUNKED + b"2\r\n{}\r\n0\r\nA: ", b"b"),
    "more answers": Endless(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
    "empty answers": Endless(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "answers and hints": Endless(b"", b"HTTP/1.1 204 No Content\r\n\r\n" + b"HTTP/1.1 100 Continue\r\n\r\n" * 20),
    "empty lines": Endless(b"", b"\r\n"),
    "a body": Endless(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b" " * 1_024),
}
"""What HTTP lets a server send for ever."""

REPLIES: Mapping[str, Endless] = {
    "a greeting": Endless(b"", b"220-welcome\r\n"),
    "a reply": Endless(b"220 ready\r\n", b"250-x\r\n"),
    "a line": Endless(b"220 ready\r\n250-", b"x"),
}
"""The same of a mail server."""


@dataclass
class EndlessServer:
    """Listens on loopback; every connection gets the answer, whatever it asks."""

    answer: Endless
    speaks_first: bool = False
    sent: int = 0
    asked: int = 0
    _lines: list[socket.socket] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def listening(self) -> Iterator["EndlessServer"]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
            threads = [threading.Thread(target=self._accept, args=(listener,), daemon=True)]
            threads[0].start()
            try:
                yield self
            finally:
                self._over.set()
                for line in (listener, *self._lines):
                    with suppress(OSError):
                        line.shutdown(socket.SHUT_RDWR)
                threads[0].join(5)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                self._lines.append(line)
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with suppress(OSError), line:
            if not self.speaks_first and read_request(*_reading(line)) is None:
                return
            self.asked += 1
            line.sendall(self.answer.begins)
            more = self.answer.repeats * max(1, _SENT_AT_ONCE // len(self.answer.repeats))
            while self.sent < _LONGEST and not self._over.is_set():
                self.sent += line.send(more)


def _reading(line: socket.socket) -> tuple[Callable[[int], bytes], Callable[[int], bytes]]:
    stream = line.makefile("rb")
    return stream.readline, stream.read
