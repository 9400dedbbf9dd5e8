"""A tiny coordinator on a real port: it writes down registrations and results, and can be told to refuse them."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit


class StandIn:
    """The coordinator. ``taking_results`` false means that it answers callbacks with a failure."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.taking_results = True
        self.calls: list[tuple[str, Any]] = []
        stand_in = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(stand_in.answer(self.path, self.headers["ORTH-ACCESS-TOKEN"], body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def answer(self, path: str, token: str | None, body: Any) -> dict[str, Any]:
        if token != self.token:
            return {"code": 500, "msg": "no such token"}
        if path == "/api/callback" and not self.taking_results:
            return {"code": 500, "msg": "not now"}
        self.calls.append((path, body))
        if path != "/api/callback":
            return {"code": 200}
        verdicts = [{"logId": item["logId"], "verdict": "stored"} for item in body]
        return {"code": 200, "data": {"verdicts": verdicts}}

    def of(self, path: str) -> list[Any]:
        return [body for called, body in list(self.calls) if called == path]

    @property
    def results(self) -> list[dict[str, Any]]:
        return [item for batch in self.of("/api/callback") for item in batch]

    @property
    def executor_port(self) -> int | None:
        """The port of the executor that registered last."""
        registered = self.of("/api/registry")
        return urlsplit(registered[-1]["registryValue"]).port if registered else None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._server.shutdown()
            self._server.server_close()
        self._thread.join()
