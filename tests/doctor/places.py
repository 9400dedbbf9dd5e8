"""What checks look at: servers that answer as a test says, and cases with the settings of a test."""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from orth.clock import SystemClock
from orth.doctor import Case, State, Verdict
from orth.settings import Settings

COORDINATOR: Mapping[str, Any] = {
    "/health/live": {"status": "alive"},
    "/health/ready": {"status": "ready"},
    "/api/orchestrators": [],
    "/api/agents": [],
}
EXECUTOR: Mapping[str, Any] = {"/health": {"status": "ok"}}


class Place(ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1: ``pages`` by path, each a value (as JSON), text, or a status."""

    daemon_threads = True

    def __init__(self, pages: Mapping[str, Any], server: str, headers: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages, self.named, self.headers = dict(pages), server, headers
        self.heard: list[tuple[str, dict[str, str]]] = []
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Place

    def do_GET(self) -> None:
        self.server.heard.append((self.path, dict(self.headers)))
        page = self.server.pages.get(self.path, 404)
        body = b"" if isinstance(page, int) else page.encode() if isinstance(page, str) else json.dumps(page).encode()
        self.send_response_only(page if isinstance(page, int) else 200)
        own = {"Server": self.server.named, "Content-Length": str(len(body))}
        for name, value in {**own, **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving(
    pages: Mapping[str, Any],
    *,
    server: str = "",
    headers: Mapping[str, str] | None = None,
    secure: ssl.SSLContext | None = None,
) -> Iterator[Place]:
    place = Place(pages, server, headers or {})
    if secure is not None:
        place.socket = secure.wrap_socket(place.socket, server_side=True)
        place.scheme = "https"
    thread = threading.Thread(target=place.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield place
    finally:
        place.shutdown()
        place.server_close()
        thread.join()


def case_of(sections: Mapping[str, Mapping[str, object]] | None = None, **fields: Any) -> Case:
    return Case(Settings.model_validate(dict(sections or {})), fields.pop("clock", SystemClock()), **fields)


def at(*urls: str, token: str = "the-token-of-this-test", **fields: Any) -> Case:
    """A case whose coordinators are said to be at ``urls``."""
    sections = {"executor": {"coordinators": list(urls)}, "security": {"access_token": token}}
    return case_of(sections, **fields)


def only(verdicts: list[Verdict], state: State) -> Verdict:
    """The one verdict there is, which is ``state`` and, unless it is fine, says what to do."""
    (verdict,) = verdicts
    assert verdict.state is state, verdict
    assert bool(verdict.next) == (state is not State.OK), verdict
    return verdict
