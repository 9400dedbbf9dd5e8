import json
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from orth.executor.context import JobContext
from orth.executor.facts import RequestFailed
from orth.executor.handlers import Handlers
from orth.wire.fields import BODY_LIMIT
from tests.executor.bench import HEADERS, NOON, TOKEN, Rig
from tests.executor.conftest import MakeRig

RUN = b'{"jobId": 1, "logId": 7, "executorHandler": "hello", "logDateTime": %d}' % NOON
POSTS = ("/run", "/trigger", "/runs", "/beat", "/idleBeat", "/log", "/kill")


@pytest.fixture
def ran(app: Handlers, rig: MakeRig) -> Rig:
    @app.job
    def hello(ctx: JobContext, name: str = "world") -> str:
        ctx.log("hello {}", name)
        return f"greeted {name}"

    return rig()


def envelope(body: bytes) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(body)
    assert set(read) == {"code", "msg", "content", "data"}
    return read


@pytest.mark.parametrize("path", ["/run", "/trigger"])
def test_a_trigger_is_taken_and_carried_out(ran: Rig, path: str) -> None:
    assert ran.ask(path, RUN).ok
    assert ran.runtime.join_idle(10)
    assert ran.waiting()[7].handle_msg == "greeted world"


def test_beats_are_answered(ran: Rig) -> None:
    for body in (b"", b"{}", b"null"):
        assert ran.ask("/beat", body).ok
    assert ran.ask("/idleBeat", b'{"jobId": 1}').ok


@pytest.mark.parametrize("time", ["logDateTim", "logDateTime"])
def test_the_log_is_read_in_every_spelling(ran: Rig, time: str) -> None:
    ran.ask("/run", RUN)
    assert ran.runtime.join_idle(10)
    status, body = ran.runtime.handle("/log", f'{{"logId": 7, "{time}": {NOON}, "fromLineNum": 2}}'.encode(), HEADERS)
    page = envelope(body)["content"]
    assert page == envelope(body)["data"]
    assert (status, page["fromLineNum"], page["toLineNum"], page["isEnd"], page["end"]) == (200, 2, 3, True, True)
    assert page["logContent"].splitlines()[0].endswith(" hello world")


def test_a_missing_log_explains_itself(ran: Rig) -> None:
    reply = ran.ask("/log", b'{"logId": 99, "logDateTim": %d, "fromLineNum": 1}' % NOON)
    status, body = ran.runtime.handle("/log", b'{"logId": 99, "logDateTim": 0, "fromLineNum": 1}', HEADERS)
    assert (status, reply.code) == (200, 200)
    page = envelope(body)["data"]
    assert page["isEnd"]
    assert "no log of execution 99" in page["logContent"]


def test_killing_nothing_is_answered_yes_with_a_note(ran: Rig) -> None:
    for body in (b'{"jobId": 1}', b'{"jobId": 1, "logId": 7}'):
        reply = ran.ask("/kill", body)
        assert reply.code == 200
        assert "runs or waits here" in str(reply.msg)


def test_a_batch_is_answered_item_by_item(ran: Rig) -> None:
    batch = {
        "requests": [
            {"jobId": 1, "logId": 1, "executorHandler": "hello", "logDateTime": NOON},
            {"jobId": 1, "logId": 2, "executorHandler": "nobody", "logDateTime": NOON},
            {"jobId": 1, "logId": 3.5, "executorHandler": "hello"},
            "no object",
            {"jobId": 1, "logId": 1, "executorHandler": "hello", "logDateTime": NOON},
            {"jobId": 2, "logId": 4, "executorHandler": "hello", "logDateTim": NOON, "executorParams": None},
        ]
    }
    status, body = ran.runtime.handle("/runs", json.dumps(batch).encode(), HEADERS)
    replies = envelope(body)["data"]["replies"]
    assert (status, envelope(body)["code"]) == (200, 200)
    assert [(reply["logId"], reply["code"]) for reply in replies] == [
        (1, 200),
        (2, 500),
        (None, 500),
        (None, 500),
        (1, 200),
        (4, 200),
    ]
    assert replies[2]["msg"] == "Refused: logId: must be an integer."
    assert replies[4]["msg"].startswith("Execution 1 is here already")
    assert ran.runtime.join_idle(10)
    assert {log_id: item.handle_code for log_id, item in ran.waiting().items()} == {1: 200, 4: 200}


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("headers", [{"ORTH-ACCESS-TOKEN": name} for name in ("", "wrong", "wröng", TOKEN[:-1])])
def test_without_the_token_nothing_happens(ran: Rig, path: str, headers: dict[str, str]) -> None:
    status, body = ran.runtime.handle(path, RUN, headers)
    assert (status, envelope(body)["code"]) == (401, 500)
    assert "token" in envelope(body)["msg"]
    assert ran.runtime.quiet()


