"""A lock file that proves a coordinator on this machine to be alive or dead.

Coordinators that share a SQLite file run on one machine, where the kernel knows what no timeout can: a lock on a file
is given up when its holder dies, and only then. Each holds one named after its node beside the database. So a second
process with the same node id is refused, and the lease of a dead one need not be waited out.
"""

import fcntl
import glob
import os
from pathlib import Path

from orth.errors import CannotStart


class AliveLocks:
    """The lock files beside a SQLite database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mine: tuple[str, int] | None = None

    def hold(self, node_id: str) -> None:
        """Show that this node lives, until the process ends."""
        handle = _locked(self._file(node_id))
        if handle is None:
            raise CannotStart(
                f"A coordinator named {node_id!r} already runs on this database.",
                hint="Give this one another --node-id.",
            )
        self._mine = (node_id, handle)

    def is_dead(self, node_id: str | None) -> bool:
        """Whether no process of that name lives; our own predecessor, if it bears our name."""
        if node_id is None:
            return False
        if self._mine is not None and self._mine[0] == node_id:
            return True
        return _is_free(self._file(node_id))

    def others_live(self) -> bool:
        """Whether another coordinator lives on this database."""
        mine = None if self._mine is None else self._file(self._mine[0])
        held = self._database.parent.glob(f"{glob.escape(self._database.name)}.*.alive")
        return any(not _is_free(file) for file in held if file != mine)

    def count_live(self) -> int:
        """How many coordinators live on this database."""
        held = self._database.parent.glob(f"{glob.escape(self._database.name)}.*.alive")
        return sum(not _is_free(file) for file in held)

    def release(self) -> None:
        if self._mine is not None:
            os.close(self._mine[1])
            self._mine = None

    def _file(self, node_id: str) -> Path:
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in node_id)
        return self._database.with_name(f"{self._database.name}.{safe}.alive")


def _is_free(file: Path) -> bool:
    handle = _locked(file)
    if handle is None:
        return False
    os.close(handle)
    return True


def _locked(file: Path) -> int | None:
    """A handle that holds the lock on ``file``, or None when somebody else does."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
