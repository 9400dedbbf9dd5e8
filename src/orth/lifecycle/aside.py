"""Blocking calls beside the event loop, which nobody has to wait for at the end.

A thread of the pool would hold up the end of the process until its call is over, and a registry that hangs may take ten
seconds to be given up. So each call has a daemon thread of its own; there is one now and then.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from orth.errors import Unavailable

T = TypeVar("T")


class Abandoned(Exception):
    """Nobody waits for the answer any more; caught where ``abandon`` is called for."""


class Aside:
    """Calls on their way."""

    def __init__(self) -> None:
        self._pending: set[asyncio.Future[Any]] = set()

    async def call(self, work: Callable[[], T]) -> T:
        """What ``work`` returns or raises, done in another thread; ``Unavailable`` when there is none for it."""
        home = asyncio.get_running_loop()
        answer: asyncio.Future[T] = home.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]  # it is T when there is no error

        def run() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:  # passed on to whoever waits
                error = raised
            with suppress(RuntimeError):  # the event loop has ended meanwhile
                home.call_soon_threadsafe(settle, result, error)

        self._pending.add(answer)
        try:
            _start(run)
            return await answer
        finally:
            self._pending.discard(answer)

    def abandon(self) -> None:
        """Let everybody who waits go on, with ``Abandoned``."""
        for answer in list(self._pending):
            if not answer.done():
                answer.set_exception(Abandoned())


def _start(run: Callable[[], None]) -> None:
    try:
        threading.Thread(target=run, name="orth-registry-call", daemon=True).start()
    except RuntimeError as error:
        raise Unavailable(f"No thread can be started to call the registry: {error}.") from None
