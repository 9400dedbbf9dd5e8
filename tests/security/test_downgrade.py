"""An attacker on the wire between an executor and its coordinator, without TLS, who changes answers.

The executor is a real process, and so is the coordinator behind the attacker. The attacker leaves out the header by
which coordinators say that they read signatures, and hopes that the executor shows its token instead.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
import urllib3

from orth.wire.coordinator_calls import SIGNING_COORDINATORS_FILE
from orth.wire.signatures import RECEIVER_HEADER
from tests.servers.processes import free_port
from tests.walk.processes import TOKEN, Site, eventually

JOBS = """
from orth import Executor

app = Executor("reports")


@app.job("note")
def note() -> None: ...
"""


class Forged(NamedTuple):
    """An answer of an attacker."""

    status: int
    headers: dict[str, str]
    body: bytes


Change = Callable[[str, bytes], bytes]


def _unchanged(_path: str, body: bytes) -> bytes:
    return body


Attack = Callable[[str, dict[str, str], bytes], Forged | None]
"""What an attacker answers itself, by path, headers and body; None: the request passes."""


def _refuse(_path: str, _headers: dict[str, str], _body: bytes) -> Forged:
    return Forged(401, {}, b'{"code":401,"msg":"Who are you?"}')


class Interceptor:
    """Passes requests on to a process and keeps what it reads. While it attacks, it may answer itself."""

    def __init__(
        self,
        target: str,
        change_request: Change = _unchanged,
        change_answer: Change = _unchanged,
        attack: Attack = _refuse,
    ) -> None:
        """It may also change what passes, by path and body."""
        self.attacks = True
        self.read: list[bytes] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.refused = self.passed = 0
        interceptor, pool = self, urllib3.PoolManager(retries=False, timeout=10)

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                interceptor.read.append(bytes(self.headers) + body)
                interceptor.requests.append((self.path, dict(self.headers.items()), body))
                forged = attack(self.path, dict(self.headers.items()), body) if interceptor.attacks else None
                if forged is not None:
                    interceptor.refused += 1
                    status, headers, said = forged
                else:
                    named = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                    passed = change_request(self.path, body)
                    named = {name: value for name, value in named.items() if name.lower() != "content-length"}
                    answer = pool.request(self.command, target + self.path, body=passed, headers=named)
                    interceptor.read.append(answer.data)
                    interceptor.passed += answer.status == 200
                    said = change_answer(self.path, answer.data)
                    status, headers = answer.status, dict(answer.headers)
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def open(self) -> Iterator["Interceptor"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def has_read(self, secret: str) -> bool:
        return any(secret.encode() in one for one in self.read)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path) as site:
        site.coordinator()
        yield site


def test_no_token_is_shown_to_who_answers_without_a_signature(site: Site) -> None:
    """By default: refused again and again, and told what to do where it is an xxl-job admin."""
    with Interceptor(site.url).open() as between:
        own = {"ORTH_EXECUTOR__COORDINATORS": between.url, "ORTH_EXECUTOR__HEARTBEAT": "200ms"}
        executor = site.executor(site.folder / "jobs.py", port=free_port(), **own)
        eventually(lambda: between.refused >= 4, within=30, what="the executor tries again")
        assert not between.has_read(TOKEN)
        log = "does not sign; set executor.show_token = true if it is an xxl-job admin"
        eventually(lambda: log in executor.text(), what="it is told what to do")
        between.attacks = False
        eventually(lambda: between.passed, within=30, what="it registers where nothing is changed")
        assert not between.has_read(TOKEN)


def test_a_coordinator_that_once_signed_is_never_shown_the_token(site: Site) -> None:
    """Also with executor.show_token, and by the next process in the same folder."""
    with Interceptor(site.url).open() as between:
        between.attacks = False
        own = {
            "ORTH_EXECUTOR__COORDINATORS": between.url,
            "ORTH_EXECUTOR__HEARTBEAT": "200ms",
            "ORTH_EXECUTOR__SHOW_TOKEN": "true",
        }
        executor = site.executor(site.folder / "jobs.py", port=free_port(), **own)
        eventually(lambda: between.passed, within=30, what="it registers")
        for _process in range(2):
            between.attacks, between.refused = True, 0
            eventually(lambda: between.refused >= 4, within=30, what="the executor tries again")
            assert not between.has_read(TOKEN)
            between.attacks = False
            executor.popen.kill()
            executor.popen.wait(10)
            between.attacks = True
            executor = site.executor(site.folder / "jobs.py", port=free_port(), **own)
        (remembered,) = site.folder.rglob(SIGNING_COORDINATORS_FILE)
        assert (remembered.read_text(), remembered.stat().st_mode & 0o777) == (f"{between.url}\n", 0o600)


def test_one_that_never_signed_is_shown_the_token_where_that_is_set(site: Site) -> None:
    """That is how an xxl-job admin lets an executor in."""
    with Interceptor(site.url).open() as admin:
        own = {"ORTH_EXECUTOR__COORDINATORS": admin.url, "ORTH_EXECUTOR__SHOW_TOKEN": "true"}
        site.executor(site.folder / "jobs.py", port=free_port(), **own)
        eventually(lambda: admin.has_read(TOKEN), within=30, what="the token is shown")
        assert not any(RECEIVER_HEADER.encode() in one for one in admin.read)
