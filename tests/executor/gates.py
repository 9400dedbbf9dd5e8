"""A handler that tests hold in their hands: it begins, waits, and goes on when it is told."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from tests.executor.bench import eventually

TOLD = 20.0
"""Seconds after which a handler that nobody lets go stops waiting, so that a failing test ends."""


class Gates:
    """Registers three handlers, each of which waits at its own gate until execution ``log_id`` is let through.

    ``patient`` can be ended by the exception in its thread, ``polite`` looks at the flag, ``deaf`` notices nothing.
    """

    def __init__(self, app: Handlers) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, threading.Event] = {}
        self._inside: Counter[int] = Counter()
        self.most_inside: Counter[int] = Counter()
        self.begun: list[int] = []
        self.left: list[int] = []
        app.job("patient")(self._patient)
        app.job("polite")(self._polite)
        app.job("deaf")(self._deaf)

    def let(self, *log_ids: int) -> None:
        """Let these through, now or when they come."""
        for log_id in log_ids:
            self._gate(log_id).set()

    def wait_for(self, *log_ids: int) -> None:
        """Wait until these have begun."""
        eventually(lambda: set(log_ids) <= set(self.begun))

    def _gate(self, log_id: int) -> threading.Event:
        with self._lock:
            return self._open.setdefault(log_id, threading.Event())

    def _patient(self, ctx: JobContext) -> str:
        return self._stand(ctx, lambda: False)

    def _polite(self, ctx: JobContext) -> str:
        return self._stand(ctx, lambda: ctx.cancelled)

    def _deaf(self, ctx: JobContext) -> str:
        with self._counted(ctx):
            self._gate(ctx.log_id).wait(TOLD)
        return threading.current_thread().name

    def _stand(self, ctx: JobContext, leave: Callable[[], bool]) -> str:
        gate = self._gate(ctx.log_id)
        with self._counted(ctx):
            for _ in range(int(TOLD / 0.002)):
                if gate.wait(0.002) or leave():
                    break
        return threading.current_thread().name

    @contextmanager
    def _counted(self, ctx: JobContext) -> Iterator[None]:
        with self._lock:
            self.begun.append(ctx.log_id)
            self._inside[ctx.job_id] += 1
            self.most_inside[ctx.job_id] = max(self.most_inside[ctx.job_id], self._inside[ctx.job_id])
        try:
            yield
        finally:
            with self._lock:
                self._inside[ctx.job_id] -= 1
                self.left.append(ctx.log_id)
