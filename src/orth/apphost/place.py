"""The folder of one ``orth up``: who runs there, and how to reach it.

``up.lock`` is locked for as long as an ``orth up`` lives, so nothing can be out of date: a process that is gone holds
no lock. ``up.json`` says who it is and which processes it has. ``up.sock`` is its control socket.
"""

import fcntl
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from orth.errors import CannotStart, NotFound

_LOCK_TRIES, _LOCK_PAUSE = 10, 0.02
_LOCK, _STATE, _SOCKET = "up.lock", "up.json", "up.sock"


@dataclass(frozen=True, slots=True)
class Standing:
    """What ``up.json`` says: the process that keeps the others, and these by name."""

    pid: int
    started_at: str
    pids: dict[str, int]


class Place:
    """A data folder, seen from ``orth up`` and its sister commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Be the one ``orth up`` of this folder; False if another one is."""
        self.prepare()
        with (self.folder / _LOCK).open("a") as file:
            if not _locked(file.fileno()):
                yield False
                return
            self._forget()
            try:
                yield True
            finally:
                self._forget()

    def prepare(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / _LOCK).touch(mode=0o600)
        except OSError as error:
            raise CannotStart(
                f"The folder {self.folder} cannot be written: {error.strerror}.", hint="Start elsewhere."
            ) from None

    @property
    def is_held(self) -> bool:
        """Whether an ``orth up`` lives here."""
        try:
            with (self.folder / _LOCK).open("r") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def need_held(self) -> None:
        if not self.is_held:
            raise NotFound("running orth up in", self.folder)

    def write(self, standing: Standing) -> None:
        fresh = self.folder / f"{_STATE}.new"
        fresh.write_text(json.dumps(asdict(standing), indent=2) + "\n")
        fresh.replace(self.folder / _STATE)

    def read(self) -> Standing | None:
        with suppress(OSError, ValueError, TypeError):
            return Standing(**json.loads((self.folder / _STATE).read_text()))
        return None

    def listening(self) -> socket.socket:
        """The control socket, for the one who holds the folder. Only this user can connect."""
        with self._socket_path() as path, suppress(FileNotFoundError):
            os.unlink(path)
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self._socket_path() as path:
            before = os.umask(0o177)
            try:
                found.bind(path)
            finally:
                os.umask(before)
        found.listen()
        return found

    def connected(self, timeout: float) -> socket.socket:
        """A connection to the one who holds the folder; OSError if it does not listen."""
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            found.settimeout(timeout)
            with self._socket_path() as path:
                found.connect(path)
        except BaseException:
            found.close()
            raise
        return found

    @contextmanager
    def _socket_path(self) -> Iterator[str]:
        """A path short enough for a socket, whatever the folder's: through its descriptor."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{_SOCKET}"
        finally:
            os.close(folder)

    def _forget(self) -> None:
        for name in (_STATE, _SOCKET):
            with suppress(FileNotFoundError):
                (self.folder / name).unlink()


def _locked(file: int) -> bool:
    """Whether the lock was free; somebody who only looks (``is_held``) has it for a moment."""
    for _ in range(_LOCK_TRIES):
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        threading.Event().wait(_LOCK_PAUSE)
    return False
