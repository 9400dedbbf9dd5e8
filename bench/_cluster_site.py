"""What ``cluster`` runs on: private PostgreSQL and Redis, coordinators and executors, all real processes on loopback.

Coordinators are added while it runs. Executors come and go with what is measured, and know those that are there.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from _site import wait_for
from tests.servers.postgres import PostgresServer
from tests.servers.processes import descendants, free_port
from tests.servers.redis import RedisServer
from tests.walk.processes import PASSWORD, TOKEN, Api, Process, Site

from orth.store.database import Database, open_database
from orth.store.executor_entries import list_executors
from orth.store.migrating import upgrade

APP = "bench-cluster"
QUEUE = "work"
JOBS = Path(__file__).parent / "_cluster_jobs.py"
_TICKS = os.sysconf("SC_CLK_TCK")
_QUIET = ["--log-level", "warning"]
_PLACES = 1.2
"""Places for executions on all executors of a queue, for each that is open."""


class Cluster:
    """The processes and what they share."""

    def __init__(self, folder: Path, store_url: str, postgres: PostgresServer, redis: RedisServer) -> None:
        self.folder = folder
        self.db: Database = open_database(store_url, size=4, patience=60.0)
        self._postgres, self._redis = postgres, redis
        self._common = {
            "ORTH_STORE__URL": store_url,
            "ORTH_CHANNELS__URL": redis.create_database(),
            "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            "ORTH_SECURITY__ADMIN_PASSWORD": PASSWORD,
            "BENCH_GATE": str(folder / "gate"),
        }
        self._ports: list[int] = []
        self._apis: list[Api] = []
        self._started = 0
        self.coordinators: list[Process] = []
        self.executors: list[Process] = []

    def grow(self, count: int) -> None:
        """Let there be so many coordinators, and each know all of them."""
        began: list[tuple[Process, int]] = []
        while len(self.coordinators) < count:
            port, name = free_port(), f"node-{len(self.coordinators) + 1}"
            own = {
                "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{port}",
                "ORTH_COORDINATOR__NODE_ID": name,
                "ORTH_COORDINATOR__DATA_DIR": str(self.folder / name),
            }
            process = Process(name, ["server", *_QUIET], {**self._common, **own}, self.folder)
            self.coordinators.append(process)
            self._ports.append(port)
            self._apis.append(Api(f"http://127.0.0.1:{port}"))
            began.append((process, port))
        for process, port in began:
            url = f"http://127.0.0.1:{port}/health/ready"
            wait_for(f"{process.name} ready", lambda process=process, url=url: Site.answers(process, url))
        wait_for("all coordinators and a leader", lambda: all(map(self._is_whole, self._apis)))

    def _is_whole(self, api: Api) -> bool:
        found = api.call("GET", "/api/v1/cluster")
        active = [one for one in found["nodes"] if one["state"] == "active"]
        return found["leader"] is not None and len(active) == len(self.coordinators)

    @contextmanager
    def executing(self, count: int, *, queue_places: int = 0) -> Iterator[None]:
        """Executors, on queue transport if there are places, until the end of the block."""
        with ExitStack() as stack:
            stack.callback(self._end_executors)
            ports = [self._executor(count, queue_places) for _ in range(count)]
            for process, port in zip(self.executors, ports, strict=True):
                url = f"http://127.0.0.1:{port}/health"
                wait_for(f"{process.name} ready", lambda process=process, url=url: Site.answers(process, url))
            wait_for("executors in the registry", lambda: self._registered(bool(queue_places)) == count)
            yield

    def _executor(self, of: int, places: int) -> int:
        self._started += 1
        port, name = free_port(), f"executor-{self._started}"
        own = {
            "ORTH_EXECUTOR__LISTEN": f"127.0.0.1:{port}",
            "ORTH_EXECUTOR__COORDINATORS": ",".join(f"http://127.0.0.1:{port}" for port in self._ports),
            "ORTH_EXECUTOR__DATA_DIR": str(self.folder / name),
            "BENCH_RECORD": str(self.folder / f"record-{self._started}"),
        }
        if places:
            own["ORTH_EXECUTOR__TRANSPORT"] = "queue"
            own["ORTH_EXECUTOR__QUEUE"] = QUEUE
            own["ORTH_EXECUTOR__QUEUE_CONCURRENCY"] = str(round(places * _PLACES / of) + 1)
        arguments = ["executor", str(JOBS), *_QUIET]
        self.executors.append(Process(name, arguments, {**self._common, **own}, self.folder))
        return port

    def _registered(self, of_queues: bool) -> int:
        with self.db.engine.begin() as connection:
            return len(list_executors(connection, APP, of_queues=of_queues))

    def _end_executors(self) -> None:
        """As users do, so that they are out of the registry."""
        for process in self.executors:
            process.popen.terminate()
        for process in self.executors:
            process.popen.wait(120)
        self.executors = []

    def end(self) -> None:
        self._end_executors()
        for process in self.coordinators:  # nothing is wanted of them any more
            process.popen.kill()
            process.popen.wait(10)
        self.db.close()

    def open_gate(self, first: int, pace: float, after: float = 0.0) -> None:
        """Let pass what is below ``first`` and, in ``after`` seconds, begin to let ``pace`` more pass each second."""
        new = self.folder / "gate.new"
        new.write_text(f"{first} {time.time() + after} {pace}")
        new.rename(self.folder / "gate")

    def record(self) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
        """By execution, when it started and when it returned, in s since 1970; all that ever happened."""
        noted: dict[str, dict[int, list[float]]] = {"start": {}, "end": {}}
        for file in self.folder.glob("record-*"):
            for line in file.read_text().splitlines():
                event, execution, at = line.split()
                noted[event].setdefault(int(execution), []).append(int(at) / 1e9)
        return noted["start"], noted["end"]

    def burnt(self) -> Counter[str]:
        """Seconds of CPU so far, by kind of process."""
        return Counter(
            coordinators=sum(_seconds(one.popen.pid) for one in self.coordinators),
            executors=sum(_seconds(one.popen.pid) for one in self.executors),
            redis=_seconds(self._redis.pid),
            postgresql=sum(map(_seconds, [self._postgres.pid, *descendants(self._postgres.pid)])),
        )


def _seconds(pid: int) -> float:
    """CPU of a process and of its children that have ended."""
    with suppress(OSError):  # it ended while we looked, and is counted with its parent
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS
    return 0.0


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster without coordinators yet, in a folder that goes away with it."""
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        postgres = stack.enter_context(PostgresServer(durable=True))
        url = postgres.create_database()
        upgrade(url)
        with open_database(url, size=1) as db, db.engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.exec_driver_sql("ALTER SYSTEM SET track_commit_timestamp = on")
        postgres.restart()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        here = Cluster(folder, url, postgres, redis)
        stack.callback(here.end)
        yield here
