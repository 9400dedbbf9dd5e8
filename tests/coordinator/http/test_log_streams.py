"""Logs as they are written, over real sockets: server-sent events and WebSockets."""

import http.client
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from orth.coordinator.http import sending
from orth.coordinator.logs.following import LiveLogs
from orth.store.users import set_grants, set_password
from orth.wire.network_reasons import place_of
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, Scroll, end, hand_over, serving, taken_by, written
from tests.servers.processes import wait_until
from tests.wire.peers import Exchange, refusing

WITHIN = 10.0


class Events:
    """A client of a stream, which reads in a thread of its own."""

    def __init__(self, site: Site, one: int, query: str = "", **headers: str) -> None:
        self.got: list[tuple[str, Any, str | None]] = []
        self.beats = 0
        self.closed = threading.Event()
        self._connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
        sent = {**site.admin().headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        self._connection.request("GET", f"{EXECUTIONS}/{one}/log/stream{query}", headers=sent)
        self.answer = self._connection.getresponse()
        if self.answer.status == 200:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        event: dict[str, str] = {}
        with suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if line.startswith(":"):
                    self.beats += 1
                elif line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                elif event:
                    if "event" in event:
                        self.got.append((event["event"], json.loads(event["data"]), event.get("id")))
                    event = {}
        self.closed.set()

    def of(self, kind: str) -> list[Any]:
        return [data for name, data, _ in self.got if name == kind]

    def texts(self) -> list[str]:
        return [text for data in self.of("lines") for text in data["content"].split("\n")]

    def until(self, condition: Callable[["Events"], object]) -> None:
        wait_until(lambda: bool(condition(self)), f"an event; {[name for name, _, _ in self.got][-5:]} came", WITHIN)

    def close(self) -> None:
        with suppress(OSError, AttributeError):
            self.answer.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


@contextmanager
def stream(site: Site, one: int, query: str = "", **headers: str) -> Iterator[Events]:
    events = Events(site, one, query, **headers)
    try:
        yield events
    finally:
        events.close()


@contextmanager
def time_passing(site: Site, step: float = 0.25) -> Iterator[None]:
    """Let the clock of the coordinator run, by ``step`` seconds forty times a second."""
    over = threading.Event()

    def pass_time() -> None:
        while not over.wait(0.025):
            site.clock.move(step)

    thread = threading.Thread(target=pass_time)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def live(site: Site) -> LiveLogs:
    found: LiveLogs = site.app.state.tools.live_logs
    return found


@pytest.fixture(autouse=True)
def _nobody_is_left(site: Site) -> Iterator[None]:
    yield
    wait_until(lambda: (live(site).streams, live(site).readers) == (0, 0), "every stream to be let go", WITHIN)


def test_what_is_there_then_what_comes_then_the_end(site: Site) -> None:
    scroll = Scroll(*(f"line {number}" for number in range(1, 2501)))
    with written(site, scroll) as one, stream(site, one) as events:
        assert events.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert events.answer.headers["x-content-type-options"] == "nosniff"
        events.until(lambda it: len(it.texts()) == 2500)
        wait_until(lambda: scroll.waiting == 1, "the executor to be asked to wait", WITHIN)
        scroll.add("and another", "and the last")
        events.until(lambda it: len(it.texts()) == 2502)
        assert events.texts() == scroll.texts
        scroll.finish()
        end(site, one)
        with time_passing(site):
            events.until(lambda it: it.of("end"))
        assert events.of("end") == [{"to_line": 2502, "status": "success", "note": ""}]
        assert events.closed.wait(WITHIN), "the stream ends with the log"
        expected = 1
        for data, number in ((data, number) for name, data, number in events.got if name == "lines"):
            assert data["from_line"] == expected
            assert number == str(data["to_line"])
            expected = data["to_line"] + 1


def test_the_end_waits_for_the_result_that_follows_the_last_line(site: Site) -> None:
    scroll = Scroll("only")
    with written(site, scroll) as one, stream(site, one) as events:
        events.until(lambda it: it.texts() == ["only"])
        scroll.finish()
        time.sleep(0.3)
        assert events.of("end") == []
        end(site, one, 500)
        site.clock.move(0.3)
        with time_passing(site):
            events.until(lambda it: it.of("end"))
        assert events.of("end")[0]["status"] == "failed"


def test_who_comes_back_goes_on_with_the_next_line(site: Site) -> None:
    scroll = Scroll("one", "two", "three", "four")
    with written(site, scroll) as one:
        with stream(site, one, Last_Event_ID="2") as events:
            events.until(lambda it: it.texts() == ["three", "four"])
            assert events.of("lines")[0]["from_line"] == 3
        with stream(site, one, "?from=4") as events:
            events.until(lambda it: it.texts() == ["four"])
        with stream(site, one, "?from=1", Last_Event_ID="") as events:
            events.until(lambda it: len(it.texts()) == 4)
        for wrong in ("x", "-1", "1.5", "9" * 30):
            with stream(site, one, Last_Event_ID=wrong) as events:
                assert events.answer.status == 422
        with stream(site, one, "?from=0") as events:
            assert events.answer.status == 422
    with stream(site, 4711) as events:
        assert events.answer.status == 404


def test_wild_text_stays_inside_its_event(site: Site) -> None:
    wild = ["data: x", "event: end", "a\rb", "\x85\u2028", "<script>", "\x1b[31m", "id: 99"]
    with written(site, Scroll(*wild)) as one, stream(site, one) as events:
        events.until(lambda it: it.texts() == wild)
        assert events.of("end") == []


def test_executors_of_another_make_are_polled_often_enough_and_no_more(site: Site) -> None:
    scroll = Scroll("one", ours=False)
    with written(site, scroll) as one, stream(site, one) as events:
        events.until(lambda it: it.texts() == ["one"])
        with time_passing(site):
            asked, began = len(scroll.asked), site.clock.now()
            wait_until(lambda: site.clock.now() - began > 30_000, "half a minute to pass", WITHIN)
            assert 5 <= len(scroll.asked) - asked <= 62, "twice a second at first, every 0.8 s in the end"
            scroll.add("two")
            events.until(lambda it: it.texts() == ["one", "two"])
            assert events.of("end") == []
            end(site, one)
            events.until(lambda it: it.of("end"))
    assert all("wait" not in asked for asked in scroll.asked)


def test_an_executor_that_answers_slowly_is_asked_less_often(site: Site) -> None:
    class Slow(Scroll):
        def answer(self, exchange: Exchange) -> None:
            site.clock.move(1.0)
            super().answer(exchange)

    scroll = Slow("one", ours=False)
    with written(site, scroll) as one, stream(site, one) as events:
        events.until(lambda it: it.texts() == ["one"])
        with time_passing(site):
            asked, began = len(scroll.asked), site.clock.now()
            wait_until(lambda: site.clock.now() - began > 30_000, "half a minute to pass", WITHIN)
            count, seconds = len(scroll.asked) - asked, (site.clock.now() - began) / 1000
            assert 2 <= count <= seconds / 3 + 1, "three seconds of rest after one of work, and not less than one"


def test_an_execution_that_waits_to_be_sent_is_followed_from_its_first_line(site: Site) -> None:
    one = site.execution(site.job())
    scroll = Scroll("hello")
    with serving(scroll) as address, stream(site, one) as events, time_passing(site):
        wait_until(lambda: live(site).readers == 1, "somebody to look for it", WITHIN)
        hand_over(site, one, address, ours=True)
        events.until(lambda it: it.texts() == ["hello"])


def test_an_execution_that_was_never_sent_ends_with_the_reason(site: Site, admin: Caller) -> None:
    one = site.execution(site.job())
    with stream(site, one) as events, time_passing(site):
        assert admin.post(f"{EXECUTIONS}/{one}/kill").status == 202
        events.until(lambda it: it.of("end"))
        assert events.of("end")[0]["status"] == "trigger_failed"
        assert "kill" in events.of("end")[0]["note"].lower()


def test_silence_is_broken_by_beats(site: Site) -> None:
    with written(site, Scroll("one")) as one, stream(site, one) as events:
        events.until(lambda it: it.texts() == ["one"])
        with time_passing(site, 1.0):
            events.until(lambda it: it.beats >= 2)


def test_trouble_is_told_once_and_gone_through(site: Site) -> None:
    with refusing() as address:
        one = taken_by(site, address, ours=True)
        with stream(site, one) as events, time_passing(site):
            events.until(lambda it: it.of("trouble"))
            time.sleep(0.3)
            assert len(events.of("trouble")) == 1
            assert place_of(address) in events.of("trouble")[0]["message"]
            end(site, one, 500)
            events.until(lambda it: it.of("end"))
            assert events.of("end")[0]["status"] == "failed"
            assert place_of(address) in events.of("end")[0]["note"]


def test_many_watchers_are_one_reader(site: Site) -> None:
    scroll = Scroll("one")
    with written(site, scroll) as one, ExitStack() as stack:
        watchers = [stack.enter_context(stream(site, one)) for _ in range(20)]
        for events in watchers:
            events.until(lambda it: it.texts() == ["one"])
        wait_until(lambda: scroll.waiting == 1, "one request to wait", WITHIN)
        assert (live(site).streams, live(site).readers) == (20, 1)
        before = len(scroll.asked)
        for number in range(10):
            scroll.add(f"more {number}")
            time.sleep(0.02)
        for events in watchers:
            events.until(lambda it: len(it.texts()) == 11)
        assert len(scroll.asked) - before <= 11, "once for all, however many they are"


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another make"])
def test_who_waits_far_ahead_moves_nobody(site: Site, ours: bool) -> None:
    scroll = Scroll("one", ours=ours)
    with written(site, scroll) as one, stream(site, one, Last_Event_ID="999999") as ahead:
        wait_until(lambda: scroll.asked[-1:] and "tail" not in scroll.asked[-1], "the log to be asked for", WITHIN)
        wait_until(lambda: live(site).readers == 1, "the reader to wait", WITHIN)
        with stream(site, one) as events, time_passing(site, 0.025):
            events.until(lambda it: it.texts() == ["one"])
            for number in range(5):
                scroll.add(f"more {number}")
                events.until(lambda it: it.texts() == scroll.texts)
            assert live(site).readers == 1
            assert (events.of("trouble"), ahead.of("trouble"), ahead.texts()) == ([], [], [])
            scroll.finish()
            end(site, one)
            for follower in (events, ahead):
                follower.until(lambda it: it.of("end"))
                assert follower.of("end") == [{"to_line": 6, "status": "success", "note": ""}]
        with stream(site, one, "?from=7") as late, time_passing(site):
            late.until(lambda it: it.of("end"))


def test_a_slow_watcher_delays_nobody_and_loses_nothing(site: Site) -> None:
    scroll = Scroll("begin")
    with written(site, scroll) as one:
        slow = socket.create_connection(("127.0.0.1", site.port))
        head = f"GET {EXECUTIONS}/{one}/log/stream HTTP/1.1\r\nHost: x\r\n"
        head += f"Authorization: {site.admin().headers['Authorization']}\r\n\r\n"
        slow.sendall(head.encode())
        with stream(site, one) as events, slow:
            events.until(lambda it: it.texts() == ["begin"])
            count = 400
            for _ in range(count // 10):
                scroll.add(*["x" * 50_000] * 10)  # 20 MB in all, which no buffer on the way holds
            began = time.monotonic()
            events.until(lambda it: len(it.texts()) == count + 1)
            assert time.monotonic() - began < WITHIN
            parts, xs = [], 0
            while xs < count * 50_000 and (part := slow.recv(1 << 20)):
                parts.append(part)
                xs += part.count(b"x")
            received = b"".join(parts)
        numbers = [json.loads(line[6:]) for line in received.split(b"\n") if line.startswith(b'data: {"from_line"')]
        assert numbers[0]["from_line"] == 1
        for before, after in itertools.pairwise(numbers):
            assert after["from_line"] == before["to_line"] + 1


def test_a_watcher_that_takes_nothing_is_let_go(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "STALLED_AFTER", 0.3)
    scroll = Scroll(*("x" * 50_000 for _ in range(400)))
    with written(site, scroll) as one, socket.socket() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect(("127.0.0.1", site.port))
        head = f"GET {EXECUTIONS}/{one}/log/stream HTTP/1.1\r\nHost: x\r\n"
        head += f"Authorization: {site.admin().headers['Authorization']}\r\n\r\n"
        stalled.sendall(head.encode())
        wait_until(lambda: live(site).streams == 1, "the stream to begin", WITHIN)
        wait_until(lambda: live(site).streams == 0, "the stream to be let go", WITHIN)


def test_a_stream_ends_with_its_session(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        with stream(site, one) as events:
            events.until(lambda it: it.texts() == ["one"])
            with time_passing(site, 30.0):  # the session is good for an hour
                events.until(lambda it: it.of("closed"))
            assert "session" in events.of("closed")[0]["reason"]
            assert events.closed.wait(WITHIN)
        with stream(site, one) as events:
            events.until(lambda it: it.texts() == ["one"])
            site.tx(set_password, "admin", "another hash", site.clock.now())
            with time_passing(site, 1.0):
                events.until(lambda it: it.of("closed"))


def a_viewer(site: Site, one: int) -> tuple[int, dict[str, str]]:
    """Somebody who may see the group of an execution and nothing else: the id, and what they show."""
    group = site.admin().get(f"{EXECUTIONS}/{one}").json["job_group"]
    made = {"username": "ada", "password": "a long password", "grants": [{"group_id": group, "role": "viewer"}]}
    user_id = site.admin().post("/api/v1/users", made).json["id"]
    return user_id, {"Authorization": f"Bearer {site.access_token('ada')}"}


def test_a_stream_ends_when_its_log_may_not_be_seen_any_more(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        user_id, headers = a_viewer(site, one)
        with stream(site, one, **headers) as events:
            events.until(lambda it: it.texts() == ["one"])
            site.tx(set_grants, user_id, {})
            with time_passing(site, 1.0):
                events.until(lambda it: it.of("closed"))
        with stream(site, one, **headers) as refused:
            assert refused.answer.status == 403


def test_streams_are_bounded_and_the_reason_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live(site), "_limits", (3, 2))
    with written(site, Scroll("one")) as one, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(stream(site, one))
        with stream(site, one) as refused:
            assert refused.answer.status == 429
            assert "admin follows 2 logs already" in json.loads(refused.answer.read())["detail"]
        assert site.admin().get(f"{EXECUTIONS}/{one}/log/download").status == 429
        monkeypatch.setattr(live(site), "_limits", (2, 10))
        with stream(site, one) as refused:
            assert refused.answer.status == 503
            assert "2 logs are followed" in json.loads(refused.answer.read())["detail"]
    wait_until(lambda: live(site).streams == 0, "the places to be free again", WITHIN)


def test_a_coordinator_that_stops_lets_its_watchers_go(own_site: Site) -> None:
    with written(own_site, Scroll("one")) as one, stream(own_site, one) as events:
        events.until(lambda it: it.texts() == ["one"])
        live(own_site).stop()
        events.until(lambda it: it.of("closed"))
        with stream(own_site, one) as late:
            assert late.answer.status == 503


# --- the same over a WebSocket


@contextmanager
def opened(site: Site, one: int, query: str = "", **more: Any) -> Iterator[ClientConnection]:
    more.setdefault("additional_headers", site.admin().headers)
    with connect(f"ws://127.0.0.1:{site.port}{EXECUTIONS}/{one}/log/ws{query}", open_timeout=WITHIN, **more) as client:
        yield client


def refusal(site: Site, one: int, query: str = "", **more: Any) -> Any:
    with pytest.raises(InvalidStatus) as refused, opened(site, one, query, **more):
        pass
    return refused.value.response


def told(client: ClientConnection) -> Any:
    return json.loads(client.recv(WITHIN))


def test_a_socket_tells_the_same(site: Site) -> None:
    scroll = Scroll("one", "two")
    with written(site, scroll) as one, opened(site, one, "?from=2") as client:
        assert told(client) == {"type": "lines", "from_line": 2, "to_line": 2, "content": "two"}
        scroll.add("<b>three</b>")
        assert told(client) == {"type": "lines", "from_line": 3, "to_line": 3, "content": "<b>three</b>"}
        end(site, one)
        scroll.finish()
        with time_passing(site):
            assert told(client) == {"type": "end", "to_line": 3, "status": "success", "note": ""}
        with pytest.raises(ConnectionClosed) as closed:
            told(client)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000


def test_a_browser_shows_its_token_as_a_subprotocol(site: Site) -> None:
    token = site.admin().headers["Authorization"].removeprefix("Bearer ")
    host = f"http://127.0.0.1:{site.port}"
    with (
        written(site, Scroll("one")) as one,
        opened(site, one, additional_headers={}, subprotocols=["orth", f"bearer.{token}"], origin=host) as client,
    ):
        assert client.subprotocol == "orth"
        assert told(client)["content"] == "one"


def test_sockets_are_for_those_who_are_signed_in(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"}):
            answer = refusal(site, one, additional_headers=headers)
            assert answer.status_code == 401
            assert json.loads(answer.body)["type"] == "urn:orth:problem:unauthenticated"
        other = site.refresh_token()
        assert refusal(site, one, additional_headers={"Authorization": f"Bearer {other}"}).status_code == 401
        assert refusal(site, one, f"?access_token={other}", additional_headers={}).status_code == 401
        for origin in ("http://evil.example", "http://[", "null", "]"):
            assert refusal(site, one, origin=origin).status_code == 403
        assert refusal(site, 4711).status_code == 404
        for wrong in ("0", "x", "2147483648"):
            answer = refusal(site, one, f"?from={wrong}")
            assert answer.status_code == 422
            assert json.loads(answer.body)["errors"][0]["field"] == "from"


def test_a_socket_reads_nothing(site: Site) -> None:
    with written(site, Scroll("one")) as one, opened(site, one) as client:
        assert told(client)["content"] == "one"
        client.send("hello?")
        with pytest.raises(ConnectionClosed) as closed:
            told(client)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


def test_a_socket_ends_with_its_session(site: Site) -> None:
    with written(site, Scroll("one")) as one, opened(site, one) as client:
        assert told(client)["content"] == "one"
        with time_passing(site, 30.0), pytest.raises(ConnectionClosed) as closed:
            all(told(client)["type"] == "beat" for _ in range(10_000))
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401


def test_a_socket_ends_when_its_log_may_not_be_seen_any_more(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        user_id, headers = a_viewer(site, one)
        with opened(site, one, additional_headers=headers) as client:
            assert told(client)["content"] == "one"
            site.tx(set_grants, user_id, {})
            with time_passing(site, 1.0), pytest.raises(ConnectionClosed) as over:
                list(iter(lambda: told(client), None))
        assert over.value.rcvd is not None
        assert over.value.rcvd.code == 4401
        assert refusal(site, one, additional_headers=headers).status_code == 404
