"""A flood of connections that never authenticate leaves the port and the descriptors to the others."""

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from orth.clock import SystemClock
from orth.connections import (
    UNREAD_LIMIT,
    UNSENT_LIMIT,
    Connections,
    ConnectionsClosed,
    affordable,
    affordable_backlog,
    known_caller,
)
from orth.events import Event, Events
from orth.serving import Server, bound
from orth.settings import Address


class Line:
    """A connection without a socket."""

    def __init__(self, *, busy: bool = False) -> None:
        self.busy = busy
        self.end: str | None = None
        self.waiting = 0

    def is_busy(self) -> bool:
        return self.busy

    def give_up(self, *, refused: bool) -> None:
        self.end = "refused" if refused else "closed"

    def unsent(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.end = "aborted"


def entered(connections: Connections, lines: list[Line], peer: str = "") -> list[Line]:
    for number, line in enumerate(lines):
        connections.enter(line, peer or f"10.0.0.{number}")
    return lines


def test_the_oldest_idle_stranger_makes_way() -> None:
    connections = Connections(16)
    busy, old, *others = entered(connections, [Line(busy=True), *(Line() for _ in range(15))])
    (new,) = entered(connections, [Line()], "10.1.1.1")
    assert (old.end, busy.end, new.end, len(connections)) == ("closed", None, None, 16)
    assert {line.end for line in others} == {None}


def known(connections: Connections, count: int, owner: str, *, busy: bool = False) -> list[Line]:
    lines = [Line(busy=busy) for _ in range(count)]
    for line in lines:
        connections.enter(line, "10.2.2.2")
        connections.know(line, owner)
    return lines


def test_strangers_close_no_known_connection() -> None:
    connections = Connections(16)
    lines = known(connections, 7, "a") + known(connections, 7, "b")
    flood = entered(connections, [Line() for _ in range(40)])
    assert ({line.end for line in lines}, len(connections)) == ({None}, 16)
    assert [line.end for line in flood] == ["closed"] * 38 + [None] * 2


def test_the_owner_with_the_most_connections_makes_room() -> None:
    told: list[Event] = []
    connections = Connections(16, Events(told.append))
    honest = known(connections, 4, "honest")
    hoard = known(connections, 500, "hoard")
    (new,) = entered(connections, [Line()], "10.1.1.1")
    assert ({line.end for line in honest}, new.end) == ({None}, None)
    assert [line.end for line in hoard] == ["closed"] * 490 + [None] * 10, "14 places of 16 are for known callers"
    connections.know(new, "new")
    assert ({line.end for line in honest}, new.end, hoard[490].end) == ({None}, None, "closed")
    assert told == [ConnectionsClosed(1, "there are more than 14 with a valid credential, most of them of hoard")]


def test_the_connection_that_was_not_used_for_longest_makes_room() -> None:
    connections = Connections(16)
    lines = known(connections, 14, "a")
    lines[1].busy = True
    connections.know(lines[0], "a")
    known(connections, 1, "b")
    assert [line.end for line in lines[:4]] == [None, None, "closed", None]


def test_busy_connections_of_one_owner_close_no_connection_of_others() -> None:
    connections = Connections(16)
    honest = known(connections, 2, "honest", busy=True)
    hoard = known(connections, 30, "hoard", busy=True)
    (new,) = entered(connections, [Line(busy=True)], "10.1.1.1")
    connections.know(new, "new")
    assert ({line.end for line in honest}, new.end) == ({None}, None)
    assert [line.end for line in hoard] == ["closed"] * 19 + [None] * 11


def test_a_connection_belongs_to_the_owner_of_the_last_credential() -> None:
    connections = Connections(16)
    lines = known(connections, 10, "a")
    for line in lines[:8]:
        connections.know(line, "b")
    known(connections, 5, "c")
    assert [line.end for line in lines] == ["closed"] + [None] * 9
    for line in lines[1:]:
        connections.leave(line)
    assert len(connections) == 5
    connections.know(lines[5], "a")
    assert len(connections) == 5, "a connection that has gone does not come back"


def test_requests_of_strangers_that_never_end_take_little_memory() -> None:
    connections = Connections(16)
    friend, *strangers = entered(connections, [Line() for _ in range(5)])
    connections.know(friend, "a")
    connections.hold(friend, 10 * UNREAD_LIMIT)
    for line in strangers[:3]:
        connections.hold(line, UNREAD_LIMIT // 3)
    connections.hold(strangers[1], 0)
    connections.hold(strangers[3], UNREAD_LIMIT // 3)
    assert [line.end for line in strangers] == [None] * 4
    connections.hold(strangers[3], UNREAD_LIMIT // 2)
    assert ([line.end for line in strangers], friend.end) == (["closed", None, None, None], None)


def test_answers_that_nobody_reads_take_little_memory() -> None:
    connections = Connections(16)
    lines = entered(connections, [Line() for _ in range(4)])
    for line in lines[:3]:
        connections.know(line, "a")
        line.waiting = UNSENT_LIMIT // 3
        connections.stalls(line)
    connections.flows(lines[0])
    connections.stalls(lines[0])
    assert {line.end for line in lines} == {None}
    lines[3].waiting = 10
    connections.stalls(lines[3])
    assert [line.end for line in lines] == [None, "aborted", None, None]


def test_one_address_has_half_of_the_places_for_strangers() -> None:
    told: list[Event] = []
    connections = Connections(16, Events(told.append))
    honest = entered(connections, [Line() for _ in range(4)])
    flood = entered(connections, [Line() for _ in range(40)], "10.9.9.9")
    assert {line.end for line in honest} == {None}
    assert [line.end for line in flood] == ["closed"] * 32 + [None] * 8
    assert told == [ConnectionsClosed(1, "10.9.9.9 has more than 8 that did not authenticate")], "one fact, not 32"


def test_half_of_the_descriptors_are_for_the_work() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        assert (affordable(10_000), affordable(100), affordable_backlog(2048)) == (512, 100, 256)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def door(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await receive()
    if (b"token", b"right") in scope["headers"]:
        known_caller(scope, dict(scope["headers"]).get(b"owner", b"").decode())
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        made: list[socket.socket] = []
        stack.callback(lambda: [one.close() for one in made])
        yield made


async def test_a_flood_on_a_real_port_leaves_it_to_the_others(sockets: list[socket.socket]) -> None:
    told: list[Event] = []
    with bound(Address("127.0.0.1", 0)) as listening:
        server = Server(door, keep_alive=60, connections=32, events=Events(told.append))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        address = listening.getsockname()
        known = await asyncio.open_connection(*address)
        assert b"200" in await _asked(*known)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(300):
            one = socket.socket()
            sockets.append(one)
            one.setblocking(False)
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(one, address), 10)
        until = SystemClock().monotonic() + 10
        while len(server.server_state.connections) > 17 and SystemClock().monotonic() < until:
            assert b"200" in await _asked(*known)
            await asyncio.sleep(0.01)
        assert len(server.server_state.connections) <= 17, "half of 32 for one address, and the known one"
        assert len(os.listdir("/proc/self/fd")) - before <= 300 + 17
        assert b"200" in await _asked(*known), "whoever has authenticated stays"
        fresh = await asyncio.open_connection(*address)
        assert b"200" in await _asked(*fresh)
        assert isinstance(told[0], ConnectionsClosed)
        assert "127.0.0.1 has more than 16 that did not authenticate" in str(told[0])
        for _, writer in (known, fresh):
            writer.close()
        server.should_exit = True
        await serving


async def test_idle_connections_of_one_token_keep_nobody_out(sockets: list[socket.socket]) -> None:
    with bound(Address("127.0.0.1", 0)) as listening:
        server = Server(door, keep_alive=60, connections=32)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        address = listening.getsockname()
        other = await asyncio.open_connection(*address)
        assert b"200" in await _asked(*other, owner="b")
        for _ in range(100):
            one = socket.socket()
            sockets.append(one)
            one.setblocking(False)
            async with asyncio.timeout(10):
                await asyncio.get_running_loop().sock_connect(one, address)
                await asyncio.get_running_loop().sock_sendall(one, _request("a"))
                assert b"200" in await asyncio.get_running_loop().sock_recv(one, 1_000)
        assert b"200" in await _asked(*other, owner="b")
        stranger = await asyncio.open_connection(*address)
        stranger[1].write(b"GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n")
        assert b"200" in await stranger[0].readline()
        for _, writer in (other, stranger):
            writer.close()
        server.should_exit = True
        await serving


def _request(owner: str) -> bytes:
    return f"GET / HTTP/1.1\r\nhost: a\r\ntoken: right\r\nowner: {owner}\r\n\r\n".encode()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, owner: str = "a") -> bytes:
    writer.write(_request(owner))
    async with asyncio.timeout(10):
        return await reader.readuntil(b"\r\n\r\nok")
