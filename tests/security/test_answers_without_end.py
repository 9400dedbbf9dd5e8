"""A44: a peer that answers without end is cut off, in bounded memory and time, whoever asked it."""

import ast
import asyncio
import inspect
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import orth
from orth.errors import Unavailable
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import LogRequest
from tests.security.endless_servers import ANSWERS, REPLIES, EndlessServer
from tests.security.outbound_calls import CALLS, MAIL, NOT_CALLS, Outgoing, source_modules

MEBIBYTE = 1024 * 1024
TAKEN_LIMIT = 64 * MEBIBYTE
"""Bytes that a server gets rid of: what the systems hold for a connection on both sides, and what a caller reads."""
PROCESSOR_LIMIT = 1.5
"""Seconds of processor time of the thread that calls, on a slow machine. Without a bound it is as long as a call may
take, or as the server likes."""
ENDS_WITHIN = 30.0
NAMES_OF_CONNECTIONS = {
    *("ClientSession", "TCPConnector", "UnixConnector", "guarded_connector", "GuardedCalls", "BoundedAnswers"),
    *("PoolManager", "ProxyManager", "HTTPConnectionPool", "HTTPSConnectionPool", "bounded_pool", "BoundedHttp"),
    *("HTTPConnection", "HTTPSConnection", "create_connection", "open_connection", "open_unix_connection"),
    *("sock_connect", "live_line"),
}
"""A module that names one of these opens connections; so does a module that calls ``connect`` of no database."""
LIBRARIES_THAT_CONNECT = {"requests", "httpx", "apprise", "ftplib", "smtplib", "telnetlib", "imaplib", "poplib"}
DATABASES = {"engine", "AsyncConnection", "dialect"}


async def talk_without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"%x\r\n" % MEBIBYTE + b"x" * MEBIBYTE + b"\r\n"
    try:
        while True:
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("asked", ["log", "beat"])
async def test_a_page_of_gigabytes_is_cut_off(asked: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    server = await asyncio.start_server(talk_without_end, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    began = time.monotonic()
    async with server, ExecutorCalls(timeout=20) as calls:
        answer = (
            calls.log(address, LogRequest(log_id=1), token="t") if asked == "log" else calls.beat(address, token="t")
        )
        with pytest.raises(Unavailable, match="larger than"):
            await answer
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 192 * 1024


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_whatever_it_is_answered(call: str, answer: str) -> None:
    outgoing = CALLS[call]
    if answer == "a body" and outgoing.any_size:
        return  # what a command asks for may be of any size: the person who waits for it can interrupt it
    with EndlessServer(ANSWERS[answer]).listening() as server:
        _check_end(outgoing, server.url, server)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_mail_ends_whatever_it_is_answered(reply: str) -> None:
    with EndlessServer(REPLIES[reply], speaks_first=True).listening() as server:
        _check_end(MAIL, server.port, server)


def _check_end(outgoing: Outgoing, target: object, server: EndlessServer) -> None:
    """It ends, has taken little, and has cost the thread that called, which may be an event loop's, little time."""

    async def called() -> None:
        async with asyncio.timeout(ENDS_WITHIN):
            await outgoing.make(target)  # type: ignore[arg-type]  # a url, or the port of a mail server

    began, used = time.monotonic(), time.thread_time()
    try:
        if outgoing.waits:
            outgoing.make(target)  # type: ignore[arg-type]
        else:
            asyncio.run(called())
    except TimeoutError:
        raise
    except Exception:  # each call has errors of its own; that there is an end is what counts
        pass
    used = time.thread_time() - used
    assert server.asked, "it has called"
    assert time.monotonic() - began < ENDS_WITHIN
    assert used < PROCESSOR_LIMIT, f"{used:.2f} s of processor time"
    assert outgoing.reads_on or server.sent < TAKEN_LIMIT, f"{server.sent / MEBIBYTE:.0f} MiB were taken"


# --- whether the suite is complete ------------------------------------------------------------------------------------


def test_every_outbound_call_is_in_the_suite() -> None:
    modules = source_modules(Path(inspect.getfile(orth)).parent)
    known = {one.module for one in (*CALLS.values(), MAIL)} | set(NOT_CALLS)
    found = {name for name, path in modules.items() if any(_connections(ast.parse(path.read_text())))}
    assert found - known == set(), "opens connections: add its call to tests/security/outbound_calls.py"
    assert known - found == set(), "opens none any more"


def _connections(tree: ast.AST) -> Iterator[str]:
    """The names in ``tree`` by which connections are opened."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            yield from {name.partition(".")[0] for name in modules} & LIBRARIES_THAT_CONNECT
            yield from {"urllib.request"} & set(modules)
            if not modules[0].startswith("starlette"):  # whose HTTPConnection is one that came in
                yield from {one.name for one in node.names} & NAMES_OF_CONNECTIONS
        elif isinstance(node, ast.Attribute):
            yield from {node.attr} & NAMES_OF_CONNECTIONS
            if node.attr == "connect" and not _is_database(node.value):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module":
            yield from {ast.literal_eval(one) for one in node.args if isinstance(one, ast.Constant)} & {
                *LIBRARIES_THAT_CONNECT
            }


def _is_database(owner: ast.expr) -> bool:
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.lstrip("_") in DATABASES
