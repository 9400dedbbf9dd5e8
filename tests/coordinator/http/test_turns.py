"""How many GET requests of the admin API are answered at once."""

import asyncio
from types import SimpleNamespace
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from orth.coordinator.http.turns import Turns

STATE = SimpleNamespace(state=SimpleNamespace(tools=SimpleNamespace(settings=None)))


class Answers:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.running = self.most = 0
        self.asked: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        self.asked.append(scope["path"])
        await self.go.wait()
        self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def ask(app: Any, path: str, who: str, method: str = "GET") -> int:
    found: list[Message] = []

    async def send(message: Message) -> None:
        found.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    headers = [(b"authorization", who.encode())]
    await app({"type": "http", "method": method, "path": path, "headers": headers, "app": STATE}, receive, send)
    return int(found[0]["status"])


async def test_one_caller_waits_for_its_own_turns_and_others_do_not() -> None:
    inner = Answers()
    app = Turns(inner, at_once=3, of_one_caller=2, waiting=20)
    mine = [asyncio.create_task(ask(app, "/api/v1/jobs", "a")) for _number in range(10)]
    await asyncio.sleep(0)
    assert inner.running == 2
    mine.append(asyncio.create_task(ask(app, "/api/v1/groups", "b")))
    mine.append(asyncio.create_task(ask(app, "/api/v1/jobs", "b", "POST")))
    mine.append(asyncio.create_task(ask(app, "/api/v1/executions/1/log", "a")))
    await asyncio.sleep(0)
    assert inner.running == 5, "neither changes nor logs wait here"
    inner.go.set()
    assert set(await asyncio.gather(*mine)) == {200}
    assert len(inner.asked) == 13


async def test_a_request_too_many_is_refused() -> None:
    inner = Answers()
    app = Turns(inner, at_once=1, of_one_caller=1, waiting=1)
    asked = [asyncio.create_task(ask(app, "/api/v1/jobs", "a")) for _number in range(3)]
    await asyncio.sleep(0)
    inner.go.set()
    assert sorted(await asyncio.gather(*asked)) == [200, 200, 429]
