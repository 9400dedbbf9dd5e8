"""A live socket that does as a test says: a real server, one script for each connection."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

Script = Callable[[ServerConnection], None]


def event(seq: int, name: str = "agent_status_changed", **data: Any) -> str:
    return json.dumps({"type": name, "data": {"id": "a" * 32, **data}, "seq": seq, "at": "2026-01-30T03:00:00.000Z"})


def snapshot(seq: int) -> str:
    return json.dumps({"type": "snapshot", "data": {"orchestrators": [], "agents": []}, "seq": seq})


class LiveServer:
    """Connections meet ``scripts`` one after the other; when there are none left, they are refused with 503."""

    def __init__(self, *scripts: Script | int) -> None:
        self.scripts = list(scripts)
        self.asked: list[str] = []
        self.headers: list[Headers] = []
        self._server: Server
        self._next: list[Script] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def _process(self, connection: ServerConnection, request: Request) -> Response | None:
        self.asked.append(request.path)
        self.headers.append(request.headers)
        script = self.scripts.pop(0) if self.scripts else 503
        if isinstance(script, int):
            return connection.respond(HTTPStatus(script), "no\n")
        self._next.append(script)
        return None

    def _handle(self, connection: ServerConnection) -> None:
        self._next.pop(0)(connection)

    @contextmanager
    def running(self) -> Iterator["LiveServer"]:
        with serve(self._handle, "127.0.0.1", 0, process_request=self._process, close_timeout=1) as self._server:
            thread = threading.Thread(target=self._server.serve_forever, daemon=True)
            thread.start()
            yield self
            self._server.shutdown()
            thread.join(5)


def sends(*texts: str, code: int = 1012) -> Script:
    """Send these and hang up."""

    def script(connection: ServerConnection) -> None:
        for text in texts:
            connection.send(text)
        connection.close(code)

    return script


def answers_snapshot(seq: int) -> Script:
    def script(connection: ServerConnection) -> None:
        assert json.loads(connection.recv()) == {"type": "snapshot"}
        connection.send(event(seq + 1))  # what happens meanwhile is no answer
        connection.send(snapshot(seq))

    return script


def breaks_off(*texts: str) -> Script:
    """Send these and let the line drop without a word."""

    def script(connection: ServerConnection) -> None:
        for text in texts:
            connection.send(text)
        connection.socket.close()

    return script
