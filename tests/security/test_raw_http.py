"""HTTP as no client would speak it, against a real coordinator and a real executor (A19-A26).

After each attack the process still serves others; the fixture looks.
"""

import gzip
import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.security.conftest import Door
from tests.security.raw import ask, exchange, head, memory_of

MEBIBYTE = 1024 * 1024
GROWTH = 96 * 1024
"""KiB by which a process may grow while it refuses something huge."""


def chunks(size: int) -> Iterator[bytes]:
    piece = b"%x\r\n" % size + b"x" * size + b"\r\n"
    return itertools.repeat(piece)


class TestBodies:
    """A19."""

    def test_a_gigabyte_that_is_announced_is_refused_unread(self, door: Door) -> None:
        before = memory_of(door.process.popen.pid)
        request = door.post("Content-Type: application/json", f"Content-Length: {1024 * MEBIBYTE}")
        answer = exchange(door.port, itertools.chain([request], itertools.repeat(b"x" * 65536)), within=20)
        assert answer.status == 413
        assert answer.closed
        assert memory_of(door.process.popen.pid) - before < GROWTH

    def test_a_body_in_chunks_without_end_is_refused_in_flat_memory(self, door: Door) -> None:
        before = memory_of(door.process.popen.pid)
        request = door.post("Content-Type: application/json", "Transfer-Encoding: chunked")
        answer = exchange(door.port, itertools.chain([request], chunks(65536)), within=30, until=b"\r\n\r\n")
        assert answer.status == 413
        assert memory_of(door.process.popen.pid) - before < GROWTH

    def test_a_body_shorter_than_announced_is_never_acted_upon(self, door: Door) -> None:
        request = door.post("Content-Type: application/json", f"Content-Length: {len(door.good) + 10}")
        answer = exchange(door.port, [request, door.good], within=2)
        assert answer.status != 200

    def test_what_is_sent_beyond_the_announced_length_is_no_second_message(self, door: Door) -> None:
        request = door.post("Content-Type: application/json", f"Content-Length: {len(door.good)}")
        answer = exchange(door.port, [request, door.good, b"{}" * 100], within=3)
        assert answer.statuses[0] == 200
        assert all(status == 400 for status in answer.statuses[1:])

    def test_a_bomb_of_gzip_is_not_unpacked(self, door: Door) -> None:
        """A20: nothing here reads compressed bodies, so there is nothing to blow up."""
        before = memory_of(door.process.popen.pid)
        packed = gzip.compress(b"[" + b"0," * (32 * MEBIBYTE) + b"0]")
        request = door.post(
            "Content-Type: application/json", "Content-Encoding: gzip", f"Content-Length: {len(packed)}"
        )
        answer = exchange(door.port, [request, packed], within=10)
        assert answer.status in (400, 413, 415, 200)
        if answer.status == 200:
            assert json.loads(answer.data.partition(b"\r\n\r\n")[2])["code"] != 200
        assert memory_of(door.process.popen.pid) - before < GROWTH

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 100_000,
            b'{"a":' * 50_000,
            b'{"jobId":1,"jobId":2,"registryKey":"a","registryKey":"b"}',
            b'{"jobId":NaN}',
            b'{"jobId":1e400}',
            b'{"jobId":' + b"9" * 5000 + b"}",
            b"{" + b",".join(b'"k%d":0' % number for number in range(20_000)) + b"}",
            b'\xef\xbb\xbf{"jobId":1',
            b'{"registryKey":"\xff\xfe","jobId":1}',
            b'{"registryKey":"\\ud800","registryValue":"http://127.0.0.1:1","jobId":"\\ud800"}',
        ],
        ids=lambda body: repr(body[:16]),
    )
    def test_json_with_two_meanings_or_none_is_refused_quickly(self, door: Door, body: bytes) -> None:
        """A21, A25."""
        request = door.post("Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close")
        answer = exchange(door.port, [request, body])
        assert answer.seconds < 5
        told = json.loads(answer.data.partition(b"\r\n\r\n")[2])
        assert answer.status in (200, 400, 413, 422)
        assert told["code"] != 200
        assert b"Traceback" not in answer.data


