"""Lines to executors on real sockets: what they tell, and that their end is noticed."""

import asyncio
import json
import resource
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from orth.clock import SystemClock
from orth.testing import ManualClock
from orth.wire.credentials import Credential, Credentials, Refusal
from orth.wire.executor_link import AnswerUnknown, NotAnExecutor, NotSent
from orth.wire.signatures import Key
from orth.wire.watch_lines import Health, LineSecurity, WatchLines, affordable
from tests.wire.peers import Exchange, Peer, not_accepting, refusing

WELL = Health("ok", None, None, 0)


class Watch:
    """Lines, and whose end they told."""

    def __init__(self, timeout: float = 5.0, credentials: Credentials | None = None) -> None:
        self.ended: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.lines = WatchLines(
            token="the-token",
            clock=SystemClock(),
            timeout=timeout,
            silence=8.0,
            ended=self._note,
            security=LineSecurity(credentials=credentials),
        )

    def _note(self, address: str, silent: bool) -> None:
        self.ended.put_nowait((address, silent))

    async def next_end(self) -> tuple[str, bool]:
        async with asyncio.timeout(5):
            return await self.ended.get()


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    one = Watch()
    yield one
    one.lines.close()


def healthy(exchange: Exchange) -> None:
    said = {"status": "ok", "incarnation": "one", "now": SystemClock().now() + 5_000}
    said["tick"] = int((SystemClock().monotonic() + 7.0) * 1000)
    exchange.respond(json.dumps(said).encode())


async def test_an_executor_tells_how_it_is_over_one_connection(watch: Watch) -> None:
    with Peer(healthy) as peer:
        for _ in range(3):
            health = await watch.lines.ask(peer.address)
            assert health.well
            assert health.incarnation == "one"
            assert health.clock_offset is not None
            assert abs(health.clock_offset - 5_000) <= health.clock_error + 1
            assert health.tick_ahead is not None
            assert abs(health.tick_ahead - 7.0) <= health.tick_error
        assert len(peer.connections) == 1
        assert {request.path for request in peer.requests} == {"/health"}
        assert peer.requests[0].headers["orth-access-token"] == "the-token"
        assert peer.address in watch.lines
        assert len(watch.lines) == 1


class Revocable:
    """A token that is good until it is taken away."""

    good = True

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        if not self.good:
            raise NotSent(f"{address}: its token is good no more.")
        return Credential("its-own")

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> None:
        return None

    async def successor(self, address: str, app_name: str, receiver: str) -> Refusal:
        return Refusal(None, False)


async def test_where_nothing_may_be_shown_nothing_is_asked_and_the_line_ends() -> None:
    token = Revocable()
    watch = Watch(credentials=token)
    with Peer(healthy) as peer:
        await watch.lines.ask(peer.address)
        token.good = False
        for _ in range(2):
            with pytest.raises(NotSent, match="good no more"):
                await watch.lines.ask(peer.address)
            assert peer.address not in watch.lines
        assert (len(peer.connections), len(peer.requests)) == (1, 1)


async def test_the_end_of_a_process_is_told_at_once(watch: Watch) -> None:
    with Peer(healthy) as peer:
        await watch.lines.ask(peer.address)
    assert await watch.next_end() == (peer.address, False)
    assert peer.address not in watch.lines
    with pytest.raises(NotSent, match="refused the connection"):
        await watch.lines.ask(peer.address)


async def test_a_reset_is_told_too(watch: Watch) -> None:
    with Peer(healthy) as peer:
        await watch.lines.ask(peer.address)
        sock = peer.connections[0]
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        sock.shutdown(socket.SHUT_RDWR)
        assert (await watch.next_end())[0] == peer.address


async def test_a_line_that_was_dropped_ends_without_a_word(watch: Watch) -> None:
    with Peer(healthy) as peer:
        await watch.lines.ask(peer.address)
        watch.lines.drop(peer.address)
        watch.lines.drop("http://10.0.0.1:9999")
        assert len(watch.lines) == 0
        await watch.lines.ask(peer.address)  # another connection, whose life is its own
        assert len(peer.connections) == 2
        assert watch.ended.empty()


async def test_nobody_there_is_surely_nobody(watch: Watch) -> None:
    with refusing() as address:
        with pytest.raises(NotSent) as refusal:
            await watch.lines.ask(address)
        assert isinstance(refusal.value.__cause__, ConnectionRefusedError)


async def test_a_machine_that_does_not_answer_is_silent() -> None:
    watch = Watch(timeout=0.2)
    with not_accepting() as address:
        with pytest.raises(NotSent, match=r"within 0.2 s") as silence:
            await watch.lines.ask(address)
        assert isinstance(silence.value.__cause__, TimeoutError)


async def test_a_process_that_does_not_move_is_unknown_and_its_line_is_given_up() -> None:
    watch = Watch(timeout=0.2)
    with Peer(Exchange.hang) as peer:
        with pytest.raises(AnswerUnknown, match=r"within 0.2 s"):
            await watch.lines.ask(peer.address)
        assert peer.address not in watch.lines
        assert watch.ended.empty()


