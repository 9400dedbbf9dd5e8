"""Logs of executors of another make that are long: all of the file comes as one answer, and none of it is kept."""

import http.client
import json
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from orth.settings import Settings
from orth.settings.sections import CoordinatorSection, SecuritySection
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, end, taken_by
from tests.wire.peers import Exchange, Peer

LINES = 400_000
WIDTH = 100
SIZE = LINES * (WIDTH + 1)
"""Bytes of the log, 40 MB: more than any answer may have that is read as a whole."""
AFFORDED = 24_000_000
"""Bytes that reading may take at any time: some pages in some forms."""


def line(number: int) -> str:
    return f'{number:08} "é\\ '.ljust(WIDTH - 1, ".")


@cache
def escaped() -> bytes:
    """The log as it stands in an answer. Each line takes as many bytes."""
    return json.dumps("".join(f"{line(number)}\n" for number in range(1, LINES + 1)), ensure_ascii=False).encode()[1:-1]


def whole_file(exchange: Exchange) -> None:
    """Answer as those of another make do, with everything from a line on."""
    asked = exchange.request.json()
    assert isinstance(asked, dict)
    first = asked["fromLineNum"]
    head = f'{{"code":200,"msg":null,"content":{{"fromLineNum":{first},"toLineNum":{LINES},"logContent":"'
    text = memoryview(escaped())[(first - 1) * (len(escaped()) // LINES) :]
    with suppress(OSError):  # whoever has enough hangs up
        exchange.sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head.encode())
        exchange.sock.sendall(text)
        exchange.sock.sendall(b'","isEnd":false}}')
    exchange.close()


@pytest.fixture
def site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A coordinator that has more time than others: what is measured here is memory, and that takes time."""
    settings = Settings(
        coordinator=CoordinatorSection(dispatch_timeout=timedelta(seconds=5)),
        security=SecuritySection(rate_burst=1_000_000, stranger_burst=1_000_000),
    )
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as site:
        yield site


@pytest.fixture
def long_log(site: Site) -> Iterator[tuple[int, Peer]]:
    assert len(escaped()) % LINES == 0
    with Peer(whole_file) as peer:
        execution_id = taken_by(site, peer.address)
        end(site, execution_id)
        yield execution_id, peer


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < AFFORDED
    finally:
        tracemalloc.stop()


def test_a_page_and_the_end_and_a_search(admin: Caller, long_log: tuple[int, Peer]) -> None:
    one, peer = long_log
    with little_memory():
        first = admin.get(f"{EXECUTIONS}/{one}/log").json
        assert (first["from_line"], first["to_line"], first["end"]) == (1, 1000, False)
        assert first["content"].split("\n") == [line(number) for number in range(1, 1001)]
        later = admin.get(f"{EXECUTIONS}/{one}/log?from={LINES - 1}").json
        assert later["content"] == f"{line(LINES - 1)}\n{line(LINES)}"
        asked = len(peer.requests)
        last = admin.get(f"{EXECUTIONS}/{one}/log?tail=2").json
        assert (last["to_line"], last["content"]) == (LINES, f"{line(LINES - 1)}\n{line(LINES)}")
        assert len(peer.requests) - asked <= 2, "all of it came in one answer, and then nothing"
        found = admin.get(f"{EXECUTIONS}/{one}/log/search?q={LINES - 7:08}").json
        assert [hit["line"] for hit in found["matches"]] == [LINES - 7]
        assert (found["to_line"], found["end"]) == (LINES, True)


def test_a_download(site: Site, admin: Caller, long_log: tuple[int, Peer]) -> None:
    one, peer = long_log
    with little_memory():
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", f"{EXECUTIONS}/{one}/log/download", headers=admin.headers)
        answer = connection.getresponse()
        size = breaks = 0
        while piece := answer.read(65_536):
            size, breaks = size + len(piece), breaks + piece.count(b"\n")
        connection.close()
    assert (size, breaks) == (SIZE, LINES)
    assert len(peer.requests) <= 2


def test_a_stream(site: Site, admin: Caller, long_log: tuple[int, Peer]) -> None:
    one, peer = long_log
    with little_memory():
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", f"{EXECUTIONS}/{one}/log/stream", headers=admin.headers)
        answer = connection.getresponse()
        reached = [int(found[1]) for row in iter(answer.readline, b"") if (found := re.match(rb"id: ?(\d+)", row))]
        connection.close()
    assert reached[-1] == LINES
    assert reached == sorted(reached)
    assert len(peer.requests) <= 4


def refuses_to_stop(exchange: Exchange) -> None:
    exchange.sock.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"code":200,"content":{"logContent":"')
    exchange.drip(b"x" * 10_000)


def stops_in_the_middle(exchange: Exchange) -> None:
    exchange.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code":200,"content":{"logContent":"abc\\n')
    exchange.reset()


@pytest.mark.parametrize("behaviour", [refuses_to_stop, stops_in_the_middle])
def test_a_page_comes_in_time_or_not_at_all(site: Site, admin: Caller, behaviour: Callable[[Exchange], None]) -> None:
    with Peer(behaviour) as peer:
        one = taken_by(site, peer.address)
        assert peer.address in admin.get(f"{EXECUTIONS}/{one}/log").problem(503)["detail"]
