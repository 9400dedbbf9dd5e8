"""Sockets whose peers do not stop sending: they are cut off, and nobody else waits for them."""

import base64
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from websockets.sync.client import connect

from orth.socket_guard import FRAMES_AT_ONCE
from tests.coordinator.http.live import Caller, Site

PING, TEXT, PART, MORE = 0x89, 0x81, 0x01, 0x00
TOGETHER = 5000
"""Frames a flood sends with one call."""
NOTICEABLE = 2.0
"""Seconds: without a limit, others wait for as long as the flood lasts."""


def frame(kind: int, content: bytes = b"") -> bytes:
    return bytes([kind, 0x80 | len(content)]) + bytes(4) + content


@contextmanager
def upgraded(site: Site) -> Iterator[socket.socket]:
    """A connection on which frames can be sent, without having said who one is."""
    key = base64.b64encode(os.urandom(16)).decode()
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as line:
        line.sendall(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        assert b" 101 " in line.recv(4096)
        yield line


def flood(line: socket.socket, piece: bytes, seconds: float) -> None:
    """Send until the peer has had enough."""
    until = time.monotonic() + seconds
    with suppress(OSError):
        while time.monotonic() < until:
            line.sendall(piece)


@pytest.mark.parametrize(
    "piece",
    [frame(PING, b"ping") * TOGETHER, frame(TEXT, b"{}") * TOGETHER, frame(PART) + frame(MORE) * TOGETHER],
    ids=["pings", "messages", "pieces"],
)
def test_a_flood_is_cut_off_and_others_do_not_wait(site: Site, admin: Caller, piece: bytes) -> None:
    with upgraded(site) as line:
        flooding = threading.Thread(target=flood, args=(line, piece, 20))
        flooding.start()
        slowest = 0.0
        while flooding.is_alive():
            began = time.monotonic()
            assert admin.get("/health/live").status == 200
            slowest = max(slowest, time.monotonic() - began)
        with suppress(OSError):
            while line.recv(65536):
                pass
    assert slowest < NOTICEABLE


def test_who_sends_little_stays(site: Site) -> None:
    with connect(f"ws://127.0.0.1:{site.port}/ws", proxy=None) as line:
        for _ in range(FRAMES_AT_ONCE // 2):
            assert line.ping().wait(5)
