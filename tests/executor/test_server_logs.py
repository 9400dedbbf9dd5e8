"""Logs from their end and as they grow, over HTTP."""

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orth.executor import server as server_module
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.wire.fields import LOG_WAIT_LIMIT
from tests.executor.bench import HEADERS, NOON, Rig, eventually
from tests.executor.conftest import MakeRig
from tests.executor.test_attacks import served


class Talking:
    """Execution 7, which says what it is told to say and ends when told to."""

    def __init__(self, app: Handlers, rig: MakeRig) -> None:
        self._end = threading.Event()
        self.contexts: list[JobContext] = []

        @app.job
        def talk(ctx: JobContext) -> None:
            self.contexts.append(ctx)
            assert self._end.wait(30)

        self.ran: Rig = rig()
        assert self.ran.run(7, "talk").ok
        eventually(lambda: bool(self.contexts))

    def say(self, *lines: str) -> None:
        for line in lines:
            self.contexts[0].log("{}", line)

    def end(self) -> None:
        self._end.set()
        assert self.ran.runtime.join_idle(10)


@pytest.fixture
def talking(app: Handlers, rig: MakeRig) -> Iterator[Talking]:
    made = Talking(app, rig)
    yield made
    made.end()


def page(port: int, **asked: object) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"logId": 7, "logDateTim": NOON} | asked)
    try:
        connection.request("POST", "/log", body, HEADERS)
        answer = json.loads(connection.getresponse().read())
        assert answer["code"] == 200, answer
        shown: dict[str, Any] = answer["data"]
        return shown
    finally:
        connection.close()


def texts(shown: dict[str, Any]) -> list[str]:
    return [line.split(" ", 1)[1] for line in shown["logContent"].split("\n") if line]


def timed(ask: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    began = time.monotonic()
    return ask(), time.monotonic() - began


def test_the_last_lines_wherever_they_begin(talking: Talking) -> None:
    talking.say(*(f"line {number}" for number in range(5000)))
    with served(talking.ran) as port:
        shown = page(port, tail=3, fromLineNum=1)
        assert texts(shown) == ["line 4997", "line 4998", "line 4999"]
        assert shown["toLineNum"] - shown["fromLineNum"] == 2
        assert not shown["isEnd"]
        again = page(port, fromLineNum=shown["fromLineNum"])
        assert again["logContent"] == shown["logContent"], "the numbers are those of any other page"
        assert len(texts(page(port, tail=2**31 - 1))) == 1000
        talking.end()
        assert page(port, tail=1)["isEnd"]


@pytest.mark.parametrize(("field", "value"), [("tail", 0), ("tail", -1), ("tail", "x"), ("wait", -1), ("wait", 1.5)])
def test_odd_tails_and_waits_are_refused(talking: Talking, field: str, value: object) -> None:
    body = json.dumps({"logId": 7, "logDateTim": NOON, field: value}).encode()
    status, answer = talking.ran.runtime.handle("/log", body, HEADERS)
    assert (status, json.loads(answer)["code"]) == (400, 500)
    assert json.loads(answer)["msg"].startswith(field)


def test_what_is_there_is_answered_at_once(talking: Talking) -> None:
    with served(talking.ran) as port:
        shown, took = timed(lambda: page(port, fromLineNum=1, wait=20))
        assert shown["toLineNum"] >= 1
        gone, also_took = timed(lambda: page(port, logId=99, fromLineNum=1, wait=20))
        assert gone["isEnd"]
    assert took + also_took < 10


def test_a_wait_ends_with_the_next_line_and_with_the_end(talking: Talking) -> None:
    with served(talking.ran) as port, ThreadPoolExecutor(1) as reader:
        following = page(port)["toLineNum"] + 1
        asked = reader.submit(page, port, fromLineNum=following, wait=20)
        eventually(lambda: waiting(talking) == 1)
        talking.say("here I am")
        shown = asked.result(10)
        assert texts(shown) == ["here I am"]
        assert (shown["fromLineNum"], shown["isEnd"]) == (following, False)
        asked = reader.submit(page, port, fromLineNum=following + 1, wait=20)
        eventually(lambda: waiting(talking) == 1)
        talking.end()
        last = asked.result(10)
        while not last["isEnd"]:
            last = page(port, fromLineNum=last["toLineNum"] + 1, wait=20)
    assert waiting(talking) == 0


def test_a_wait_ends_with_its_time(talking: Talking) -> None:
    with served(talking.ran) as port:
        following = page(port)["toLineNum"] + 1
        shown, took = timed(lambda: page(port, fromLineNum=following, wait=1))
    assert took >= 1
    assert (shown["fromLineNum"], shown["toLineNum"], shown["isEnd"]) == (following, following - 1, False)


def test_a_longer_wait_is_cut_to_the_limit(talking: Talking, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LOG_WAIT_LIMIT == 25
    monkeypatch.setattr(server_module, "LOG_WAIT_LIMIT", 0.3)
    with served(talking.ran) as port:
        following = page(port)["toLineNum"] + 1
        _, took = timed(lambda: page(port, fromLineNum=following, wait=2**31 - 1))
    assert 0.3 <= took < 10


def test_those_who_leave_are_not_waited_for(talking: Talking) -> None:
    with served(talking.ran) as port:
        following = page(port)["toLineNum"] + 1
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        asked = {"logId": 7, "logDateTim": NOON, "fromLineNum": following, "wait": 25}
        connection.request("POST", "/log", json.dumps(asked), HEADERS)
        eventually(lambda: waiting(talking) == 1)
        connection.close()
        eventually(lambda: waiting(talking) == 0, 5)


def test_waits_are_bounded_and_hold_up_nobody(talking: Talking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "WAITS_AT_ONCE", 8)
    monkeypatch.setattr(server_module, "REQUESTS_AT_ONCE", 2)
    with served(talking.ran) as port, ThreadPoolExecutor(8) as readers:
        following = page(port)["toLineNum"] + 1
        asked = [readers.submit(page, port, fromLineNum=following, wait=20) for _ in range(8)]
        eventually(lambda: waiting(talking) == 8)
        shown, took = timed(lambda: page(port, fromLineNum=following, wait=20))
        assert (shown["toLineNum"], waiting(talking)) == (following - 1, 8)
        assert took < 10, "beyond the bound the answer is what there is"
        talking.say("for all of you")
        assert [texts(each.result(10)) for each in asked] == [["for all of you"]] * 8
        eventually(lambda: waiting(talking) == 0)


async def test_the_event_loop_goes_on_during_a_wait(talking: Talking) -> None:
    endpoints = talking.ran.runtime.endpoints
    body = json.dumps({"logId": 7, "logDateTim": NOON, "fromLineNum": 1000, "wait": 20}).encode()
    asked = endpoints.log_awaited("/log", body)
    assert asked is not None
    growing = asyncio.create_task(endpoints.log_grown(asked))
    for _ in range(20):
        await asyncio.sleep(0.01)
        assert not growing.done()
    growing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await growing


def waiting(talking: Talking) -> int:
    return talking.ran.runtime.http.waiting
