"""A small registry on a real port that a test can script: it keeps records, or answers as it is told, or goes away."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from orth.wire.signatures import signature_from
from tests.servers.processes import free_port

HANG = "hang"
RESET = "reset"

Answer = int | str | bytes | tuple[int, bytes]
"""A status, HANG, RESET, or a body (with 200, or with its status)."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def verb(self) -> str:
        """``register``, ``heartbeat``, ``status``, ``unregister`` or ``list``."""
        return "list" if self.method == "GET" else self.path.rsplit("/", 1)[-1]


@dataclass
class ScriptedRegistry:
    """Answers what is in ``script`` first, request by request, and properly after that; ``always`` overrides both."""

    port: int = field(default_factory=free_port)
    token: str = "token-of-this-test"  # nothing to protect
    script: list[Answer] = field(default_factory=list)
    always: dict[str, Answer] = field(default_factory=dict)
    """By verb."""
    asked: list[Asked] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        registry = self
        self._over.clear()

        class Handler(_Handler):
            home = registry

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Go away: the port is closed, and so is what hangs."""
        self._over.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def verbs(self) -> list[str]:
        with self._lock:
            return [one.verb for one in self.asked]

    def of(self, verb: str) -> list[Asked]:
        with self._lock:
            return [one for one in self.asked if one.verb == verb]

    def statuses(self) -> list[str]:
        return [one.body["status"] for one in self.of("status")]

    def add_orchestrator(self, service_id: str, url: str, status: str = "Running") -> None:
        self.records[service_id] = {"kind": "orchestrators", "id": service_id, "url": url, "status": status}

    def next_answer(self, asked: Asked) -> Answer | None:
        with self._lock:
            self.asked.append(asked)
            if asked.verb in self.always:
                return self.always[asked.verb]
            return self.script.pop(0) if self.script else None

    def properly(self, asked: Asked) -> tuple[int, bytes]:
        """What a registry answers."""
        with self._lock:
            signed = signature_from(asked.headers) is not None  # whether it is good is tried on real registries
            if asked.headers.get("orth-access-token") != self.token and not signed:
                return 401, b'{"detail": "Who are you?"}'
            kind = asked.path.split("/")[2]
            if asked.verb == "list":
                return 200, json.dumps([one for one in self.records.values() if one["kind"] == kind]).encode()
            if asked.verb == "register":
                return 200, json.dumps({"id": self._entered(kind, asked.body)}).encode()
            record = self.records.get(asked.path.split("/")[3])
            if record is None:
                return 404, b'{"detail": "Nobody has this id."}'
            if asked.verb == "status":
                record["status"] = asked.body["status"]
            elif asked.verb == "unregister":
                del self.records[record["id"]]
            return 200, b""

    def _entered(self, kind: str, body: dict[str, Any]) -> str:
        known = [one for one in self.records.values() if one["kind"] == kind and one["url"] == body["url"]]
        service_id = str(known[0]["id"]) if known else f"{len(self.asked):032x}"
        self.records[service_id] = {**body, "kind": kind, "id": service_id, "status": "Starting"}
        return service_id

    def wait_for_the_end(self) -> None:
        self._over.wait(30)


class _Handler(BaseHTTPRequestHandler):
    home: ScriptedRegistry
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def do_GET(self) -> None:
        self._answer(b"")

    def _answer(self, sent: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, json.loads(sent) if sent else None)
        told = self.home.next_answer(asked)
        if told == HANG:
            self.home.wait_for_the_end()
        if told in (HANG, RESET):
            self.close_connection = True
            return
        if told is None:
            self._send(*self.home.properly(asked))
        elif isinstance(told, bytes):
            self._send(200, told)
        elif isinstance(told, tuple):
            self._send(*told)
        else:
            assert isinstance(told, int)
            self._send(told, b"")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        # One request per connection: a registry that has gone away must be gone for everybody.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the screen of the tests."""
