"""Putting results on the disk, in a thread of its own.

Forcing bytes to a disk takes a millisecond or more, whether they are one result or a hundred. One thread therefore
writes for all job threads: whatever has come while it was busy goes together next time, and no job waits for the disk
before it takes its next trigger. A process killed in between has lost a result that nobody was told of, as it would
have a moment earlier, when the handler was still running.
"""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from orth.executor.journal import Journal


class Recordable(Protocol):
    """Whatever has bytes to be kept."""

    @property
    def record(self) -> bytes: ...


R = TypeVar("R", bound=Recordable)


class Recorder(Generic[R]):
    """Writes what it is given, in order, and says so to ``recorded``, with the failure if there was one."""

    def __init__(self, journal: Journal, recorded: Callable[[list[R], OSError | None], None]) -> None:
        self._journal = journal
        self._recorded = recorded
        self._changed = threading.Condition()
        self._given: list[R] = []
        self._given_count = 0
        self._done_count = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def give(self, item: R) -> None:
        with self._changed:
            if self._closed:
                return
            self._given.append(item)
            self._given_count += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="orth-recorder", daemon=True)
                self._thread.start()
            elif len(self._given) == 1:
                self._changed.notify_all()

    def join(self) -> None:
        """Wait until everything given so far has been dealt with."""
        with self._changed:
            so_far = self._given_count
            self._changed.wait_for(lambda: self._done_count >= so_far)

    def close(self) -> None:
        """Write what was given; take nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while batch := self._next_batch():
            failure = None
            try:
                self._journal.append(b"".join(item.record for item in batch), force=True)
            except OSError as error:
                failure = error
            self._recorded(batch, failure)
            with self._changed:
                self._done_count += len(batch)
                self._changed.notify_all()

    def _next_batch(self) -> list[R]:
        """What has been given; empty only when there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._given or self._closed)
            batch, self._given = self._given, []
            return batch
