"""A large audience of one live socket, one of whom has stopped reading, and how long the others wait for an event."""

import asyncio
import re
import socket
import threading
import time
from collections import defaultdict
from contextlib import AsyncExitStack, suppress
from typing import Any, Self
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from tests.faults.crowd import BEARER, HEADERS
from tests.walk.processes import HTTP, eventually

_NUMBER = re.compile(r'"seq":(\d+)')
_OPENED_AT_ONCE = 50
_ASKS = b'{"type":"snapshot"}'


class Audience:
    """``count`` clients in one thread: when each heard which event."""

    def __init__(self, url: str, count: int) -> None:
        self.url = url
        self.count = count
        self.heard: defaultdict[int, list[float]] = defaultdict(list)
        self.left = 0
        self._seated = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._sit()), name="audience", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._seated.wait(120), "not everybody was let in"
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join(60)

    def slowest(self, seq: int) -> float:
        return max(self.heard[seq])

    async def _sit(self) -> None:
        doors = asyncio.Semaphore(_OPENED_AT_ONCE)
        async with AsyncExitStack() as stack:

            async def enter() -> ClientConnection:
                async with doors:
                    return await stack.enter_async_context(
                        connect(
                            f"ws{self.url.removeprefix('http')}/ws",
                            additional_headers=BEARER,
                            compression=None,
                            open_timeout=60,
                            close_timeout=1,
                            proxy=None,
                        )
                    )

            lines = await asyncio.gather(*(enter() for _ in range(self.count)))
            listening = [asyncio.create_task(self._listen(line)) for line in lines]
            self._seated.set()
            await asyncio.to_thread(self._over.wait)
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)

    async def _listen(self, line: ClientConnection) -> None:
        try:
            async for text in line:
                found = _NUMBER.search(str(text))
                assert found is not None, text
                self.heard[int(found[1])].append(time.time())
        finally:
            self.left += 1


class Sleeper:
    """A client that was let in and reads nothing: its line fills up."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._line = socket.socket()
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self._line.settimeout(10)
        self._line.connect((parts.hostname, parts.port))
        wanted = {"Host": parts.netloc, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        wanted |= {"Sec-WebSocket-Key": "c2xlZXBzIG9uIGFuZCBvbg==", **BEARER}
        lines = ("GET /ws HTTP/1.1", *(f"{name}: {value}" for name, value in wanted.items()), "", "")
        self._line.sendall("\r\n".join(lines).encode())
        answer = self._line.recv(12)
        assert answer == b"HTTP/1.1 101", answer

    def ask_snapshot(self) -> None:
        """More than it will ever read: the quickest way to fill its line."""
        with suppress(OSError):  # it was let go
            self._line.sendall(b"\x81" + bytes([0x80 | len(_ASKS)]) + bytes(4) + _ASKS)  # masked with zeros

    def leave(self) -> None:
        self._line.close()


class Stage:
    """An agent whose status is changed, over and over, and the event that each change leads to."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._agent = self.register("on-stage")
        self._statuses = ("Idle", "Busy")
        self.changes: dict[int, float] = {}
        """When each change began, by the number of its event."""

    def register(self, name: str) -> str:
        """Another agent; its id. Its address is long, so that snapshots are."""
        address = f"http://127.0.0.1:9/{name}/{'x' * 200}"
        return str(self._post("register", {"url": address, "name": name})["id"])

    def change(self) -> int:
        """Change the status; the number of the event."""
        before = self.head()
        status = self._statuses[len(self.changes) % 2]
        began = time.time()
        self._post(f"{self._agent}/status", {"status": status})
        self.changes[before + 1] = began
        return before + 1

    def head(self) -> int:
        answer = HTTP.request("GET", f"{self._url}/api/orchestrators", headers=HEADERS)
        assert answer.status == 200, answer.data
        return int(answer.headers["ORTH-SEQ"])

    def _post(self, path: str, body: object) -> Any:
        answer = HTTP.request("POST", f"{self._url}/api/agents/{path}", json=body, headers=HEADERS)
        assert answer.status == 200, answer.data
        return answer.json()


def delays(audience: Audience, stage: Stage) -> list[float]:
    """Seconds from each change until each of the audience knew, once all do; sorted."""
    for seq in stage.changes:
        eventually(lambda seq=seq: len(audience.heard[seq]) >= audience.count, what=f"event {seq} at everybody")
        assert len(audience.heard[seq]) == audience.count, "somebody heard it twice"
    return sorted(at - began for seq, began in stage.changes.items() for at in audience.heard[seq])


def share(values: list[float], part: float) -> float:
    return values[min(len(values) - 1, int(len(values) * part))]
