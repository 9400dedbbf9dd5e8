"""What an answer may have besides its body, on real sockets; the endless ones are in ``tests/security``."""

import socket

import pytest

from orth.errors import Unavailable
from orth.wire.bounded_answers import HINTS_LIMIT
from orth.wire.bounded_http import bounded_pool
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import Extension, LogRequest, RunRequest
from tests.wire.peers import Behaviour, Exchange, Peer, answering

HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
TRIGGER = RunRequest(job_id=1, log_id=2, executor_handler="h")
OURS = frozenset(Extension)


def hinting(times: int) -> Behaviour:
    answer = answering(msg="taken")

    def behaviour(exchange: Exchange) -> None:
        exchange.sock.sendall(HINT * times)
        answer(exchange)

    return behaviour


def in_chunks(size: int) -> Behaviour:
    """A page of log of half a megabyte."""
    text = '{"code":200,"data":{"fromLineNum":1,"toLineNum":1,"isEnd":true,"logContent":"' + "x" * 500_000 + '"}}'

    def behaviour(exchange: Exchange) -> None:
        pieces = (text[at : at + size].encode() for at in range(0, len(text), size))
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        exchange.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)

    return behaviour


async def test_hints_are_counted_for_each_request_of_a_kept_connection() -> None:
    with Peer(hinting(HINTS_LIMIT)) as executor:
        async with ExecutorCalls(timeout=5) as calls:
            for _ in range(5):
                assert (await calls.run(executor.address, TRIGGER, token="", extensions=OURS)).msg == "taken"
    assert len(executor.connections) == 1


async def test_one_hint_too_many_is_refused() -> None:
    with Peer(hinting(HINTS_LIMIT + 1)) as executor:
        async with ExecutorCalls(timeout=5) as calls:
            with pytest.raises(Unavailable, match="informational answers"):
                await calls.run(executor.address, TRIGGER, token="", extensions=OURS)


@pytest.mark.parametrize("size", [16, 1_000, 100_000])
async def test_a_body_may_come_in_chunks(size: int) -> None:
    with Peer(in_chunks(size)) as executor:
        async with ExecutorCalls(timeout=10) as calls:
            page = await calls.log(executor.address, LogRequest(log_id=1), token="")
    assert len(page.content) == 500_000


async def test_an_answer_that_goes_on_after_its_end_is_not_read_as_the_next_one() -> None:
    def twice(exchange: Exchange) -> None:
        # In one segment: what comes after the next request was sent cannot be told from the answer to that.
        exchange.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        answering(msg=f"answer {len(executor.requests)}")(exchange)
        answering(msg="another one")(exchange)
        exchange.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    with Peer(twice) as executor:
        async with ExecutorCalls(timeout=5) as calls:
            said = [(await calls.run(executor.address, TRIGGER, token="", extensions=OURS)).msg for _ in range(3)]
    assert said == ["answer 1", "answer 2", "answer 3"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("size", [16, 1_000, 100_000])
def test_a_blocking_client_reads_the_same(size: int, stream: bool) -> None:
    with Peer(in_chunks(size)) as executor:
        answer = bounded_pool(stream=stream, retries=False, timeout=10).request("GET", executor.address)
    assert len(answer.data) > 500_000


def test_a_blocking_client_counts_for_each_request_too() -> None:
    with Peer(hinting(0)) as peer:
        pool = bounded_pool(retries=False, timeout=10)
        many = {"X-Padding": "x"}
        assert all(pool.request("GET", peer.address, headers=many).status == 200 for _ in range(50))
    assert len(peer.connections) == 1
