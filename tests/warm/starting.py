"""Commands started through the companion of this pytest process."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

REPOSITORY = Path(__file__).parents[2]


class Running(Protocol):
    """What ``subprocess.Popen`` has, as far as tests use it."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Started:
    """A command; the companion is its parent, so its end comes through a pipe."""

    def __init__(self, pid: int, ending: int, arguments: list[str]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ending = ending
        self._arguments = arguments
        self._waiting = threading.Lock()

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self._arguments, timeout)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        with self._waiting:
            if self.returncode is None and select.select([self._ending], [], [], timeout)[0]:
                self.returncode = int(os.read(self._ending, 16))
                os.close(self._ending)
            return self.returncode


class _Companion:
    def __init__(self, part: str) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.warm.companion", part, str(theirs.fileno())],
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def start(self, arguments: list[str], told: dict[str, object], standard: list[int]) -> Started:
        ending, told_there = os.pipe()
        try:
            message = json.dumps({**told, "arguments": arguments}).encode()
            socket.send_fds(self._line, [message], [*standard, told_there])
        finally:
            os.close(told_there)
        return Started(int(self._line.recv(32)), ending, arguments)

    def end(self) -> None:
        self._line.close()
        self._process.wait(30)


_starting = threading.Lock()
_companions: dict[str, _Companion] = {}
_FOR_EXECUTORS = ("executor", "run")


def start(
    arguments: list[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    stdout: IO[bytes] | IO[str],
    stderr: IO[bytes] | IO[str],
    network: Path | None = None,
) -> Started:
    """Begin ``orth`` with these arguments, in another network namespace if one is given."""
    special = {name for name in environment if name.startswith("PYTHON") and environment[name] != os.environ.get(name)}
    assert special <= {"PYTHONUNBUFFERED"}, f"{special}: only an interpreter that starts from nothing heeds these"
    part = "executor" if arguments[:1] and arguments[0] in _FOR_EXECUTORS else "everything"
    with _starting, open(os.devnull) as nothing:
        if part not in _companions:
            _companions[part] = _Companion(part)
            atexit.register(_companions[part].end)
        standard = [nothing.fileno(), stdout.fileno(), stderr.fileno()]
        told = {"environment": dict(environment), "folder": str(folder), "network": str(network) if network else None}
        return _companions[part].start(arguments, told, standard)


def run(
    arguments: list[str], environment: Mapping[str, str], folder: Path, within: float
) -> "subprocess.CompletedProcess[str]":
    """The finished command and what it wrote."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        command = start(arguments, environment, folder, stdout=out, stderr=err)
        try:
            code = command.wait(within)
        except subprocess.TimeoutExpired:
            command.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())
