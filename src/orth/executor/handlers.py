"""Handlers by name: what ``@app.job`` registers and admission looks up.

A handler is known to coordinators by its name alone. Schedule, zone, time limit and block strategy given here are
proposals for the job's first definition; what the console says later is never overruled.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError

from orth.domain.jobs import ALIASES, BlockStrategy
from orth.errors import Invalid
from orth.executor.parameters import Parameters, parameters_of
from orth.executor.performers import FunctionPerformer, ObjectPerformer, Performer
from orth.wire.messages import DESCRIPTION_LIMIT, HandlerInfo

Target = TypeVar("Target", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a job that uses the handler should be set up, as its author sees it."""

    schedule: str | None = None
    timezone: str | None = None
    timeout: int = 0
    """Seconds; 0 means no limit."""
    block: BlockStrategy = BlockStrategy.SERIAL_EXECUTION


@dataclass(frozen=True, slots=True)
class Handler:
    """One registered function or class."""

    name: str
    target: Callable[..., Any]
    parameters: Parameters
    proposal: Proposal
    info: HandlerInfo
    """The handler as the registration announces it."""

    def performer(self) -> Performer:
        """What a job thread calls; one per thread."""
        return ObjectPerformer(self.target) if isinstance(self.target, type) else FunctionPerformer(self.target)


class Handlers:
    """The handlers of one executor, by name."""

    def __init__(self, app_name: str | None = None) -> None:
        self.app_name = app_name
        self._by_name: dict[str, Handler] = {}

    @overload
    def job(self, name: Target, /) -> Target: ...

    @overload
    def job(
        self,
        name: str | None = None,
        *,
        schedule: str | None = None,
        timezone: str | None = None,
        timeout: timedelta | int | None = None,
        block: BlockStrategy | str = BlockStrategy.SERIAL_EXECUTION,
    ) -> Callable[[Target], Target]: ...

    def job(
        self,
        name: Target | str | None = None,
        *,
        schedule: str | None = None,
        timezone: str | None = None,
        timeout: timedelta | int | None = None,
        block: BlockStrategy | str = BlockStrategy.SERIAL_EXECUTION,
    ) -> Target | Callable[[Target], Target]:
        """Register the function or class below as a handler; it stays what it was and can be called as before."""
        if callable(name):
            return self.job()(name)
        given: str = name or ""
        proposal = Proposal(schedule, _zone(timezone), _seconds(timeout), _block(block))

        def register(target: Target) -> Target:
            self._add(_handler(given or getattr(target, "__name__", ""), target, proposal))
            return target

        return register

    def get(self, name: str) -> Handler | None:
        return self._by_name.get(name)

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def infos(self) -> tuple[HandlerInfo, ...]:
        return tuple(handler.info for handler in self._by_name.values())

    def _add(self, handler: Handler) -> None:
        if handler.name in self._by_name:
            raise Invalid(f"There are two handlers called {handler.name}.", hint='Name one of them: @app.job("name").')
        self._by_name[handler.name] = handler


def _handler(name: str, target: Callable[..., Any], proposal: Proposal) -> Handler:
    parameters = parameters_of(_callable_of(target, name), name)
    try:
        info = HandlerInfo(
            name=name.strip(),
            description=_first_line(target)[:DESCRIPTION_LIMIT],
            schedule=proposal.schedule,
            timezone=proposal.timezone,
            params_schema=parameters.schema,
        )
    except ValidationError as error:
        complaints = "; ".join(f"{detail['loc'][0]}: {detail['msg']}" for detail in error.errors(include_url=False))
        raise Invalid(f"The handler {name!r} cannot be registered: {complaints}.") from None
    return Handler(info.name, target, parameters, proposal, info)


def _callable_of(target: Callable[..., Any], name: str) -> Callable[..., Any]:
    """What will be called with the parameters: the function itself, or ``execute`` of the class."""
    called: Any = target
    if isinstance(target, type):
        called = getattr(target, "execute", None)
        if called is None:
            raise Invalid(f"The class of handler {name} has no execute method.")
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise Invalid(f"Handler {name} is a generator: calling it would run nothing.", hint="Remove its yield.")
    # Bound to a stand-in, a method has the signature that callers see: without self.
    return called.__get__(object()) if isinstance(target, type) else called  # type: ignore[no-any-return]  # a bound method


def _first_line(target: Callable[..., Any]) -> str:
    return (inspect.getdoc(target) or "").strip().partition("\n")[0]


def _zone(name: str | None) -> str | None:
    if name is not None:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise Invalid(f"There is no time zone {name!r}.", hint="Write one such as Europe/Paris.") from None
    return name


def _seconds(limit: timedelta | int | None) -> int:
    seconds = math.ceil(limit.total_seconds()) if isinstance(limit, timedelta) else limit or 0
    if seconds < 0:
        raise Invalid(f"A time limit cannot be negative: {limit}.")
    return seconds


def _block(text: str) -> BlockStrategy:
    spelt = text.strip().upper()
    strategy = ALIASES.get(spelt, spelt)
    try:
        return BlockStrategy(strategy)
    except ValueError:
        raise Invalid(
            f"There is no block strategy {text!r}.", hint="Write serial, discard, cover or concurrent."
        ) from None
