"""A database that cannot be reached is described in our words, whichever driver met it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pymysql
import pytest
from sqlalchemy.exc import OperationalError

from orth.store.database_reasons import database_sentence, is_unreachable
from orth.store.engines import open_engine, read_url


@contextmanager
def hanging_up() -> Iterator[int]:
    """A port where every connection is closed at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            while True:
                try:
                    listener.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=run, daemon=True).start()
        yield listener.getsockname()[1]


def told(text: str) -> str:
    url = read_url(text)
    engine = open_engine(url, size=1, patience=3.0)
    try:
        with pytest.raises(OperationalError) as failed:
            engine.connect()
    finally:
        engine.dispose()
    assert is_unreachable(failed.value)
    return database_sentence(failed.value, url)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_what_the_network_does(kind: str, free_port: int) -> None:
    for host in ("127.0.0.1", "localhost"):
        assert told(f"{kind}://orth:secret@{host}:{free_port}/orth") == f"{host}:{free_port} refused the connection"
    assert (
        told(f"{kind}://orth@no-such-host.invalid/orth") == "no-such-host.invalid has a host name that does not resolve"
    )
    with hanging_up() as port:
        assert told(f"{kind}://orth@127.0.0.1:{port}/orth") == f"127.0.0.1:{port} closed the connection"


def test_a_socket_file_that_is_not_there() -> None:
    assert told("postgresql://orth@/orth?host=/nonexistent") == "/nonexistent refused the connection"


@pytest.mark.parametrize(
    ("error", "said", "unreachable"),
    [
        (
            psycopg.OperationalError(
                'connection failed: connection to server at "h", port 1 failed: FATAL:  no role "x"'
            ),
            'no role "x"',
            False,
        ),
        (psycopg.OperationalError("failed: FATAL:  the database system is starting up"), "", True),
        (psycopg.OperationalError("connection timeout expired"), "h:1 did not answer in time", True),
        (pymysql.err.OperationalError(1045, "Access denied for user 'x'"), "Access denied for user 'x'", False),
        (pymysql.err.OperationalError(1040, "Too many connections"), "Too many connections", True),
    ],
)
def test_what_the_server_says_stays(error: Exception, said: str, unreachable: bool) -> None:
    assert is_unreachable(error) is unreachable
    assert database_sentence(error, read_url("postgresql://h:1/db")) == said or not said
