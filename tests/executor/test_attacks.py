"""Bad input at every door: refused with a code and a message, nothing executed, nothing lost."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from orth.executor.handlers import Handlers
from orth.executor.server import REQUESTS_AT_ONCE, HttpDoor
from orth.serving import Server
from orth.wire.fields import BATCH_LIMIT, BODY_LIMIT
from tests.executor.bench import HEADERS, NOON, TOKEN, Rig
from tests.executor.conftest import MakeRig
from tests.executor.test_server import POSTS, Caller

RUN = {"jobId": 1, "logId": 7, "executorHandler": "hello", "logDateTime": NOON}
READING = tuple(path for path in POSTS if path != "/beat")

NO_MESSAGE = [
    b"",
    b"\x00",
    b"null",
    b"[]",
    b"5",
    b'"text"',
    b"{",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf\xef\xbb\xbf{}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"jobId": 1, "jobId": 2, "logId": 7, "requests": []}',
    b'{"jobId": NaN, "logId": 7, "requests": NaN}',
    b'{"jobId": 1e400, "logId": 7, "requests": 1e400}',
    b'{"jobId": ' + b"9" * 4301 + b"}",
    b'{"jobId": true, "logId": true, "requests": true}',
    b'{"jobId": -1, "logId": -1, "requests": -1}',
    b'{"jobId": 1.5, "logId": 1.5, "requests": 1.5}',
    b'{"jobId": 4294967297, "logId": 9223372036854775808, "requests": {}}',
    b'{"jobId": "1; rm -rf /", "logId": "../../etc/passwd", "requests": "x"}',
    b'{"jobId": {}, "logId": [], "requests": [],, }',
    b'{"jobId": "\\ud800", "logId": "\\ud800", "requests": "\\ud800"}',
]

UNFIT_RUNS = [
    {"executorHandler": "os.system"},
    {"executorHandler": "__import__"},
    {"executorHandler": "hello\n"},
    {"executorHandler": "h" * 256},
    {"executorHandler": ["hello"]},
    {"executorParams": "x" * 65_536},
    {"glueType": "GLUE_RUBY"},
    {"glueType": "GLUE_SHELL", "glueSource": "touch /tmp/pwned"},
    {"glueSource": "x\0y"},
    {"logDateTime": 2**62},
    {"logDateTime": -1},
    {"scheduleTime": 2**62},
    {"resendTo": ""},
    {"resendTo": "x" * 65},
    {"resendTo": "another-process"},
    {"executorTimeout": 2**31},
    {"broadcastTotal": 2**31},
    {"broadcastTotal": -1},
    {"broadcastIndex": -1, "broadcastTotal": 2},
    {"broadcastIndex": 2, "broadcastTotal": 2},
    {"executorConcurrency": -1},
    {"executorConcurrency": 65},
    {"executorBlockStrategy": ["DISCARD_LATER"]},
    {"executorBlockStrategy": 1},
    {"executorParams": "a\0b"},
]
NO_JSON_BY_ITS_OWN_ACCOUNT = [
    {"content-type": "text/plain"},
    {"content-type": "multipart/form-data; boundary=x"},
    {"content-type": "application/x-www-form-urlencoded"},
    {"content-type": "application/json; charset=utf-16"},
    {"content-type": 'application/json;charset="latin1"'},
    {"content-encoding": "gzip"},
    {"content-type": "application/json", "content-encoding": "br"},
]


class Watched:
    """A rig whose only handler remembers that it was called."""

    def __init__(self, app: Handlers, rig: MakeRig) -> None:
        self.called: list[int] = []
        app.job("hello")(lambda: self.called.append(1))
        self.ran: Rig = rig()

    def is_untouched(self) -> bool:
        return self.ran.runtime.quiet() and not self.called and not self.ran.waiting()


@pytest.fixture
def watched(app: Handlers, rig: MakeRig) -> Watched:
    return Watched(app, rig)


@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize("body", NO_MESSAGE, ids=range(len(NO_MESSAGE)))
def test_what_is_no_message_is_refused(watched: Watched, path: str, body: bytes) -> None:
    status, answer = watched.ran.runtime.handle(path, body, HEADERS)
    told = json.loads(answer)
    assert (status, told["code"]) == (400, 500) or (status, told["code"]) == (413, 500)
    assert told["msg"]
    assert len(answer) < 1000, "what was sent is not sent back"
    assert watched.is_untouched()


@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize("said", NO_JSON_BY_ITS_OWN_ACCOUNT, ids=str)
def test_what_says_that_it_is_no_json_is_refused(watched: Watched, path: str, said: dict[str, str]) -> None:
    status, answer = watched.ran.runtime.handle(path, json.dumps(RUN).encode(), HEADERS | said)
    assert (status, json.loads(answer)["code"]) == (415, 500)
    assert "send" in json.loads(answer)["msg"], "what to do instead"
    assert watched.is_untouched()


@pytest.mark.parametrize(
    "said", ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=utf8", ""]
)
def test_what_says_that_it_is_json_or_nothing_is_read(watched: Watched, said: str) -> None:
    told = {"content-type": said, "content-encoding": "identity"}
    status, answer = watched.ran.runtime.handle("/run", json.dumps(RUN).encode(), HEADERS | told)
    assert (status, json.loads(answer)["code"]) == (200, 200)


@pytest.mark.parametrize("path", READING)
def test_a_body_beyond_every_limit_is_refused(watched: Watched, path: str) -> None:
    status, _ = watched.ran.runtime.handle(path, b" " * (BODY_LIMIT + 1), HEADERS)
    assert status == 413
    assert watched.is_untouched()


@pytest.mark.parametrize("unfit", UNFIT_RUNS, ids=lambda unfit: "-".join(unfit))
def test_a_trigger_that_cannot_be_meant_is_refused_alone_and_in_a_batch(
    watched: Watched, unfit: dict[str, object]
) -> None:
    body = RUN | unfit
    status, answer = watched.ran.runtime.handle("/run", json.dumps(body).encode(), HEADERS)
    assert status in (200, 400)
    assert json.loads(answer)["code"] == 500
    assert watched.is_untouched()
    batch = json.dumps({"requests": [body, RUN | {"logId": 8}]}).encode()
    _, answer = watched.ran.runtime.handle("/runs", batch, HEADERS)
    assert [reply["code"] for reply in json.loads(answer)["data"]["replies"]] == [500, 200]
    assert watched.ran.runtime.join_idle(10)
    assert (watched.called, list(watched.ran.waiting())) == ([1], [8])


def test_a_batch_of_too_many_is_refused_whole(watched: Watched) -> None:
    requests = [RUN | {"logId": number} for number in range(BATCH_LIMIT + 1)]
    status, answer = watched.ran.runtime.handle("/runs", json.dumps({"requests": requests}).encode(), HEADERS)
    assert (status, json.loads(answer)["code"]) == (400, 500)
    assert watched.is_untouched()


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "run"])
@pytest.mark.parametrize("path", POSTS)
def test_no_other_method_does_anything(watched: Watched, method: str, path: str) -> None:
    status, _ = watched.ran.runtime.handle(path, json.dumps(RUN).encode(), HEADERS, method=method)
    assert status == 405
    assert watched.is_untouched()


@pytest.mark.parametrize(
    "path", ["/run/../run", "//run", "/RUN", "/run%00", "/run?x=1", "/../../etc/passwd", "/metrics/x"]
)
def test_no_other_path_does_anything(watched: Watched, path: str) -> None:
    assert watched.ran.runtime.handle(path, json.dumps(RUN).encode(), HEADERS)[0] == 404
    assert watched.is_untouched()


@pytest.mark.parametrize("line", [-1, 0, 2**31, "x", None, 1.5])
def test_odd_places_in_a_log_are_refused_or_empty(watched: Watched, line: object) -> None:
    asked = {"logId": 7, "logDateTim": NOON, "fromLineNum": line}
    status, answer = watched.ran.runtime.handle("/log", json.dumps(asked).encode(), HEADERS)
    assert status in (200, 400)
    assert "Traceback" not in answer.decode()


async def test_a_body_that_never_ends_is_given_up_on(watched: Watched) -> None:
    class Slow(Caller):
        async def receive(self) -> dict[str, object]:
            await asyncio.Event().wait()
            raise AssertionError

    slow = Slow(iter([]))
    watched.ran.runtime.http = HttpDoor(
        watched.ran.runtime.endpoints, turned_away=watched.ran.runtime.turned_away, body_deadline=0.05
    )
    assert await slow.call(watched.ran, "/run") == 408
    assert (b"connection", b"close") in slow.sent[0]["headers"]
    assert watched.is_untouched()


async def test_half_a_body_is_not_acted_upon(watched: Watched) -> None:
    whole = json.dumps(RUN).encode()

    class Leaving(Caller):
        async def receive(self) -> dict[str, object]:
            return {"type": "http.disconnect"} if self.read else await super().receive()

    leaving = Leaving(iter([whole]))
    with pytest.raises(IndexError):
        await leaving.call(watched.ran, "/run")
    assert leaving.sent == [], "there is nobody to answer"
    assert watched.is_untouched()


async def test_too_many_at_once_are_told_so_and_the_rest_is_served(watched: Watched) -> None:
    release = asyncio.Event()

    class Held(Caller):
        async def receive(self) -> dict[str, object]:
            await release.wait()
            return await super().receive()

    held = [Held(iter([b"{}"])) for _ in range(REQUESTS_AT_ONCE)]
    calls = [asyncio.create_task(caller.call(watched.ran, "/beat")) for caller in held]
    await asyncio.sleep(0)
    assert await Caller(iter([b"{}"])).call(watched.ran, "/beat") == 503
    release.set()
    assert await asyncio.gather(*calls) == [200] * REQUESTS_AT_ONCE
    assert await Caller(iter([b"{}"])).call(watched.ran, "/beat") == 200


# --- over a real socket


@contextmanager
def served(ran: Rig) -> Iterator[int]:
    """The executor's door behind a real port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(ran.runtime.http, keep_alive=5, websockets=False)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)


