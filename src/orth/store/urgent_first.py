"""One thread for all who write, and a way past those who wait for it."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class UrgentFirst:
    """A thread that does one thing after the other. What is urgent goes before everything that waits; nothing is
    interrupted.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._urgent: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._others: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        return self._line_up(self._others, work)

    def submit_urgent(self, work: Callable[[], T]) -> Future[T]:
        return self._line_up(self._urgent, work)

    def shutdown(self) -> None:
        """Do what waits, then end."""
        self._thread.shutdown()

    def _line_up(self, line: deque[tuple[Future[Any], Callable[[], Any]]], work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        line.append((future, work))
        self._thread.submit(self._next)  # one call for each piece of work, whichever it will find first
        return future

    def _next(self) -> None:
        future, work = (self._urgent or self._others).popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
