"""The life of a private server, whatever its kind.

``start`` prepares a data directory the first time and uses the same one, on the same port, ever after. ``halt`` is
the clean shutdown and ``kill`` the crash; after either, ``start`` continues with the data that survived. ``stop`` is
the end: no process, no directory.

A server is quick rather than safe: it keeps its files in memory where there is room, and does not wait for a disk. With
``durable=True`` its files are on disk and a commit waits for them, as in production.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

from tests.servers import guard
from tests.servers.processes import alive, descendants, free_port, port_is_free, send, wait_until

_START_SECONDS = 60.0
_HALT_SECONDS = 60.0

_MEMORY = Path("/dev/shm")  # creating a database there takes a tenth of the time it takes on a busy disk
_ROOM = 2 * 1024**3  # containers often have 64 MiB


class ServerStartError(Exception):
    """A server did not start; the message ends with the last lines of its log."""


class Server(ABC):
    """What PostgreSQL, MariaDB and Redis have in common."""

    name: ClassVar[str]
    accounts: ClassVar[tuple[str, ...]]
    """Who runs it when the tests run as root, in order of preference; PostgreSQL refuses root."""
    clean_end: ClassVar[signal.Signals]
    abrupt_end: ClassVar[signal.Signals] = signal.SIGKILL
    """How to end it when its data will not be needed again."""

    def __init__(self, *, durable: bool = False) -> None:
        self.durable = durable
        self.port = free_port()
        self.directory: Path | None = None
        self.pid = 0
        self._guard: subprocess.Popen[bytes] | None = None

    # --- what each kind fills in ---

    @abstractmethod
    def url(self, database: str) -> str:
        """The address of a database, as the product takes it."""

    @abstractmethod
    def create_database(self) -> str:
        """Make an empty database; its address."""

    @abstractmethod
    def drop_database(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""

    @abstractmethod
    def prepare_command(self, data: Path) -> list[str] | None:
        """What fills an empty data directory, if anything must."""

    @abstractmethod
    def serve_command(self, data: Path) -> list[str]:
        """What serves a prepared data directory in the foreground."""

    @abstractmethod
    def answering_from(self) -> Path:
        """The data directory of the server that answers on our port; any exception means that none does yet."""

    # --- its life ---

    @property
    def running(self) -> bool:
        return self._guard is not None

    def start(self) -> None:
        """Serve: on a new port and a new directory the first time, on the old ones after that."""
        if self.running:
            return
        if self.directory is not None:
            self._serve()
            return
        try:
            self._prepare()
            self._serve_on_a_free_port()
        except BaseException:
            self.stop()
            raise

    def halt(self) -> None:
        """Shut down cleanly and keep the data."""
        self._signal_and_wait([self.pid], self.clean_end)

    def restart(self) -> None:
        self.halt()
        self.start()

    def kill(self) -> None:
        """Crash it: SIGKILL to all of its processes at once. What had reached its files stays."""
        if self.running:
            self._signal_and_wait([self.pid, *descendants(self.pid)], signal.SIGKILL)

    def stop(self) -> None:
        """End it and remove its directory. Before the start, and twice, is fine."""
        if self._guard is not None:
            below = descendants(self.pid)
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            self._guard_ended()
            wait_until(lambda: not any(map(alive, below)), f"the processes of {self.name} to end")
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- how ---

    def _data(self) -> Path:
        assert self.directory is not None
        return self.directory / "data"

    def _account(self) -> str:
        if os.geteuid() != 0:
            return "-"
        known = {entry.pw_name for entry in pwd.getpwall()}
        return next((name for name in self.accounts if name in known), "nobody")

    def _prepare(self) -> None:
        self.directory = Path(
            tempfile.mkdtemp(prefix=f"orth-{self.name}-", dir=None if self.durable else roomy_memory())
        )
        data = self._data()
        data.mkdir(mode=0o700)
        if (account := self._account()) != "-":
            for folder in (self.directory, data):
                shutil.chown(folder, account)
        command = self.prepare_command(data)
        if command is not None:
            self._spawn(command)
            if self._guard_ended() != 0:
                raise ServerStartError(f"{self.name} could not prepare its data directory.\n{self._last_lines()}")

    def _serve_on_a_free_port(self) -> None:
        while True:
            try:
                self._serve()
                return
            except ServerStartError:
                if port_is_free(self.port):
                    raise
                self.port = free_port()  # somebody took the other one between our look and the server's

    def _serve(self) -> None:
        self._spawn(self.serve_command(self._data()))
        try:
            self._await_ready()
        except BaseException:
            self.kill()
            raise

    def _spawn(self, command: list[str]) -> None:
        """Run ``command`` under a guard, in a session of its own: Ctrl-C at the terminal is for pytest alone."""
        arguments = [str(self.directory), self._account(), self.abrupt_end.name, *command]
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        self.pid = int(self._guard.stdout.readline() or 0)
        if self.pid == 0:
            raise ServerStartError(
                f"{self.name}: the guard could not run {command[0]} (exit code {self._guard_ended()})."
            )

    def _guard_ended(self) -> int:
        assert self._guard is not None
        code = self._guard.wait(_HALT_SECONDS)
        for pipe in (self._guard.stdin, self._guard.stdout):
            assert pipe is not None
            pipe.close()
        self._guard = None
        return code

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            assert self._guard is not None
            if self._guard.poll() is not None or time.monotonic() > deadline:
                raise ServerStartError(f"{self.name} did not start on port {self.port}.\n{self._last_lines()}")
            with suppress(Exception):  # each client library has its own words for "not yet"
                # Should another server answer, it has our port, and ours is about to end.
                if self.answering_from() == self._data():
                    return
            time.sleep(0.01)

    def _signal_and_wait(self, pids: list[int], number: signal.Signals) -> None:
        if self._guard is None:
            return
        if self._guard.poll() is None:
            send(pids, number)
        self._guard_ended()
        wait_until(lambda: not any(map(alive, pids)), f"{self.name} to end")

    def _last_lines(self) -> str:
        assert self.directory is not None
        log = self.directory / "server.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-20:]) if log.exists() else "It wrote no log."


def roomy_memory() -> Path | None:
    """The file system in memory if it has room for databases; None means the ordinary temporary directory."""
    if not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    size = os.statvfs(_MEMORY)
    return _MEMORY if size.f_bavail * size.f_frsize >= _ROOM else None
