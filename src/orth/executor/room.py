"""Room for results in the outbox: a number of them, and bytes that they never exceed, whatever handlers return.

How long a result will be is known when it is there, and then it is too late to refuse its trigger. So every result has
a ``SHARE`` of its own, which is enough for most, and longer ones take what they need beyond it from room that all
share. Once half of that is taken no new work is; the other half is for what is here already. A long result that finds
no room is shortened to its share, like any other that is too long: head and tail stay, with a note between them, and
its log has all of it. The sum holds by construction: ``COUNT_LIMIT`` shares and the common room are ``BYTE_LIMIT``.
"""

import threading

from orth.domain.executions import cut
from orth.executor.journal import put_record
from orth.executor.results import Result

COUNT_LIMIT = 10_000
BYTE_LIMIT = 64 * 1024 * 1024
SHARE = 4096
COMMON = BYTE_LIMIT - COUNT_LIMIT * SHARE


class Room:
    """What long results have taken of the common room."""

    def __init__(self, common: int = COMMON) -> None:
        self._common = common
        self._lock = threading.Lock()
        self._taken = 0

    @property
    def is_scarce(self) -> bool:
        """Whether what is left should be kept for the results of what is here."""
        return 2 * self._taken >= self._common

    def find(self, result: Result) -> tuple[Result, bytes]:
        """The result as it can be kept, and its record, which takes room until it is given back."""
        record = put_record(result)
        return (result, record) if self._take(record) else _within_share(result)

    def take(self, record: bytes) -> None:
        """Room for one that was here before this process, and stays as it is."""
        with self._lock:
            self._taken += _excess(record)

    def give_back(self, record: bytes) -> None:
        with self._lock:
            self._taken -= _excess(record)

    def _take(self, record: bytes) -> bool:
        excess = _excess(record)
        with self._lock:
            if excess and self._taken + excess > self._common:
                return False
            self._taken += excess
            return True


def _excess(record: bytes) -> int:
    return max(0, len(record) - SHARE)


def _within_share(result: Result) -> tuple[Result, bytes]:
    length = SHARE
    while True:
        length //= 2
        shortened = result.model_copy(update={"handle_msg": cut(result.handle_msg, length)})
        record = put_record(shortened)
        if not length or not _excess(record):
            return shortened, record
