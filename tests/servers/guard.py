"""Runs one command and sees to it that the command does not outlive the test run that wanted it.

    python -I guard.py DIRECTORY ACCOUNT SIGNAL COMMAND…

The guard starts COMMAND as ACCOUNT (``-`` for the one it has itself) inside DIRECTORY, with its output in
``server.log`` there, and prints its process id. From then on one of two things happens:

* the command ends, by itself or by a signal: the guard ends with its exit code and leaves DIRECTORY alone;
* the guard's standard input closes, because whoever started it asked for the end or has died, be it by SIGKILL: the
  guard ends the command with SIGNAL, removes DIRECTORY and ends.

Should the guard itself be killed, the kernel kills the command. This file is a program of its own: it imports nothing
of the project.
"""

import ctypes
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PATIENCE = 10.0
_PR_SET_PDEATHSIG = 1


def main(directory: Path, account: str, ending: signal.Signals, command: list[str]) -> int:
    child_changed, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler the wake-up descriptor stays silent
    with open(directory / "server.log", "ab") as log:
        child = subprocess.Popen(
            command,
            cwd=directory,
            # MariaDB, when it starts, removes temporary files of others: each server keeps its own to itself.
            env={**os.environ, "TMPDIR": str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent(),  # safe between fork and exec: this process has one thread
            **_identity(account),
        )
    print(child.pid, flush=True)
    while child.poll() is None:
        readable, _, _ = select.select([0, child_changed], [], [])
        if child_changed in readable:
            os.read(child_changed, 4096)
        if 0 in readable and not os.read(0, 4096):
            _end(child, ending)
            shutil.rmtree(directory, ignore_errors=True)
            break
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _identity(account: str) -> dict[str, Any]:
    if account == "-":
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _die_with_parent() -> Callable[[], None]:
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(child: "subprocess.Popen[bytes]", ending: signal.Signals) -> None:
    child.send_signal(ending)
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], signal.Signals[sys.argv[3]], sys.argv[4:]))
