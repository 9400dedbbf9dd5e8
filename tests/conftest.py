"""Fixtures every test may use: fresh databases on real servers, and free ports.

A server that is not installed fails the tests that need it where ``CI=true``; elsewhere they are skipped, and the
reason says what to install.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from orth.collecting import set_start_aside
from tests.busy_threads import busy_threads
from tests.servers import processes
from tests.servers.binaries import MissingProgramError, find_program
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.server import Server, roomy_memory

S = TypeVar("S", bound=Server)

# Tests start hundreds of processes: they share what Python has compiled, whatever the shell says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# SQLite waits for the disk with every transaction, and most tests are not about what a power cut leaves.
if (memory := roomy_memory()) and not os.statvfs(memory).f_flag & os.ST_NOEXEC:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))

# How long an example takes tells what else the machine has to do, nothing about the code.
settings.register_profile("orth", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("orth")


class StartServer(Protocol):
    """The type of the fixture ``start_server``."""

    def __call__(self, kind: type[S], *, durable: bool = False) -> S: ...


def pytest_configure() -> None:
    """A shell that runs us in the background has SIGINT ignored, and whatever we start would ignore it as well."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Thousands of collected tests never go away: the garbage collector need not look through them again and again."""
    set_start_aside()


@pytest.fixture(scope="session", autouse=True)
def _nobody_works_on() -> Iterator[None]:
    """The last to be let go, so that all who are ended by fixtures have ended."""
    yield
    left = busy_threads()
    assert left == [], f"A test has left threads at work: {left}"


def _new(kind: type[S], *, durable: bool = False) -> S:
    try:
        return kind(durable=durable)
    except MissingProgramError as missing:
        _do_without(missing)


def _do_without(missing: MissingProgramError) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


@pytest.fixture
def installed() -> Callable[[str], Path]:
    """Find a program that is not a server, such as an interpreter: ``installed("php")``."""

    def find(program: str) -> Path:
        try:
            return find_program(program)
        except MissingProgramError as missing:
            _do_without(missing)

    return find


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start a server for this test alone, to halt or kill at will: ``start_server(PostgresServer, durable=True)``."""
    with ExitStack() as stack:

        def start(kind: type[S], *, durable: bool = False) -> S:
            server = _new(kind, durable=durable)
            stack.enter_context(server)
            return server

        yield start


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with _new(PostgresServer) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBServer]:
    with _new(MariaDBServer) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with _new(RedisServer) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty PostgreSQL database."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def mariadb_url(mariadb_server: MariaDBServer) -> Iterator[str]:
    """An empty MariaDB database."""
    url = mariadb_server.create_database()
    yield url
    mariadb_server.drop_database(url)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty Redis database."""
    return redis_server.create_database()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/orth.db"


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def store_url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind the store supports; a test that takes it runs once per kind."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url", "mariadb": "mariadb_url"}[request.param]
    url: str = request.getfixturevalue(fixture)  # asked for by name, so that only the server in question is started
    return url


@pytest.fixture
def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    return processes.free_port()
