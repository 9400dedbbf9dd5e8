"""The work keys of executors, as coordinators keep them: sealed, in the registry and in the roster.

Each is sealed for its process: app name, address and incarnation. A row that a coordinator of an earlier version wrote
for the next process at an address, and in which the key of the one before is left, has none.
"""

from orth.coordinator.sealing import Sealing
from orth.domain.nodes import ExecutorEntry
from orth.errors import Unreadable

_LIMIT = 20_000


class WorkKeys:
    """Seals and opens them. For one event loop."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing
        self._opened: dict[tuple[str, str], str | None] = {}

    def opened(self, entry: ExecutorEntry) -> str | None:
        """The work key of a process; None if it has told none, or if it cannot be read here."""
        if entry.work_key is None or entry.incarnation is None:
            return None
        context = _context(entry.app_name, entry.address, entry.incarnation)
        known = (context, entry.work_key)
        if known not in self._opened:
            if len(self._opened) >= _LIMIT:
                del self._opened[next(iter(self._opened))]
            self._opened[known] = self._open(entry.work_key, context)
        return self._opened[known]

    def sealed(self, app_name: str, address: str, incarnation: str, work_key: str, known: ExecutorEntry | None) -> str:
        """The work key for the registry; the text that is ``known`` if it says the same, so that nothing changes."""
        if known is not None and known.incarnation == incarnation and self.opened(known) == work_key:
            text = known.work_key or ""
            if not self._sealing.is_stale(text):
                return text
        return self._sealing.seal(bytes.fromhex(work_key), _context(app_name, address, incarnation))

    def _open(self, sealed: str, context: str) -> str | None:
        try:
            return self._sealing.open(sealed, context).hex()
        except Unreadable:
            return None


def _context(app_name: str, address: str, incarnation: str) -> str:
    return f"work key of {incarnation} at {address} for {app_name}"
