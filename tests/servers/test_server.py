"""The servers themselves: they serve, keep their data, crash on demand and leave nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest
import redis

from tests.conftest import StartServer
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.processes import alive, descendants, wait_until
from tests.servers.redis import RedisServer
from tests.servers.server import Server, ServerStartError

REPOSITORY = Path(__file__).parents[2]
KINDS: list[type[Server]] = [PostgresServer, MariaDBServer, RedisServer]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def connect_mariadb(url: str) -> "pymysql.Connection[Any]":
    parts = urlsplit(url)
    assert parts.hostname
    return pymysql.connect(host=parts.hostname, port=parts.port or 0, user=parts.username, database=parts.path[1:])


def write(url: str, word: str) -> None:
    """Store one word in an empty database, as any client of that server would."""
    if url.startswith("redis:"):
        with redis.Redis.from_url(url) as client:
            client.set("word", word)
    elif url.startswith("postgresql:"):
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE words (word text)")
            connection.execute("INSERT INTO words VALUES (%s)", [word])
    else:
        with connect_mariadb(url) as maria, maria.cursor() as cursor:
            cursor.execute("CREATE TABLE words (word text)")
            cursor.execute("INSERT INTO words VALUES (%s)", [word])
            maria.commit()


def read(url: str) -> str | None:
    """The word stored in a database; None when it is empty."""
    if url.startswith("redis:"):
        with redis.Redis.from_url(url, decode_responses=True) as client:
            word: str | None = client.get("word")
            return word
    try:
        if url.startswith("postgresql:"):
            with psycopg.connect(url) as connection:
                row = connection.execute("SELECT word FROM words").fetchone()
        else:
            with connect_mariadb(url) as maria, maria.cursor() as cursor:
                cursor.execute("SELECT word FROM words")
                row = cursor.fetchone()
    except (psycopg.errors.UndefinedTable, pymysql.err.ProgrammingError):
        return None
    return row[0] if row else None


def everything_of(server: Server) -> list[int]:
    """Its processes and its guard."""
    assert server._guard is not None
    return [server._guard.pid, server.pid, *descendants(server.pid)]


@every_kind
def test_databases_begin_empty_and_are_separate(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind)
    one, other = server.create_database(), server.create_database()
    write(one, "größer")
    assert read(one) == "größer"
    assert read(other) is None


@every_kind
def test_restart_keeps_data_and_address(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind)
    url = server.create_database()
    write(url, "kept")
    before = server.pid
    server.restart()
    assert server.pid != before
    assert read(url) == "kept"


@every_kind
def test_a_durable_server_keeps_what_it_acknowledged_before_it_was_killed(
    kind: type[Server], start_server: StartServer
) -> None:
    server = start_server(kind, durable=True)
    url = server.create_database()
    write(url, "kept")
    pids = [server.pid, *descendants(server.pid)]
    server.kill()
    assert not any(map(alive, pids))
    with pytest.raises((psycopg.OperationalError, pymysql.err.OperationalError, redis.ConnectionError)):
        read(url)
    server.start()
    assert read(url) == "kept"


@every_kind
def test_a_dropped_database_is_gone_even_with_a_client_inside(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind)
    url = server.create_database()
    write(url, "gone")
    if isinstance(server, RedisServer):
        server.drop_database(url)
        assert read(url) is None
        return
    client = psycopg.connect(url) if isinstance(server, PostgresServer) else connect_mariadb(url)
    client.cursor().execute("SELECT word FROM words")  # leaves its transaction open
    server.drop_database(url)
    with pytest.raises((psycopg.OperationalError, pymysql.err.OperationalError)):
        read(url)
    client.close()


@every_kind
@pytest.mark.parametrize("end", [Server.stop, Server.kill, Server.halt], ids=["running", "killed", "halted"])
def test_stop_leaves_no_process_and_no_directory(
    kind: type[Server], end: Callable[[Server], None], start_server: StartServer
) -> None:
    server = start_server(kind)
    directory, pids = server.directory, everything_of(server)
    assert directory is not None
    assert alive(server.pid)
    end(server)
    server.stop()
    assert not any(map(alive, pids))
    assert not directory.exists()


@pytest.mark.parametrize("end", [Server.stop, Server.kill, Server.halt], ids=["running", "killed", "halted"])
def test_postgresql_leaves_no_shared_memory(end: Callable[[Server], None], start_server: StartServer) -> None:
    server = start_server(PostgresServer)
    assert server.directory is not None
    segment = int((server.directory / "data/postmaster.pid").read_text().splitlines()[6].split()[1])
    assert segment in shared_memory()
    end(server)
    server.stop()
    assert segment not in shared_memory()


def shared_memory() -> set[int]:
    """The segments of this machine, by number."""
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


@every_kind
def test_creating_a_database_is_quick_enough_for_every_test_to_have_its_own(
    kind: type[Server], start_server: StartServer
) -> None:
    server = start_server(kind)
    took = []
    for _ in range(5):
        begun = time.monotonic()
        server.create_database()
        took.append(time.monotonic() - begun)
    assert min(took) < 0.5


@every_kind
def test_a_first_start_evades_a_port_that_was_taken_meanwhile(kind: type[Server], start_server: StartServer) -> None:
    start_server(kind).stop()  # skips or fails here if the program is missing
    server = kind()
    with socket.create_server(("127.0.0.1", server.port)):  # takes calls and never answers
        taken = server.port
        with server:
            assert server.port != taken
            write(server.create_database(), "elsewhere")


@every_kind
def test_a_server_that_cannot_start_says_why(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind)
    server.halt()
    with (
        socket.create_server(("127.0.0.1", server.port)),
        pytest.raises(ServerStartError, match=r"(?i)address already in use"),
    ):
        server.start()
    assert not server.running
    server.start()
    assert server.running


@every_kind
def test_killing_the_guard_takes_the_server_with_it(kind: type[Server], start_server: StartServer) -> None:
    server = start_server(kind)
    guard, *processes = everything_of(server)
    os.kill(guard, signal.SIGKILL)
    wait_until(lambda: not any(map(alive, processes)), "the server to end")
    server.kill()  # so that it knows


def test_a_killed_pytest_leaves_no_server_and_no_directory(tmp_path: Path, start_server: StartServer) -> None:
    for kind in KINDS:
        start_server(kind).stop()  # skips or fails here if a program is missing
    report = tmp_path / "report"
    (tmp_path / "test_hangs.py").write_text(
        textwrap.dedent(
            f"""
            import time
            from pathlib import Path
            from tests.servers.test_server import KINDS, everything_of

            def test_hangs():
                servers = [kind() for kind in KINDS]
                for server in servers:
                    server.start()
                lines = [f"{{server.directory}} {{' '.join(map(str, everything_of(server)))}}" for server in servers]
                Path({str(report)!r} + ".part").write_text("\\n".join(lines))
                Path({str(report)!r} + ".part").rename({str(report)!r})
                time.sleep(600)
            """
        )
    )
    pytest_process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(report.exists, "the inner test to start its servers", 60)
        lines = [line.split() for line in report.read_text().splitlines()]
        directories = [Path(line[0]) for line in lines]
        pids = [int(pid) for line in lines for pid in line[1:]]
        assert len(directories) == 3
        assert all(directory.exists() for directory in directories)
        assert alive(pids[0])
    finally:
        pytest_process.kill()
        pytest_process.wait()
    wait_until(lambda: not any(map(alive, pids)), "the servers to end")
    wait_until(lambda: not any(directory.exists() for directory in directories), "their directories to go")