class TestHeads:
    """A22-A24."""

    @pytest.mark.parametrize(
        "lines",
        [
            ["X-Long: " + "y" * MEBIBYTE],
            [f"X-{number}: y" for number in range(10_000)],
            ["X-Bare: a\nInjected: b"],
            ["X-Return: a\rInjected: b"],
            ["X-Nul: a\0b"],
            [" folded: line"],
            ["No-Colon"],
        ],
        ids=["1 MB", "10,000", "LF", "CR", "NUL", "folded", "no colon"],
    )
    def test_heads_that_are_too_much_or_none_are_refused(self, door: Door, lines: list[str]) -> None:
        answer = ask(door.port, door.post("Content-Length: 2", *lines) + b"{}")
        assert answer.status in (400, 431)
        assert answer.closed

    @pytest.mark.parametrize(
        "lines",
        [
            ["Content-Length: 5", "Transfer-Encoding: chunked"],
            ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
            ["Transfer-Encoding: xchunked"],
            ["Transfer-Encoding:\x0bchunked"],
            ["Content-Length: 5", "Content-Length: 40"],
            ["Content-Length: +5"],
            ["Content-Length: 0x5"],
            ["Content-Length: -1"],
        ],
        ids=lambda lines: " + ".join(lines),
    )
    def test_two_readers_never_see_two_ends(self, door: Door, lines: list[str]) -> None:
        """A23: what follows is never taken for a request of its own."""
        hidden = head("GET", "/health")
        answer = exchange(door.port, [door.post(*lines), b"0\r\n\r\n", hidden], within=5)
        assert answer.closed
        assert answer.status == 400
        assert len(answer.statuses) == 1

    def test_lines_that_end_in_lf_alone_hide_no_request(self, door: Door) -> None:
        """A proxy may take them for part of a value, and what follows for a body."""
        raw = door.post("Content-Length: 2").replace(b"\r\n", b"\n") + b"{}"
        answer = exchange(door.port, [raw, head("GET", "/health", "Connection: close")], within=5)
        assert (answer.statuses, answer.closed) == ([400], True)
        hidden = door.post("X: y\nContent-Length: 2", "Content-Length: 40") + b"{}" + head("GET", "/health")
        assert exchange(door.port, [hidden], within=5).statuses == [400]

    def test_a_head_that_comes_letter_by_letter_is_given_up(self, door: Door) -> None:
        """A24: nobody holds a place for longer than a head may take."""
        slow = itertools.chain([b"POST / HTTP/1.1\r\nHost: a\r\n"], (b"X: y\r\n" for _ in range(1_000)))
        answer = exchange(door.port, slow, within=60, pause=0.25)
        assert answer.closed
        assert answer.seconds < 45

    def test_idle_strangers_keep_nobody_out(self, door: Door) -> None:
        with ExitStack() as stack:
            for _ in range(1_200):
                try:
                    line = socket.create_connection(("127.0.0.1", door.port), timeout=5)
                except OSError:
                    break
                stack.enter_context(line)
            assert door.serves()


class TestMethods:
    """A26."""

    @pytest.mark.parametrize("method", ["TRACE", "CONNECT", "HEAD", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
    def test_no_other_method_is_the_action(self, door: Door, method: str) -> None:
        request = head(
            method, door.path, "ORTH-ACCESS-TOKEN: token-of-this-test", f"Content-Length: {len(door.good)}",
            "Content-Type: application/json", "Connection: close", "X-HTTP-Method-Override: POST",
        )  # fmt: skip
        answer = exchange(door.port, [request, door.good])
        assert answer.status in (400, 403, 404, 405, 415, 421, 501)

    def test_a_target_that_names_another_host_is_not_fetched(self, door: Door) -> None:
        with socket.create_server(("127.0.0.1", 0)) as elsewhere:
            elsewhere.settimeout(0.5)
            port = elsewhere.getsockname()[1]
            ask(door.port, head("GET", f"http://127.0.0.1:{port}/health", "Connection: close"))
            ask(door.port, head("CONNECT", f"127.0.0.1:{port}", "Connection: close"), within=2)
            with pytest.raises(TimeoutError):
                elsewhere.accept()