def sent(port: int, raw: bytes) -> bytes:
    """Send these bytes and read until the other end closes or says nothing for a while."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        answer = b""
        with suppress(TimeoutError, ConnectionError):  # it may close while we are still talking
            connection.sendall(raw)
            connection.settimeout(0.7)
            while piece := connection.recv(65_536):
                answer += piece
        return answer


HEAD = f"POST /run HTTP/1.1\r\nHost: x\r\nORTH-ACCESS-TOKEN: {TOKEN}\r\n".encode()
BODY = json.dumps(RUN).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


def test_what_is_no_http_is_refused_and_others_are_served(watched: Watched) -> None:
    with served(watched.ran) as port:
        for raw in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
            b"POST /run HTTP/7\r\n\r\n" + BODY,
            HEAD + LENGTH + b"X: a\x00b\r\n\r\n" + BODY,
            HEAD + b"Content-Length: -5\r\n\r\n" + BODY,
            HEAD + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\n" + BODY,
            HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n" + BODY,
            HEAD + LENGTH + b"X-Large: " + b"x" * 1_000_000 + b"\r\n\r\n" + BODY,
            HEAD + LENGTH + b"X: y\r\n" * 100_000 + b"\r\n" + BODY,
        ):
            answer = sent(port, raw)
            assert not answer.startswith(b"HTTP/1.1 200"), raw[:200]
        lying = sent(port, HEAD + b"Content-Length: 1000\r\n\r\n" + BODY)
        assert lying == b"", "the rest of the body may still come"
        assert watched.is_untouched()
        assert sent(port, HEAD + b"Content-Length: 999999999999\r\n\r\n").startswith(b"HTTP/1.1 413")
        assert sent(port, HEAD + LENGTH + b"\r\n" + BODY).startswith(b"HTTP/1.1 200")
        assert watched.ran.runtime.join_idle(10)
        assert watched.called == [1]


def test_what_follows_a_refused_request_is_not_taken_for_another(watched: Watched) -> None:
    """A body that was not read must not be read as a request of its own."""
    smuggled = HEAD + LENGTH + b"\r\n" + BODY
    refused = b"POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(smuggled)
    with served(watched.ran) as port:
        answer = sent(port, refused + smuggled)
        assert b'"code":500' in answer
        assert answer.count(b"HTTP/1.1") == 1
        assert watched.is_untouched()
