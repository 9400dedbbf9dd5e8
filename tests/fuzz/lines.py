"""What comes back on the line that watches an executor: any bytes, in any pieces."""

import asyncio
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from orth.wire.fields import SMALL_BODY_LIMIT
from orth.wire.watch_lines import _health as read_health
from orth.wire.watch_lines import _Line
from tests.fuzz.mutations import json_bodies, mutated
from tests.fuzz.target import Target

_HEALTH = {"status": "ok", "incarnation": "a1b2", "now": 1_700_000_000_000, "tick": 123_456}
_PIECE = 8 * 1024
_ANSWERS = [
    b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{"status":"ok"}\r\n0\r\n\r\n',
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.0 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 200_000,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"fffff\r\n" + b"x" * 200_000,
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
]


class _Ended(asyncio.Transport):
    """The other half of a line: knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def _answer(given: tuple[bytes, list[int]]) -> None:
    data, cuts = given
    over: list[bool] = []
    transport = _Ended()
    line = _Line("http://10.0.0.7:9999", b"", lambda _line, silent: over.append(silent))
    line.connection_made(transport)
    for piece in _pieces(data, cuts):
        if transport.closed:  # nothing is read from a closed connection
            break
        line.data_received(piece)
        assert len(line._body) <= SMALL_BODY_LIMIT + _PIECE
    line.connection_lost(None)
    assert over == [False]


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *range(0, len(data), _PIECE), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def _page(given: tuple[int, bytes]) -> None:
    health: Any = read_health(*given, (1_000, 2_000), (1.0, 2.0))
    assert health is None or health.status.isprintable()


TARGETS = [
    Target(
        "answers on watch lines",
        st.tuples(mutated(_ANSWERS), st.lists(st.integers(0, 300_000), max_size=4)),
        _answer,
    ),
    Target(
        "pages of health",
        st.tuples(st.sampled_from([200, 503, 404]), json_bodies([_HEALTH, {"status": "draining"}])),
        _page,
    ),
]
