import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice

import pytest
from websockets.utils import accept_key

from orth.errors import Unavailable
from orth.wire import live_calls
from orth.wire.live_calls import LiveLine, LiveMessage, LiveRefused, follow, live_line, newest_seq, pause_after
from tests.wire.live_server import LiveServer, answers_snapshot, breaks_off, event, sends, snapshot


class Following:
    """What somebody who follows ``server`` gets, and what it was told of breaks."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self.pauses: list[float] = []
        self.broken: list[Exception] = []

    def open(self, since: int | None) -> AbstractContextManager[LiveLine]:
        return live_line(self._server.url, headers={"Authorization": "Bearer word"}, since=since)

    def messages(self, since: int) -> Iterator[LiveMessage]:
        return follow(self.open, since, pause=self.pauses.append, broke=self.broken.append)


def test_events_come_once_and_in_order_over_broken_lines() -> None:
    scripts = (
        sends(event(5), event(6)),
        breaks_off(event(6), event(7)),
        503,
        sends(event(8), event(8), event(7), event(9)),
        sends(event(10)),
    )
    with LiveServer(*scripts).running() as server:
        following = Following(server)
        found = list(islice(following.messages(4), 6))
    assert [one.seq for one in found] == [5, 6, 7, 8, 9, 10]
    assert server.asked == ["/ws?since=4", "/ws?since=6", "/ws?since=7", "/ws?since=7", "/ws?since=9"]
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer word"}
    assert [type(error) for error in following.broken] == [Unavailable, Unavailable, LiveRefused, Unavailable]


def test_pauses_grow_while_nothing_comes_and_begin_anew_when_something_did() -> None:
    with LiveServer(503, 503, sends(event(1)), sends(event(2))).running() as server:
        following = Following(server)
        list(islice(following.messages(0), 2))
    assert following.pauses == [0.5, 1.0, 0.5]
    assert [pause_after(failures) for failures in (0, 3, 5, 1000)] == [0.5, 4.0, 15.0, 15.0]


def test_a_snapshot_in_the_place_of_what_is_no_longer_kept_leads_on_or_back() -> None:
    with LiveServer(sends(snapshot(90), event(91)), sends(snapshot(3), event(4)), sends(event(5))).running() as server:
        found = list(islice(Following(server).messages(2), 5))
    assert [(one.type, one.seq) for one in found] == [
        ("snapshot", 90),
        ("agent_status_changed", 91),
        ("snapshot", 3),
        ("agent_status_changed", 4),
        ("agent_status_changed", 5),
    ]
    assert server.asked == ["/ws?since=2", "/ws?since=91", "/ws?since=4"]


def test_what_is_no_message_is_passed_over() -> None:
    noise = ("no json", "[" * 100_000, "[]", '{"type": "hello"}', '{"seq": 3}', '{"type": 1, "seq": 3}')
    with LiveServer(sends(*noise, event(1))).running() as server:
        (found,) = islice(Following(server).messages(0), 1)
    assert (found.seq, found.data["id"], found.at) == (1, "a" * 32, "2026-01-30T03:00:00.000Z")
    assert found.text == event(1)


def test_a_session_that_is_over_is_a_refusal() -> None:
    with LiveServer(sends(code=4401), 401).running() as server:
        for _ in range(2):
            with pytest.raises(LiveRefused) as refused, live_line(server.url, headers={}) as line:
                list(line.messages())
            assert refused.value.status == 401


def test_the_number_of_the_newest_event() -> None:
    with LiveServer(answers_snapshot(41)).running() as server:
        assert newest_seq(Following(server).open) == 41


def test_nobody_there(free_port: int) -> None:
    for url in (f"http://127.0.0.1:{free_port}", "http://no-such-host.invalid:1", "http://h:99999"):
        with pytest.raises(Unavailable), live_line(url, headers={}):
            pass


def greeted_and_left_alone(listening: socket.socket, over: threading.Event) -> None:
    """A handshake and one event; after that nothing is read or answered, as by a machine that is gone."""
    with listening.accept()[0] as line:
        head = line.recv(65_536).decode()
        key = head.partition("Sec-WebSocket-Key: ")[2].partition("\r\n")[0]
        words = (
            "HTTP/1.1 101 OK",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept_key(key)}",
        )
        text = event(1).encode()
        line.sendall("\r\n".join((*words, "", "")).encode() + b"\x81\x7e" + len(text).to_bytes(2) + text)
        over.wait(30)


def test_a_line_that_is_dead_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_calls, "_QUIET", 0.05)
    monkeypatch.setattr(live_calls, "_PONG_WITHIN", 0.2)
    over = threading.Event()
    found: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greeted_and_left_alone, args=(listening, over), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(Unavailable, match="silent"), live_line(url, headers={}) as line:
            found.extend(message.seq for message in line.messages())
        over.set()
        thread.join(5)
    assert found == [1]
