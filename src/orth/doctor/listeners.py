"""Who listens on a port of this machine, as the kernel tells it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LISTENING = "0A"
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Listener:
    """A process; without ``pid`` one that this user may not look at."""

    pid: int | None = None
    command: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid else "a process of another user"


def who_listens(port: int, proc: Path = Path("/proc")) -> Listener | None:
    """The process that listens on ``port``, or None if there is none."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    if not sockets:
        return None
    for folder in proc.glob("[0-9]*"):
        if sockets & set(_links(folder / "fd")):
            return Listener(int(folder.name), _command(folder))
    return Listener()


def _inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (proc / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _links(folder: Path) -> Iterator[str]:
    with suppress(OSError):  # another user's, or it has just ended
        for one in os.scandir(folder):
            with suppress(OSError):
                yield os.readlink(one.path)


def _command(folder: Path) -> str:
    """The program, and with Python what it runs. No further words: passwords may stand there."""
    try:
        words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return "?"
    program = Path(words[0]).name
    runs = words[1:4] if words[1:2] == ["-m"] else [Path(word).name for word in words[1:3] if not word.startswith("-")]
    return " ".join([program, *runs])[:_LONGEST] if program.startswith("python") else program[:_LONGEST]
