"""How often somebody may ask: callers by their credential, strangers by their address, executors without a bound."""

import gc
import shutil
import socket
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from orth.coordinator.http import rates
from orth.coordinator.http.rates import Buckets, TooOften
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.testing import ManualClock
from tests.coordinator.http.live import Site


@pytest.fixture
def strict(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    security = SecuritySection(rate=2, rate_burst=5, stranger_rate=1, stranger_burst=3)
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), Settings(security=security)) as site:
        yield site


def test_a_caller_is_told_when_to_come_back(strict: Site) -> None:
    admin = strict.admin()
    assert [admin.get("/api/v1/groups").status for _ in range(7)] == [200] * 5 + [429] * 2
    refused = admin.get("/api/v1/groups")
    refused.problem(429)
    assert refused.headers["Retry-After"] == "1"
    strict.clock.move(1)
    assert [admin.get("/api/v1/groups").status for _ in range(3)] == [200, 200, 429]


def test_strangers_share_the_bucket_of_their_address_and_keep_nobody_else_out(strict: Site) -> None:
    stranger, guesser = strict.stranger(), strict.bearer("wrong")
    assert [stranger.get("/api/v1/groups").status for _ in range(4)] == [401, 401, 401, 429]
    guessed = guesser.get("/api/v1/groups")
    guessed.problem(429)
    assert guessed.headers["Retry-After"] == "1"
    assert strict.admin().get("/api/v1/groups").status == 200, "who is let in is not kept out"
    assert {strict.executor().post("/api/callback", []).status for _ in range(20)} == {200}, "executors are exempt"
    assert strict.bearer("x").post("/api/callback", []).status == 429
    assert {stranger.get("/health/live").status for _ in range(20)} == {200}
    strict.clock.move(2)
    assert [stranger.get("/api/v1/groups").status for _ in range(3)] == [401, 401, 429]


def test_a_made_up_credential_does_not_have_a_body_read_that_nobody_will_answer(strict: Site) -> None:
    while strict.stranger().get("/api/v1/groups").status != 429:
        pass
    for path in ("/api/v1/auth/login", "/api/v1/groups"):
        with socket.create_connection(("127.0.0.1", strict.port), timeout=10.0) as sock:
            lines = ("Host: localhost", "Authorization: Bearer guessed", "Content-Type: application/json")
            head = [f"POST {path} HTTP/1.1", *lines, "Content-Length: 1000"]
            sock.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
            assert sock.recv(65_536).startswith(b"HTTP/1.1 429 "), path  # before a byte of the body was sent


def test_files_of_the_console_keep_nobody_out_who_shares_an_address(strict: Site) -> None:
    """A page has dozens of them, and several people may be behind one address."""
    stranger = strict.stranger()
    assert 429 not in {stranger.get("/assets/none.js").status for _ in range(30)}
    assert stranger.get("/api/v1/groups").status == 401, "they have used up nothing"


def test_sockets_with_a_credential_are_not_those_of_strangers(strict: Site) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            line = connect(f"ws://127.0.0.1:{strict.port}/ws", additional_headers=strict.executor().headers, proxy=None)
            stack.enter_context(line)
    assert strict.stranger().get("/api/v1/groups").status == 401, "nothing was taken from them"


def test_a_socket_that_comes_too_often_is_told_when_to_come_back(strict: Site) -> None:
    while strict.stranger().get("/api/v1/groups").status != 429:
        pass
    for headers in ({}, {"Authorization": "Bearer guessed"}):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{strict.port}/ws", additional_headers=headers, proxy=None)
        answer = refused.value.response
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_buckets_fill_up_to_their_size_and_no_further() -> None:
    clock = ManualClock()
    buckets = Buckets(rate=10, burst=2, clock=clock)
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(TooOften):
        buckets.take("a")
    buckets.take("b")
    clock.move(0.1)
    buckets.take("a")
    clock.move(1000)
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(TooOften):
        buckets.take("a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_LIMIT", 100)
    buckets = Buckets(1, 1, ManualClock())
    for number in range(1000):
        buckets.take(str(number))
    assert len(buckets._levels) == 100
    assert "999" in buckets._levels


def test_what_was_done_is_paid_for_also_when_the_bucket_is_too_small() -> None:
    clock = ManualClock()
    buckets = Buckets(rate=2, burst=10, clock=clock)
    buckets.pay("a", 7)
    assert buckets.refusal("a", 3) is None
    buckets.pay("a", 7)
    assert buckets.refusal("a") is not None
    assert buckets.refusal("b") is None
    clock.move(2.5)
    assert buckets.refusal("a") is None
    buckets.pay("a", 1_000)
    clock.move(5.5)
    assert buckets.refusal("a") is None, "nobody waits longer than for two full buckets"


def test_a_refusal_keeps_nothing_of_its_request_in_memory() -> None:
    """Without the help of the collector, which looks seldom: a flood of refused bodies has to be freed at once."""

    class Body:
        pass

    def refused(ask: Callable[[], None]) -> weakref.ref[Body]:
        body = Body()
        with suppress(TooOften):
            ask()
        return weakref.ref(body)

    buckets = Buckets(rate=1, burst=1, clock=ManualClock())
    buckets.take("a")
    gc.disable()
    try:
        assert refused(lambda: buckets.take("a"))() is None
        assert refused(lambda: buckets.check("a"))() is None
    finally:
        gc.enable()
