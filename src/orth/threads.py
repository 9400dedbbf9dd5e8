"""Threads, where the system may give no more of them.

Limits of users and containers, and memory, bound how many threads a process has. Being refused one is a failure like a
full disk: expected to be possible, told, and survived. Who starts a thread for a piece of work asks ``is_shortage`` of
what was raised; what must go on in any case uses ``StandingThreads``.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from orth.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")


def is_shortage(error: BaseException) -> bool:
    """Whether it says that the system gives no more threads. Python has no class of its own for that."""
    return isinstance(error, RuntimeError) and "start new thread" in str(error)


class StandingThreads(ThreadPoolExecutor):
    """A pool that has its first thread from the beginning: when there are no more to be had, work waits for those that
    are there, instead of failing, or of failing and being done all the same.
    """

    def __init__(self, most: int, name: str) -> None:
        """``Unavailable`` when not even the first can be started."""
        super().__init__(most, thread_name_prefix=name)
        try:
            super().submit(lambda: None)
        except RuntimeError as error:
            raise Unavailable(f"No thread can be started: {error}.") from None

    def submit(self, work: Callable[P, T], /, *values: P.args, **named: P.kwargs) -> Future[T]:
        done: Future[T] = Future()

        def carry_out() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                result = work(*values, **named)
            except BaseException as raised:  # passed on to whoever waits
                done.set_exception(raised)
            else:
                done.set_result(result)

        try:
            super().submit(carry_out)
        except RuntimeError as error:
            if not is_shortage(error):  # closed
                raise
            # It is in the queue all the same: the pool looks for another thread after that.
        return done
