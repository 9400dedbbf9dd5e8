"""Testing jobs: run a handler as an executor would, and look at what came of it.

``run_job(collect, market="paris")`` goes the executor's own way, from the parameters as text to the reported result,
with logging, time limit and hooks; there is no network, and no file is left. A handler is what was decorated, or any
function or class that could be.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from orth.clock import Clock, SystemClock
from orth.errors import Invalid
from orth.executor.handlers import Handler, handler_of
from orth.executor.local_run import LocalTrigger, RunReport, run_locally
from orth.executor.proposals import whole_seconds
from orth.executor.upcoming import UpcomingFire, instant_of, upcoming_fires

Moment = str | datetime | int
"""ISO 8601, a datetime, or epoch milliseconds; without an offset, on the wall clock of the handler's zone."""

__all__ = ["Moment", "RunReport", "UpcomingFire", "next_fires", "run_job", "run_shards"]


_UNSAID: Any = ...


def run_job(
    handler: Callable[..., Any] | Handler,
    /,
    *,
    params: Mapping[str, Any] = _UNSAID,
    param: str | None = _UNSAID,
    schedule_time: Moment | None = _UNSAID,
    shard: tuple[int, int] = _UNSAID,
    timeout: timedelta | int | str | None = _UNSAID,
    attempt: int = _UNSAID,
    secrets: Mapping[str, str] | None = _UNSAID,
    clock: Clock | None = _UNSAID,
    **arguments: Any,
) -> RunReport:
    """Carry out ``handler`` once. ``arguments`` are its own, by name; ``params`` is a mapping of them, for a handler
    that has an argument called like one of those here; ``param`` is the parameter as text instead. ``secrets`` is what
    it finds in ``ctx.secrets``.

    ``timeout`` is the handler's own unless given; 0 is none. All attempts at one ``schedule_time`` and shard have one
    ``ctx.run_key``; the first ``attempt`` is 1, and the only shard (0, 1).
    """
    known = handler if isinstance(handler, Handler) else handler_of(handler)
    told: dict[str, Any] = {
        "params": params,
        "param": param,
        "schedule_time": schedule_time,
        "shard": shard,
        "timeout": timeout,
        "attempt": attempt,
        "secrets": secrets,
        "clock": clock,
    }
    said = {name: value for name, value in told.items() if value is not _UNSAID}
    text = _text(known, said, arguments)
    due, limit = said.get("schedule_time"), said.get("timeout")
    trigger = LocalTrigger(
        text=text,
        schedule_time=None if due is None else instant_of(due, known),
        shard=said.get("shard", (0, 1)),
        timeout=known.proposal.timeout if limit is None else whole_seconds(limit),
        attempt=said.get("attempt", 1),
        secrets=said.get("secrets") or {},
    )
    return run_locally(known, trigger, clock=said.get("clock"))


def run_shards(handler: Callable[..., Any] | Handler, /, total: int, **named: Any) -> list[RunReport]:
    """Carry out every shard of a broadcast, one after the other; ``named`` is what ``run_job`` takes."""
    known = handler if isinstance(handler, Handler) else handler_of(handler)
    if "params" not in named:
        _refuse_two_meanings(known, ["total"])
    _refuse_none(total, "shards")
    return [run_job(known, shard=(index, total), **named) for index in range(total)]


def _text(handler: Handler, said: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """The parameter; ``Invalid`` when it cannot be told which was meant."""
    ways = [way for way in ("params", "param") if said.get(way) is not None]
    if len(ways) + bool(arguments) > 1:
        raise Invalid("The parameters are given twice.", hint="Give them by name, or as params, or as text in param.")
    if "params" not in said:
        _refuse_two_meanings(handler, said)
    if "param" in ways:
        return str(said["param"])
    return handler.parameters.text_of(said["params"] if "params" in ways else arguments)


def _refuse_none(count: int, what: str) -> None:
    """A test that looks at none of them would show nothing, and pass."""
    if count < 1:
        raise Invalid(f"There are at least 1 {what} to look at, not {count}.")


def _refuse_two_meanings(handler: Handler, names: Iterable[str]) -> None:
    for name in names:
        if handler.parameters.takes(name):
            raise Invalid(
                f"{name} may be meant for handler {handler.name} or for its run.",
                hint=f"Give all arguments of the handler as params={{{name!r}: …}}; {name}=… is then the run's.",
            )


def next_fires(handler: Callable[..., Any] | Handler, n: int = 5, *, after: Moment | None = None) -> list[UpcomingFire]:
    """The next ``n`` fires of the schedule the handler proposes, strictly after a moment (now, unless given)."""
    known = handler if isinstance(handler, Handler) else handler_of(handler)
    _refuse_none(n, "fires")
    return upcoming_fires(known, n, SystemClock().now() if after is None else instant_of(after, known))