@pytest.mark.parametrize(
    "headers",
    [
        {"orth-access-token": TOKEN},
        {"XXL-JOB-ACCESS-TOKEN": TOKEN},
        {"xxl-rpc-access-token": TOKEN},
        {"Authorization": f"Bearer {TOKEN}"},
    ],
)
def test_the_token_is_taken_from_any_of_its_headers(ran: Rig, headers: dict[str, str]) -> None:
    assert ran.runtime.handle("/beat", b"", headers)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/run", 405),
        ("DELETE", "/beat", 405),
        ("POST", "/health", 405),
        ("POST", "/", 404),
        ("POST", "/run/", 404),
        ("GET", "/nowhere", 404),
    ],
)
def test_wrong_doors_are_told_in_the_envelope(ran: Rig, method: str, path: str, status: int) -> None:
    answered, body = ran.runtime.handle(path, b"", HEADERS, method=method)
    assert (answered, envelope(body)["code"]) == (status, 500)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"jobId": 1}', b'{"jobId": 1, "logId": 1.5}'])
def test_what_is_no_message_is_refused_as_such(ran: Rig, body: bytes) -> None:
    status, answer = ran.runtime.handle("/run", body, HEADERS)
    assert (status, envelope(answer)["code"]) == (400, 500)
    assert envelope(answer)["msg"]


def test_a_bug_is_answered_and_told(ran: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ran.runtime.admission, "is_open", lambda _: 1 / 0)
    status, body = ran.runtime.handle("/log", b'{"logId": 7, "logDateTim": 0}', HEADERS)
    assert (status, envelope(body)["code"]) == (500, 500)
    assert "ZeroDivisionError" in ran.ears.of(RequestFailed)[0].error


def test_health_is_open_but_details_need_the_token(ran: Rig) -> None:
    status, body = ran.runtime.handle("/health", b"", {}, method="GET")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    told = json.loads(ran.runtime.handle("/health", b"", HEADERS, method="GET")[1])
    assert abs(told.pop("now") - ran.clock.now()) < 60_000
    assert 0 <= told.pop("tick") <= ran.clock.monotonic() * 1000
    assert told == {
        "status": "ok",
        "incarnation": "this-process",
        "open": 0,
        "threads": 0,
        "abandoned": 0,
        "undelivered": 0,
    }
    ran.runtime.admission.close()
    status, body = ran.runtime.handle("/health", b"", {}, method="GET")
    assert (status, json.loads(body)) == (503, {"status": "stopping"})


class Caller:
    """Speaks ASGI to the door."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.read = 0
        self.sent: list[MutableMapping[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        chunk = next(self._chunks, None)
        self.read += len(chunk or b"")
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)

    async def call(self, ran: Rig, path: str, *headers: tuple[str, str], method: str = "POST") -> int:
        raw = [(name.lower().encode(), value.encode()) for name, value in (*HEADERS.items(), *headers)]
        await ran.runtime.http(
            {"type": "http", "method": method, "path": path, "headers": raw}, self.receive, self.send
        )
        status: int = self.sent[0]["status"]
        return status


async def test_a_body_in_pieces_is_put_together(ran: Rig) -> None:
    caller = Caller(iter([RUN[:10], RUN[10:30], RUN[30:]]))
    assert await caller.call(ran, "/run") == 200
    assert envelope(caller.sent[1]["body"])["code"] == 200
    assert (b"content-type", b"application/json") in caller.sent[0]["headers"]
    assert ran.runtime.join_idle(10)
    assert 7 in ran.waiting()


async def test_the_log_is_served_over_asgi_too(ran: Rig) -> None:
    caller = Caller(iter([b'{"logId": 1, "logDateTim": 0}']))
    assert await caller.call(ran, "/log") == 200
    assert envelope(caller.sent[1]["body"])["data"]["isEnd"] is True


async def test_reading_stops_at_the_limit(ran: Rig) -> None:
    endless = Caller(iter(lambda: b"x" * 65536, b""))
    assert await endless.call(ran, "/run") == 413
    assert envelope(endless.sent[1]["body"])["code"] == 500
    assert endless.read <= BODY_LIMIT + 65536


async def test_an_announced_size_beyond_the_limit_is_not_read_at_all(ran: Rig) -> None:
    large = Caller(iter([b"x"]))
    assert await large.call(ran, "/run", ("content-length", str(BODY_LIMIT + 1))) == 413
    assert large.read == 0


async def test_what_is_refused_by_its_head_is_not_read(ran: Rig) -> None:
    caller = Caller(iter([RUN]))
    assert await caller.call(ran, "/nowhere") == 404
    assert await Caller(iter([])).call(ran, "/run", method="GET") == 405
    assert caller.read == 0


async def test_a_head_request_gets_no_body(ran: Rig) -> None:
    caller = Caller(iter([]))
    assert await caller.call(ran, "/health", method="HEAD") == 200
    assert caller.sent[1]["body"] == b""


async def test_anything_but_http_is_left_alone(ran: Rig) -> None:
    caller = Caller(iter([]))
    await ran.runtime.http({"type": "websocket"}, caller.receive, caller.send)
    assert caller.sent == []
