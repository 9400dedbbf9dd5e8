"""HTTP peers on real sockets that do exactly what a test wants, however rude.

A ``Peer`` reads requests and leaves the answer to a function that gets the bare socket, so that it can answer properly,
drip, hang, send nonsense or reset the connection. No library is in between that would tidy things up.
"""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Self


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> object:
        return json.loads(self.body)


@dataclass
class Exchange:
    """One request, and the socket to answer it on."""

    request: Request
    sock: socket.socket
    stopping: threading.Event

    def respond(self, body: bytes, status: int = 200, content_type: str = "application/json", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def reset(self) -> None:
        """Close with RST instead of FIN, as a crashing process or a stateful firewall does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.close(self.sock.detach())  # at once, whatever files still refer to it

    def close(self) -> None:
        """Close without an answer."""
        self.sock.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        """Say nothing until the test is over."""
        self.stopping.wait()

    def drip(self, data: bytes, every: float = 0.05) -> None:
        """Send ``data`` byte by byte, slowly."""
        for byte in data:
            if self.stopping.wait(every):
                return
            self.sock.sendall(bytes([byte]))


Behaviour = Callable[[Exchange], None]


@dataclass
class Peer:
    behaviour: Behaviour
    requests: list[Request] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Self:
        self._stopping = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        host, port = self._listener.getsockname()
        self.address = f"http://{host}:{port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for sock in (self._listener, *self.connections):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed at the end of the test
            while True:
                sock, _ = self._listener.accept()
                self.connections.append(sock)
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError), sock, sock.makefile("rb") as stream:
            while request := read_request(stream.readline, stream.read):
                self.requests.append(request)
                self.behaviour(Exchange(request, sock, self._stopping))


def read_request(readline: Callable[[int], bytes], read: Callable[[int], bytes]) -> Request | None:
    first = readline(10_000).split()
    if len(first) != 3 or not first[2].startswith(b"HTTP/"):
        return None  # the end, or something else than HTTP
    headers: dict[str, str] = {}
    while line := readline(10_000).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Request(first[1].decode(), headers, read(int(headers.get("content-length", 0))))


def answering(payload: object = None, code: int = 200, msg: str | None = None) -> Behaviour:
    """A peer that answers with the envelope."""
    body = json.dumps({"code": code, "msg": msg, "data": payload}).encode()
    return lambda exchange: exchange.respond(body)


class _One(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b'{"code":200}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def serving_one_at_a_time() -> Iterator[str]:
    """An executor of another make that says yes to everything, to the next one when the connection before has ended."""
    with HTTPServer(("127.0.0.1", 0), _One) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


@contextmanager
def refusing() -> Iterator[str]:
    """An address where nobody listens; the port is held, so nobody will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def not_accepting() -> Iterator[str]:
    """An address whose connection attempts stay unanswered: its queue is full and nobody accepts."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            with suppress(BlockingIOError):
                sock.connect(listener.getsockname())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for sock in waiting:
                sock.close()
