"""What the executor's benchmarks share: a real executor process, and a coordinator that only counts.

Both are spoken to over real HTTP on loopback. The coordinator answers every result with ``stored`` and remembers when
it came.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TOKEN = "token-of-the-benchmark"
HEADERS = {"ORTH-ACCESS-TOKEN": TOKEN, "Content-Type": "application/json"}
JOBS = Path(__file__).parent / "_noop_jobs.py"
USUAL_FILE = 0.0002
"""Seconds that making a small file may take before another folder is looked for."""
PROBED = 100
WINDOW = 4000
"""Executions under way at most: below what an executor holds before it refuses."""


class Coordinator:
    """Takes registrations and results."""

    def __init__(self) -> None:
        self.arrived: dict[int, float] = {}
        self.failed: list[dict[str, Any]] = []
        self.executor: str | None = None
        self.changed = threading.Condition()
        coordinator = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 64 * 1024

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = coordinator.take(self.path, body)
                self.send_response_only(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                self.wfile.flush()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, body: Any) -> bytes:
        now = time.perf_counter()
        with self.changed:
            if path == "/api/registry":
                self.executor = body["registryValue"]
            elif path == "/api/callback":
                self.failed += [item for item in body if item["handleCode"] != 200]
                self.arrived.update((item["logId"], now) for item in body)
            self.changed.notify_all()
        if path != "/api/callback":
            return b'{"code":200}'
        verdicts = ",".join([f'{{"logId":{item["logId"]},"verdict":"stored"}}' for item in body])
        return f'{{"code":200,"data":{{"verdicts":[{verdicts}]}}}}'.encode()

    def wait(self, condition: Callable[[], object], seconds: float = 300.0) -> None:
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise SystemExit("the executor did not get there in time")

    @contextmanager
    def open(self) -> Iterator["Coordinator"]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        yield self
        self._server.shutdown()
        self._server.server_close()


class ExecutorProcess:
    """``orth executor`` in the background, and a connection to it."""

    def __init__(self, coordinator: Coordinator, folder: Path, **settings: str) -> None:
        self.coordinator = coordinator
        self._log_id = 0
        with (folder / "executor.log").open("w") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "orth", "executor", str(JOBS), "--log-level", "warning"],
                cwd=folder,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
                    "ORTH_EXECUTOR__LISTEN": "127.0.0.1:0",
                    "ORTH_EXECUTOR__COORDINATORS": coordinator.url,
                    "ORTH_EXECUTOR__DATA_DIR": str(folder / "executor"),
                    "ORTH_EXECUTOR__SHOW_TOKEN": "true",  # the coordinator here does not sign
                    **settings,
                },
            )
        coordinator.wait(lambda: coordinator.executor, 30.0)
        self.connection = self.connect()

    def connect(self) -> http.client.HTTPConnection:
        address = urlsplit(str(self.coordinator.executor))
        return http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)

    def trigger(self, job_id: int, handler: str = "noop", **more: object) -> dict[str, object]:
        """The body of the next trigger."""
        self._log_id += 1
        return {
            "jobId": job_id,
            "executorHandler": handler,
            "executorParams": "",
            "executorBlockStrategy": "SERIAL_EXECUTION",
            "executorTimeout": 0,
            "logId": self._log_id,
            "logDateTime": time.time_ns() // 1_000_000,
            "glueType": "BEAN",
            "glueSource": "",
            "glueUpdatetime": 0,
            "broadcastIndex": 0,
            "broadcastTotal": 1,
            **more,
        }

    def run(self, trigger: dict[str, object], connection: http.client.HTTPConnection | None = None) -> None:
        """One trigger in a request of its own."""
        reply = self._post(connection or self.connection, "/run", trigger)
        if reply["code"] != 200:
            raise SystemExit(f"refused: {reply['msg']}")

    def drain(self, triggers: Sequence[dict[str, object]], batch: int) -> float:
        """Executions per second from the first request to the last delivered result. The requests are written
        beforehand: this process takes as little as it can from the one that is measured.
        """
        parts = [triggers[start : start + batch] for start in range(0, len(triggers), batch)]
        bodies = [json.dumps(part[0] if batch == 1 else {"requests": list(part)}).encode() for part in parts]
        path = "/run" if batch == 1 else "/runs"
        began = time.perf_counter()
        before = len(self.coordinator.arrived)
        sent = 0
        for part, body in zip(parts, bodies, strict=True):
            self.connection.request("POST", path, body, HEADERS)
            answer = self.connection.getresponse().read()
            if answer.count(b'"code":') != answer.count(b'"code":200,'):
                raise SystemExit(f"refused: {answer[:500]!r}")
            sent += len(part)
            self._keep_window(before + sent)
        self.coordinator.wait(lambda: len(self.coordinator.arrived) - before >= len(triggers))
        if self.coordinator.failed:
            raise SystemExit(f"failed: {self.coordinator.failed[0]}")
        return len(triggers) / (time.perf_counter() - began)

    def rss(self) -> int:
        """Bytes of memory the process holds."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _keep_window(self, sent: int) -> None:
        if sent - len(self.coordinator.arrived) > WINDOW:
            self.coordinator.wait(lambda: sent - len(self.coordinator.arrived) <= WINDOW)

    def _post(self, connection: http.client.HTTPConnection, path: str, body: object) -> dict[str, Any]:
        connection.request("POST", path, json.dumps(body).encode(), HEADERS)
        reply: dict[str, Any] = json.loads(connection.getresponse().read())
        return reply


def seconds_per_file(place: str) -> float:
    """How long it takes to make a small file in a new folder at ``place``."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        began = time.perf_counter()
        for number in range(PROBED):
            Path(folder, f"{number}.log").write_bytes(b"a line of a log")
        return (time.perf_counter() - began) / PROBED


def place_for_files() -> str:
    """A folder on a disk in which files are made at the usual speed, if there is one.

    ext4 without a journal, as some virtual machines have it, makes them twenty times as slowly where many were deleted
    within the last five minutes: by an earlier run, say. Elsewhere on the same disk it does not.
    """
    places = [
        place for place in (tempfile.gettempdir(), "/var/tmp", str(Path.home()), ".") if os.access(place, os.W_OK)
    ]
    costs = {place: seconds_per_file(place) for place in places}
    usual = [place for place, cost in costs.items() if cost <= USUAL_FILE]
    chosen = usual[0] if usual else min(costs, key=lambda place: costs[place])
    if chosen != places[0] or not usual:
        print(
            f"files in {places[0]} take {costs[places[0]] * 1e6:.0f} µs to make; in {chosen} {costs[chosen] * 1e6:.0f}"
        )
    return chosen


@contextmanager
def executor_process(**settings: str) -> Iterator[ExecutorProcess]:
    """An executor with a coordinator, in a folder that goes away with them."""
    with tempfile.TemporaryDirectory(dir=place_for_files()) as folder, Coordinator().open() as coordinator:
        process = ExecutorProcess(coordinator, Path(folder), **settings)
        try:
            yield process
        finally:
            process.popen.terminate()
            process.popen.wait(30)
