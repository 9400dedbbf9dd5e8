"""What the kernel knows about processes and ports, and waiting for it to change."""

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

# Below the range of outgoing connections: a server that restarts must find its port free.
_LOWEST_PORT, _HIGHEST_PORT = 15_000, 32_000


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    while True:
        port = _LOWEST_PORT + secrets.randbelow(_HIGHEST_PORT - _LOWEST_PORT)
        if port_is_free(port):
            return port


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Servers set it too. A port that only has closed connections on it counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def alive(pid: int) -> bool:
    """Whether the process exists and has not ended; one that merely waits to be collected has ended."""
    try:
        return _stat(pid)[0] not in ("Z", "X")
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
            except OSError:
                continue  # it ended while we looked
    found = [pid]
    for member in found:  # grows while it is walked
        found += [child for child, parent in parents.items() if parent == member]
    return found[1:]


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the state on; the name before it may hold anything, parentheses too."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def send(pids: Iterable[int], number: int) -> None:
    """Signal each of ``pids`` that still exists."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Return as soon as ``condition`` holds; ``AssertionError`` naming ``what`` when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.01)
