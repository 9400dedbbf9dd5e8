"""Testing jobs: run a handler as an executor would, and look at what came of it.

``run_job(collect, market="paris")`` goes the executor's own way, from the parameters as text to the reported result,
with logging, time limit and hooks; there is no network, and no file is left. A handler is what was decorated, or any
function or class that could be.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from orth.clock import Clock, SystemClock
from orth.executor.handlers import Handler, handler_of
from orth.executor.local_run import LocalTrigger, RunReport, run_locally
from orth.executor.proposals import whole_seconds
from orth.executor.upcoming import UpcomingFire, instant_of, upcoming_fires

Moment = str | datetime | int
"""ISO 8601, a datetime, or epoch milliseconds; without an offset, on the wall clock of the handler's zone."""

__all__ = ["Moment", "RunReport", "UpcomingFire", "next_fires", "run_job", "run_shards"]


def run_job(
    handler: Callable[..., Any] | Handler,
    /,
    *,
    schedule_time: Moment | None = None,
    shard: tuple[int, int] = (0, 1),
    timeout: timedelta | int | None = None,
    param: str | None = None,
    secrets: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    **params: Any,
) -> RunReport:
    """Carry out ``handler`` once. ``params`` are its arguments; ``param`` is the parameter as text instead; ``secrets``
    is what it finds in ``ctx.secrets``.

    ``timeout`` is the handler's own unless given; 0 is none.
    """
    known = handler if isinstance(handler, Handler) else handler_of(handler)
    trigger = LocalTrigger(
        text=known.parameters.text_of(params) if param is None else param,
        schedule_time=None if schedule_time is None else instant_of(schedule_time, known),
        shard=shard,
        timeout=known.proposal.timeout if timeout is None else whole_seconds(timeout),
        secrets=secrets or {},
    )
    return run_locally(known, trigger, clock=clock)


def run_shards(handler: Callable[..., Any] | Handler, /, total: int, **named: Any) -> list[RunReport]:
    """Carry out every shard of a broadcast, one after the other; ``named`` is what ``run_job`` takes."""
    return [run_job(handler, shard=(index, total), **named) for index in range(total)]


def next_fires(handler: Callable[..., Any] | Handler, n: int = 5, *, after: Moment | None = None) -> list[UpcomingFire]:
    """The next ``n`` fires of the schedule the handler proposes, strictly after a moment (now, unless given)."""
    known = handler if isinstance(handler, Handler) else handler_of(handler)
    return upcoming_fires(known, n, SystemClock().now() if after is None else instant_of(after, known))
