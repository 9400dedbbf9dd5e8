"""Loads a part of Orth, then forks a child for each command it is told of.

    python -m tests.warm.companion PART SOCKET

PART is a key of ``PARTS``: an executor never sees what only a coordinator needs, here as elsewhere.
Each message on the descriptor SOCKET is one command: its words and surroundings as JSON, and four descriptors, which
are the child's standard input, output and error, and a pipe for its end. The answer is the pid of the child; its exit
code is written to the pipe when it has ended. When the socket closes, all children are killed.
"""

import gc
import importlib
import io
import json
import os
import random
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from orth.cli.frame import SUBCOMMANDS, main
from tests.warm.networks import enter

PARTS = {
    "executor": (
        "orth.cli.executor",
        "orth.cli.run",
        "orth.executor.process",
        "orth.executor.author_commands",
        "uvloop",
    ),
    "everything": (
        *(subcommand.module for subcommand in SUBCOMMANDS.values()),
        *("orth.coordinator.node", "psycopg", "pymysql", "redis.asyncio", "uvloop", "websockets.asyncio.server"),
    ),
}
LONGEST = 1 << 20


def load(part: str) -> None:
    for name in PARTS[part]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1, "a fork takes one thread along only"


class Companion:
    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._endings: dict[int, int] = {}
        self._child_changed, self._tell = os.pipe()
        os.set_blocking(self._tell, False)
        signal.set_wakeup_fd(self._tell)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler the wake-up descriptor stays silent
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which then closes the line

    def command(self) -> dict[str, Any]:
        """Serve until the line closes; returns in children only, with what the child is to do."""
        while True:
            readable, _, _ = select.select([self._line, self._child_changed], [], [])
            if self._child_changed in readable:
                os.read(self._child_changed, 4096)
                self._collect()
            if self._line in readable:
                message, descriptors, _, _ = socket.recv_fds(self._line, LONGEST, 4)
                if not message:
                    self._end()
                if self._fork(descriptors):
                    told: dict[str, Any] = json.loads(message)
                    return told

    def _fork(self, descriptors: list[int]) -> bool:
        """Whether this is the child."""
        *standard, ending = descriptors
        pid = os.fork()
        if pid == 0:
            self._part()
            for number, descriptor in enumerate(standard):
                os.dup2(descriptor, number)
        else:
            self._endings[pid] = ending
            self._line.send(str(pid).encode())
        for descriptor in (*standard, *([ending] if pid == 0 else [])):
            os.close(descriptor)
        return pid == 0

    def _part(self) -> None:
        """In the child: let go of what is the companion's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._line.close()
        for descriptor in (self._child_changed, self._tell, *self._endings.values()):
            os.close(descriptor)

    def _collect(self) -> None:
        for pid in list(self._endings):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                ending = self._endings.pop(pid)
                os.write(ending, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(ending)

    def _end(self) -> NoReturn:
        for pid in self._endings:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)


def become(told: dict[str, Any]) -> int:
    """Be the command."""
    if told["network"] is not None:
        enter(Path(told["network"]))
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    time.tzset()
    random.seed()
    sys.path[0] = told["folder"]
    sys.argv = ["orth", *told["arguments"]]
    # What was written is seen at once, also when a process is killed.
    raw = io.FileIO(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(raw, sys.stdout.encoding, sys.stdout.errors, write_through=True)  # type: ignore[type-var]
    return main()


if __name__ == "__main__":
    load(sys.argv[1])
    sys.exit(become(Companion(socket.socket(fileno=int(sys.argv[2]))).command()))
