"""A TCP line between two processes that a test can cut, as a firewall does: nothing goes through, nobody is told."""

import contextlib
import socket
import threading
from typing import Self


class CutLine:
    """Forwards connections to a port, until it is cut."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._whole = threading.Event()
        self._whole.set()
        self._ended = threading.Event()
        self._sockets: list[socket.socket] = []
        self._cut_at: bytes | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._whole.set()
        _close(self._listener)
        self.drop()

    def cut(self) -> None:
        """Let nothing through any more, in either direction. Connections stay open, and new ones are made."""
        self._whole.clear()

    def cut_at(self, mark: bytes) -> None:
        """Cut the line when ``mark`` comes by, in either direction: what is before it goes through, and no more."""
        self._cut_at = mark

    def drop(self) -> None:
        """End all connections; what they held is gone."""
        sockets, self._sockets = self._sockets, []
        for sock in sockets:
            _close(sock)

    @property
    def whole(self) -> bool:
        return self._whole.is_set()

    def mend(self) -> None:
        """Let through what was held, and everything after it."""
        self._whole.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed at the end
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._whole.wait()
        with contextlib.suppress(OSError):
            far = socket.create_connection(self._to)
            self._sockets.append(far)
            threading.Thread(target=self._carry, args=(far, near), daemon=True).start()
            self._carry(near, far)
            return
        near.close()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                self._whole.wait()
                if self._ended.is_set() or other.fileno() < 0:
                    return  # dropped: what it held does not pass
                passing, held = self._split(data)
                other.sendall(passing)
                if held:
                    self._whole.wait()
                    other.sendall(held)
        for sock in (one, other):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _split(self, data: bytes) -> tuple[bytes, bytes]:
        mark = self._cut_at
        if mark is None or mark not in data:
            return data, b""
        self._cut_at = None
        self.cut()
        place = data.index(mark)
        return data[:place], data[place:]


def _close(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