@pytest.mark.parametrize(
    ("behaviour", "health"),
    [
        (lambda e: e.respond(b'{"status": "stopping"}', 503), Health("stopping", None, None, 0)),
        (lambda e: e.respond(b'{"status": "ok", "now": "later", "incarnation": 7}'), WELL),
        (lambda e: e.respond(rb'{"status": "a\u0000b"}', 503), Health("unreadable", None, None, 0)),
        (lambda e: e.respond(b'{"status": "' + b"x" * 65 + b'"}'), Health("unreadable", None, None, 0)),
        (lambda e: e.respond(b'{"status": "ok", "tick": -1000000000000000, "now": -5}'), WELL),
        (lambda e: e.respond(b'{"status": "ok", "tick": 1%s, "now": 1%s}' % (2 * (b"0" * 18,))), WELL),
        (lambda e: e.respond(b'{"status": "ok", "tick": true, "now": 1.5}'), WELL),
    ],
    ids=[
        "stopping",
        "other types",
        "a NUL",
        "long",
        "before time",
        "after time",
        "no numbers",
    ],
)
async def test_what_else_may_be_answered(behaviour: object, health: Health) -> None:
    lines = WatchLines(token="t", clock=ManualClock(), timeout=5, silence=8, ended=lambda *_: None)
    with Peer(behaviour) as peer:  # type: ignore[arg-type]  # a lambda of the right form
        assert await lines.ask(peer.address) == health
        lines.close()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>Welcome</html>", 200),
        (b"<html>Not Found</html>", 404),
        (b"<html>no backend</html>", 503),
        (b'{"detail": "Not Found"}', 404),
        (b'{"status": 404, "error": "Not Found"}', 404),
        (b'{"status": "ok"}', 404),
        (b'{"status": "ok"}', 503),
        (b"{}", 200),
        (b'["ok"]', 200),
        (b"[" * 60_000, 200),
        (rb'{"status": "\ud800"}', 503),
        (b"", 204),
    ],
    ids=[
        "a page",
        "no page",
        "a gateway",
        "json",
        "json with a status",
        "not found",
        "not available",
        "nothing said",
        "a list",
        "deep",
        "half a pair",
        "empty",
    ],
)
async def test_what_no_executor_would_answer(watch: Watch, body: bytes, status: int) -> None:
    something_else, told = Peer(lambda e: e.respond(body, status)), f"no executor answers there: HTTP {status}"
    with something_else as other, pytest.raises(NotAnExecutor, match=told):
        await watch.lines.ask(other.address)


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda e: e.sock.sendall(b"what do you want?\r\n\r\n"),
        lambda e: e.respond(b"x" * 100_000),
        Exchange.close,
        Exchange.reset,
    ],
    ids=["not http", "too large", "closed", "reset"],
)
async def test_what_is_no_answer(watch: Watch, behaviour: object) -> None:
    with Peer(behaviour) as peer:  # type: ignore[arg-type]  # as above
        with pytest.raises(AnswerUnknown):
            await watch.lines.ask(peer.address)
        assert peer.address not in watch.lines


async def test_one_that_wants_to_speak_another_protocol_is_let_go(watch: Watch) -> None:
    unexpected: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unexpected.append(context))
    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\0"
    with Peer(lambda e: e.sock.sendall(switching)) as peer:
        with pytest.raises(NotAnExecutor, match="HTTP 101"):
            await watch.lines.ask(peer.address)
        assert await watch.next_end() == (peer.address, False)
    assert unexpected == []


async def test_a_server_that_closes_after_its_answer_ends_the_line_after_it(watch: Watch) -> None:
    with Peer(lambda e: e.respond(b'{"status": "ok"}', Connection="close")) as peer:
        assert (await watch.lines.ask(peer.address)).well
        assert await watch.next_end() == (peer.address, False)


async def test_the_system_is_told_to_notice_a_machine_that_is_gone(watch: Watch) -> None:
    with Peer(healthy) as peer:
        await watch.lines.ask(peer.address)
        (line,) = watch.lines._lines.values()
        sock = line._transport.get_extra_info("socket")  # type: ignore[union-attr]  # it is open
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        idle, pause, count = (sock.getsockopt(socket.IPPROTO_TCP, option) for option in options)
        assert idle + pause * count <= 8


def test_lines_leave_half_of_the_files_to_others() -> None:
    assert affordable(0) == 0
    assert affordable(10) == 10
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert files == resource.RLIM_INFINITY or affordable(10 * files) < files / 2


async def test_one_who_talks_unasked_is_let_go(watch: Watch) -> None:
    talking = threading.Event()

    def talks_on(exchange: Exchange) -> None:
        healthy(exchange)
        with suppress(OSError):  # once it is let go
            while not exchange.stopping.wait(0.01):
                talking.set()
                exchange.sock.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n" * 100)

    with Peer(talks_on) as peer:
        await watch.lines.ask(peer.address)
        assert await watch.next_end() == (peer.address, False)
        assert talking.is_set()
