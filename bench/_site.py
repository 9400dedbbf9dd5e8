"""What ``precision`` runs on: a private PostgreSQL, one coordinator, two executors, all real processes on loopback."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port

from orth.store.database import Database, open_database
from orth.store.executor_entries import list_executors
from orth.store.migrating import upgrade

TOKEN = "token-of-the-benchmark"
JOBS = Path(__file__).parent / "_precision_jobs.py"
EXECUTORS = 2


def wait_for(what: str, condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)


class Site:
    """The processes and what they share."""

    def __init__(self, folder: Path, store_url: str) -> None:
        self.folder = folder
        self.db: Database = open_database(store_url, size=4, patience=60.0)
        self.port = free_port()
        self._settings = {
            "ORTH_STORE__URL": store_url,
            "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            "ORTH_SECURITY__ADMIN_PASSWORD": TOKEN,
            "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{self.port}",
            "ORTH_COORDINATOR__DATA_DIR": str(folder / "coordinator"),
            "ORTH_EXECUTOR__COORDINATORS": f"http://127.0.0.1:{self.port}",
        }

    def start(self, name: str, port: int, arguments: list[str], **more: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "orth", *arguments, "--log-level", "warning"],
                cwd=self.folder,
                env={**os.environ, **self._settings, **more},
                stdout=log,
                stderr=log,
            )
        path = "health/ready" if name == "coordinator" else "health"
        wait_for(f"{name} ready", lambda: _answers(f"http://127.0.0.1:{port}/{path}"))
        return process

    def executor(self, number: int) -> subprocess.Popen[bytes]:
        port = free_port()
        return self.start(
            f"executor-{number}",
            port,
            ["executor", str(JOBS)],
            ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{port}",
            ORTH_EXECUTOR__DATA_DIR=str(self.folder / f"executor-{number}"),
            BENCH_RECORD=str(self.folder / f"record-{number}"),
        )

    def executors(self) -> int:
        with self.db.engine.begin() as connection:
            return len(list_executors(connection))

    def record(self) -> list[tuple[int, int, int]]:
        """Job, fire (ms) and start (ns) of every call of the handler."""
        files = sorted(self.folder.glob("record-*"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [(int(job), int(fire), int(start)) for job, fire, start in map(str.split, lines)]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # loopback
            return True
    except OSError:
        return False


@contextmanager
def site() -> Iterator[Site]:
    """A site in a folder that goes away with it."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(durable=True))
        url = server.create_database()
        upgrade(url)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        here = Site(folder, url)
        stack.callback(here.db.close)
        processes = [here.start("coordinator", here.port, ["server"])]
        stack.callback(_end, processes)
        processes += [here.executor(number) for number in range(1, EXECUTORS + 1)]
        wait_for("the executors registered", lambda: here.executors() == EXECUTORS)
        yield here


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        process.wait(120)
