import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from orth.executor.http_calls import SHOWN_BYTES
from orth.executor.settings import ExecutorSettings
from orth.settings import Settings
from orth.settings.sections import ExecutorSection, SecuritySection
from orth.wire.messages import CallbackItem
from orth.wire.network_reasons import place_of
from orth.wire.outbound import Outbound
from tests.executor.bench import Rig
from tests.executor.conftest import MakeRig


class Door(BaseHTTPRequestHandler):
    """Says back what it was asked; ``/status/N`` answers N, ``/large`` a lot, ``/silent`` nothing for a while."""

    released = threading.Event()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/silent":
            self.released.wait(20)
        status = int(self.path.removeprefix("/status/")) if self.path.startswith("/status/") else 200
        said = {"method": self.command, "body": body.decode(), "type": self.headers.get("content-type")}
        text = b"x" * (SHOWN_BYTES * 3) if self.path == "/large" else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815  # the names http.server looks for

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Door.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def ran(rig: MakeRig) -> Rig:
    return rig(builtin=("http",), http_outbound=Outbound())


def call(ran: Rig, **param: Any) -> CallbackItem:
    return ran.result(1, "orth.http", executor_params=json.dumps(param))


def test_a_request_and_its_answer(ran: Rig, url: str) -> None:
    item = call(ran, url=url, method="POST", body={"a": 1})
    assert (item.handle_code, item.handle_msg) == (200, "200")
    assert f"POST {url} answered 200\n" in ran.text(1)
    assert json.loads(ran.text(1).splitlines()[2].partition(" ")[2]) == {
        "method": "POST",
        "body": '{"a": 1}',
        "type": "application/json",
    }


def test_text_and_headers_are_sent_as_they_are(ran: Rig, url: str) -> None:
    assert call(ran, url=url, method="PUT", body="é", headers={"content-type": "text/x"}).handle_code == 200
    assert '"type": "text/x"' in ran.text(1)


@pytest.mark.parametrize(
    ("status", "expect", "code"),
    [
        (204, None, 200),
        (404, None, 500),
        (404, [404], 200),
        (200, [201, 202], 500),
        (302, None, 500),
        (302, [302], 200),
    ],
)
def test_the_expected_status_decides(ran: Rig, url: str, status: int, expect: list[int] | None, code: int) -> None:
    item = call(ran, url=f"{url}/status/{status}", method="HEAD", **({"expect": expect} if expect else {}))
    assert item.handle_code == code
    assert "elsewhere" not in ran.text(1), "a redirect is not followed"


def test_a_large_answer_is_cut(ran: Rig, url: str) -> None:
    assert call(ran, url=f"{url}/large").handle_code == 200
    assert f"only the first {SHOWN_BYTES} bytes are shown" in ran.text(1)
    assert ran.text(1).count("x" * 1000) <= SHOWN_BYTES // 1000


def test_silence_is_a_failure_after_the_timeout(ran: Rig, url: str) -> None:
    item = call(ran, url=f"{url}/silent", timeout=0.2)
    assert (item.handle_code, "did not answer in time" in item.handle_msg) == (500, True)


@contextmanager
def dripping(answer: bytes, every: float = 0.2) -> Iterator[str]:
    """A server that sends ``answer`` to its first caller, byte by byte, until that hangs up."""

    def drip() -> None:
        with suppress(OSError), server.accept()[0] as line:
            line.recv(65_536)
            for byte in answer:
                if left.wait(every):
                    return
                line.send(bytes([byte]))

    left = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        left.set()
        thread.join()


@pytest.mark.parametrize(
    ("answer", "timeout"),
    [(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 99, 1.0), (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 99, 5.0)],
    ids=["headers", "body"],
)
def test_the_timeout_is_for_the_whole_request(ran: Rig, answer: bytes, timeout: float) -> None:
    with dripping(answer) as url:
        begun = time.monotonic()
        item = call(ran, url=url, timeout=timeout)
        took = time.monotonic() - begun
    assert (item.handle_code, "did not answer in time" in item.handle_msg) == (500, True)
    assert took < timeout + 2


def test_an_answer_that_breaks_off_is_a_failure(ran: Rig) -> None:
    with dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", every=0.001) as url:
        item = call(ran, url=url)
    assert (item.handle_code, item.handle_msg) == (
        500,
        f"GET {url} failed: {place_of(url)} closed the connection.",
    )


@pytest.mark.parametrize(
    "param",
    [
        {"url": "http://127.0.0.1:1"},
        {"url": "https://127.0.0.1:1"},
        {"url": "file:///etc/passwd"},
        {"url": "http://a b"},
        {"url": "http://["},
        {"url": "http://127.0.0.1:1", "method": "BREW"},
        {"url": "http://127.0.0.1:1", "headers": {"a": "b\r\nc: d"}},
        {},
    ],
)
def test_what_cannot_be_requested_is_a_failure_without_a_traceback(ran: Rig, param: dict[str, Any]) -> None:
    item = call(ran, **param)
    assert item.handle_code == 500
    assert "Traceback" not in item.handle_msg


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[fe80::1]", "100.100.100.200", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0.0.0.0"],
)
def test_where_credentials_are_handed_out_is_never_called(ran: Rig, host: str) -> None:
    item = call(ran, url=f"http://{host}/latest/meta-data/", timeout=5)
    assert item.handle_code == 500
    assert "may not be connected to" in item.handle_msg


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1", "[::ffff:127.0.0.1]"])
def test_this_machine_is_called_only_if_the_settings_say_so(rig: MakeRig, url: str, host: str) -> None:
    there = url.replace("127.0.0.1", host)
    item = call(rig(builtin=("http",)), url=there)
    assert (item.handle_code, "set executor.http_loopback = true" in item.handle_msg) == (500, True)


def test_what_the_settings_say_about_addresses() -> None:
    token = "x" * 20
    plain = ExecutorSettings.of(Settings(security=SecuritySection(access_token=token)), "tests").http_outbound
    assert (plain.refusal("127.0.0.1") is None, plain.refusal("10.0.0.7")) == (False, None)
    said = Settings(
        executor=ExecutorSection(http_loopback=True),
        security=SecuritySection(access_token=token, outbound_deny=("10.0.0.0/8",)),
    )
    told = ExecutorSettings.of(said, "tests").http_outbound
    assert (told.refusal("127.0.0.1"), told.refusal("10.0.0.7") is None) == (None, False)


def test_it_is_off_unless_allowed(rig: MakeRig, url: str) -> None:
    reply = rig().run(1, "orth.http", executor_params=json.dumps({"url": url}))
    assert reply.msg == (
        "Refused: orth.http is not allowed on this executor; its setting executor.builtin would have to name http."
    )
