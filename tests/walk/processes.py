"""Real processes on loopback: coordinators and executors as a user would start them (``tests.warm``), ended by pid."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import urllib3

from tests.servers.processes import free_port
from tests.warm.starting import Running, start

T = TypeVar("T")

PASSWORD = "password-of-this-test"
TOKEN = "token-of-this-test"
MASTER_KEY = "5e" * 32
STEADY = {"ORTH_CLUSTER__LEASE": "15s", "ORTH_CLUSTER__LEASE_RENEW": "1s"}
"""A lead that survives seconds in which a busy machine stands still: a term that ends doubts what it was sending."""
SHORT = {"ORTH_CLUSTER__LEASE": "1s", "ORTH_CLUSTER__LEASE_RENEW": "300ms"}
"""For tests in which somebody waits for a lease to run out."""
HTTP = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=10))


def eventually(look: Callable[[], T | None], *, within: float = 30.0, what: str = "it") -> T:
    """What ``look`` gives once it gives something; fails after ``within`` seconds."""
    deadline = time.monotonic() + within
    pause = 0.03
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not happen within {within:.0f} s"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.15)  # to look costs processor time, here and in the process that is asked


class Process:
    """One ``orth`` command in the background, its output in a file."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        environment: Mapping[str, str],
        folder: Path,
        network: Path | None = None,
    ) -> None:
        """In this network, or another one, such as that of another host."""
        self.name = name
        self.output = folder / f"{name}.log"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ORTH_")}
        surroundings = {**clean, **environment, "PYTHONUNBUFFERED": "1"}
        with self.output.open("a") as out:
            self.popen: Running = start(arguments, surroundings, folder, stdout=out, stderr=out, network=network)

    def text(self) -> str:
        return self.output.read_text()

    def alive(self) -> bool:
        return self.popen.poll() is None

    def end(self, number: int = signal.SIGTERM, within: float = 30.0) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.alive():
            self.popen.send_signal(number)
        return self.popen.wait(within)


class Api:
    """The admin API of a coordinator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._token: str | None = None

    def call(self, method: str, path: str, body: object = None, *, expect: int | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._signed_in()}"} if "/auth/" not in path else {}
        answer = HTTP.request(method, f"{self.url}{path}", json=body, headers=headers)
        data = json.loads(answer.data) if answer.data else None
        good = answer.status < 400 if expect is None else answer.status == expect
        assert good, f"{method} {path}: {answer.status} {data}"
        return data

    def _signed_in(self) -> str:
        if self._token is None:
            body = {"username": "admin", "password": PASSWORD}
            self._token = str(self.call("POST", "/api/v1/auth/login", body)["access_token"])
        return self._token

    def items(self, path: str) -> list[dict[str, Any]]:
        """All items of a list, newest pages first as they come."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.call("GET", f"{path}{'&' if '?' in path else '?'}limit=200{cursor}")
            found += page["items"]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"


class Site:
    """A folder with processes in it. Leaving it ends them all."""

    def __init__(self, folder: Path, store_url: str | None = None, **settings: str) -> None:
        self.folder = folder
        self.settings = {
            "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            "ORTH_SECURITY__ADMIN_PASSWORD": PASSWORD,
            "ORTH_SECURITY__MASTER_KEY": MASTER_KEY,
            "ORTH_COORDINATOR__DATA_DIR": str(folder / "coordinator"),
            **STEADY,
            **({"ORTH_STORE__URL": store_url} if store_url else {}),
            **settings,
        }
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.processes: list[Process] = []

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_exc: object) -> None:
        for process in reversed(self.processes):
            if process.alive():
                process.popen.kill()
                process.popen.wait(10)

    def coordinator(self, name: str = "node-1", *, port: int | None = None, ready: bool = True, **more: str) -> Process:
        port = port or self.port
        environment = {
            **self.settings,
            "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{port}",
            "ORTH_COORDINATOR__NODE_ID": name,
            **more,
        }
        process = self._start(name, ["server"], environment)
        if ready:
            eventually(lambda: self.answers(process, f"http://127.0.0.1:{port}/health/ready"), what=f"{name} ready")
        return process

    def executor(self, target: Path, name: str = "executor-1", *, port: int | None = None, **more: str) -> Process:
        port = port or free_port()
        environment = {
            **self.settings,
            "ORTH_EXECUTOR__LISTEN": f"127.0.0.1:{port}",
            "ORTH_EXECUTOR__COORDINATORS": self.url,
            "ORTH_EXECUTOR__DATA_DIR": str(self.folder / name),
            **more,
        }
        process = self._start(name, ["executor", str(target)], environment)
        eventually(lambda: self.answers(process, f"http://127.0.0.1:{port}/health"), what=f"{name} ready")
        return process

    def api(self) -> Api:
        return Api(self.url)

    def _start(self, name: str, arguments: list[str], environment: Mapping[str, str]) -> Process:
        process = Process(name, arguments, environment, self.folder)
        self.processes.append(process)
        return process

    @staticmethod
    def answers(process: Process, url: str) -> bool:
        assert process.alive(), f"{process.name} ended with {process.popen.returncode}:\n{process.text()}"
        try:
            return HTTP.request("GET", url).status == 200
        except urllib3.exceptions.HTTPError:
            return False
