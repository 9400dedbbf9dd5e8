"""Handlers by name: what ``@app.job`` registers and admission looks up.

A handler is known to coordinators by its name alone. Schedule, zone, time limit and block strategy given here are
proposals for the job's first definition; what the console says later is never overruled.
"""

import inspect
import os
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, get_args, overload

from pydantic import ValidationError

from orth.domain.app_names import trouble_with
from orth.domain.jobs import BlockStrategy, Overlap
from orth.errors import Invalid, quotable
from orth.executor.announcing import storable
from orth.executor.parameters import Parameters, parameters_of
from orth.executor.performers import FunctionPerformer, ObjectPerformer, Performer
from orth.executor.proposals import (
    Proposal,
    Retry,
    ScheduleMistake,
    block_strategy,
    checked_concurrency,
    checked_level,
    checked_overlap,
    checked_retry,
    checked_schedule,
    checked_zone,
    is_schedule,
    job_troubles,
    schedule_trouble,
    whole_seconds,
)
from orth.wire.fields import DESCRIPTION_LIMIT, normal_app_name
from orth.wire.messages import HandlerInfo

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
Kind = TypeVar("Kind")
Hook = TypeVar("Hook", bound=Callable[..., Any])
_MARK = "__orth_handler__"
_SHOWN = 70
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
Isolation = Literal["thread", "process"]


@dataclass(slots=True)
class Hooks:
    """What runs before the first and after the last execution of a function's job thread."""

    init: Callable[..., Any] | None = None
    destroy: Callable[..., Any] | None = None

    def set_init(self, hook: Hook) -> Hook:
        self.init = hook
        return hook

    def set_destroy(self, hook: Hook) -> Hook:
        self.destroy = hook
        return hook


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Handler:
    """One registered function or class, or one version of a source that came with a trigger."""

    name: str
    target: Callable[..., Any]
    parameters: Parameters
    proposal: Proposal
    info: HandlerInfo
    """The handler as the registration announces it."""
    hooks: Hooks = field(default_factory=Hooks)
    inherit_threads: bool = True
    log_level: int | None = None
    """From which level on the logs of its executions have what is logged; ``None``: as the program says."""
    home: "Handlers | None" = field(default=None, repr=False)
    """Where it was registered."""

    @property
    def give_up_on(self) -> tuple[type[BaseException], ...]:
        """Failures that are not worth another attempt."""
        return self.proposal.retry.give_up_on if self.proposal.retry is not None else ()

    isolated: bool = False
    """Whether it runs in a process of its own, which can be ended."""
    made_by: Callable[[], Performer] | None = None
    """Makes the performer, where the target is not what is called: scripts, and whatever runs in a process."""
    version: Hashable = None
    """Which version of a job's source it is made of; none where it was registered here."""

    def performer(self) -> Performer:
        """What the threads of a job call; one per job."""
        if self.made_by is not None:
            return self.made_by()
        if isinstance(self.target, type):
            return ObjectPerformer(self.target)
        if self.hooks.init is None and self.hooks.destroy is None:
            return FunctionPerformer(self.target)
        return ObjectPerformer(_object_around(self.target, self.hooks))


def _object_around(function: Callable[..., Any], hooks: Hooks) -> type[Any]:
    """A class whose ``execute`` is the function: with hooks a function has the life of an object."""
    methods = {"execute": function, "init": hooks.init, "destroy": hooks.destroy}
    return type(function.__name__, (), {name: staticmethod(it) for name, it in methods.items() if it is not None})


class JobFunction(Protocol[P, R]):
    """A decorated function: itself, with a place for its hooks."""

    __name__: str

    def __call__(self, *values: P.args, **named: P.kwargs) -> R: ...

    def init(self, hook: Hook) -> Hook:
        """Decorate what is called once, before the first execution; it may take the context."""
        ...

    def destroy(self, hook: Hook) -> Hook:
        """Decorate what is called once, after the last execution."""
        ...


class Register(Protocol):
    """What ``@app.job(…)`` returns."""

    @overload
    def __call__(self, target: type[Kind], /) -> type[Kind]: ...  # type: ignore[overload-overlap]  # a class stays one

    @overload
    def __call__(self, target: Callable[P, R], /) -> JobFunction[P, R]: ...


class Handlers:
    """The handlers of one executor, by name."""

    def __init__(
        self, app_name: str | None = None, *, capture_stdout: bool = True, inherit_threads: bool = True
    ) -> None:
        self.app_name = checked_app_name(app_name)
        self.capture_stdout = capture_stdout
        """Whether what handlers print goes to the log of their execution."""
        self.inherit_threads = inherit_threads
        """Whether threads that handlers start are part of their execution, unless a job says otherwise."""
        self.schedule_mistakes: list[ScheduleMistake] = []
        """Proposals without which the handlers are registered."""
        self._by_name: dict[str, Handler] = {}
        self._places: dict[str, str] = {}

    @overload
    def job(self, name: type[Kind], /) -> type[Kind]: ...  # type: ignore[overload-overlap]  # a class stays one

    @overload
    def job(self, name: Callable[P, R], /) -> JobFunction[P, R]: ...

    @overload
    def job(
        self,
        name: str | None = None,
        *,
        schedule: str | None = None,
        timezone: str | None = None,
        timeout: timedelta | int | str | None = None,
        block: BlockStrategy | str = BlockStrategy.SERIAL_EXECUTION,
        concurrency: int = 1,
        overlap: Overlap | str = Overlap.CLUSTER,
        retry: Retry | None = None,
        inherit_threads: bool | None = None,
        isolation: Isolation = "thread",
        log_level: int | str | None = None,
    ) -> Register: ...

    def job(
        self,
        name: Any = None,
        *,
        schedule: str | None = None,
        timezone: str | None = None,
        timeout: timedelta | int | str | None = None,
        block: BlockStrategy | str = BlockStrategy.SERIAL_EXECUTION,
        concurrency: int = 1,
        overlap: Overlap | str = Overlap.CLUSTER,
        retry: Retry | None = None,
        inherit_threads: bool | None = None,
        isolation: Isolation = "thread",
        log_level: int | str | None = None,
    ) -> Any:
        """Register the function or class below as a handler; it stays what it was and can be called as before.

        ``log_level`` is from where on its executions' logs have what is logged, whatever the root logger lets through.
        """
        if callable(name):
            return self.job()(name)
        if isolation not in get_args(Isolation):
            raise Invalid(f"There is no isolation {isolation!r}.", hint="Write thread or process.")
        strategy = block_strategy(block)
        proposal = Proposal(
            checked_schedule(schedule),
            checked_zone(timezone),
            whole_seconds(timeout),
            strategy,
            checked_concurrency(concurrency, strategy),
            checked_overlap(overlap),
            checked_retry(retry),
        )
        inherits = self.inherit_threads if inherit_threads is None else inherit_threads
        level = None if log_level is None else checked_level(log_level)

        def register(target: Any) -> Any:
            called = name or getattr(target, "__name__", "")
            handler = _handler(called, target, self._usable(called, proposal), inherits)
            handler = replace(handler, isolated=isolation == "process", home=self, log_level=level)
            self.add(handler)
            _mark(target, handler)
            return target

        return register

    def _usable(self, name: str, proposal: Proposal) -> Proposal:
        """``proposal``, without a schedule that no job can have, which is noted; so is one that stands in the place of
        the name.
        """
        if proposal.schedule is None and is_schedule(name):
            hint = f'Write @app.job(schedule="{name.strip()}").'
            said = ScheduleMistake(author_line(), name, name, None, "It is the name of the handler.", hint)
            self.schedule_mistakes.append(said)
        trouble = schedule_trouble(proposal.schedule, proposal.timezone)
        if trouble is None:
            return proposal
        self.schedule_mistakes.append(
            ScheduleMistake(
                author_line(), name, proposal.schedule or "", proposal.timezone, trouble.message, trouble.hint
            )
        )
        return replace(proposal, schedule=None, timezone=None)

    def get(self, name: str) -> Handler | None:
        return self._by_name.get(name)

    def find(self, name: str) -> Handler | None:
        """The handler of that name, or whose function or class has it: what people call it at a terminal."""
        by_target = (known for known in self._by_name.values() if getattr(known.target, "__name__", None) == name)
        return self._by_name.get(name) or next(by_target, None)

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def isolated(self) -> list[str]:
        """The names of those that run in processes of their own."""
        return sorted(handler.name for handler in self._by_name.values() if handler.isolated)

    def infos(self) -> tuple[HandlerInfo, ...]:
        return tuple(handler.info for handler in self._by_name.values())

    def mistakes(self, now: int) -> list[str]:
        """What is wrong with the schedules and limits that authors propose, with file and line."""
        found = [str(mistake) for mistake in self.schedule_mistakes]
        for name, handler in self._by_name.items():
            for trouble in job_troubles(handler.info, now):
                found.append(f"{self._places[name]}: no job can be created for handler {name}: {trouble}")
        return found

    def add(self, handler: Handler) -> None:
        """``Invalid`` when the name is taken."""
        if handler.name in self._by_name:
            first = self._places[handler.name]
            raise Invalid(
                f"There are two handlers called {handler.name}: the first is at {first}.",
                hint='Name one of them: @app.job("name").',
            )
        self._by_name[handler.name] = handler
        self._places[handler.name] = author_line()


def checked_app_name(name: str | None) -> str | None:
    """``name`` as it is registered. ``Invalid`` for a name that no group can have: its executors would get no work."""
    hint = 'Write a name such as Executor("my-app").'
    if name is not None and not isinstance(name, str):
        raise Invalid(f"An app name is a text, not {name!r}.", hint=hint)
    normal = normal_app_name(name or "")
    if normal and (trouble := trouble_with(normal)):
        raise Invalid(f"No group can have the app name '{quotable(name, _SHOWN)}'. {trouble.message}", hint=hint)
    return normal or None


def author_line() -> str:
    """File and line of the code outside this package that is running."""
    frame = sys._getframe()  # the caller's line, without building a whole traceback
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def handler_of(target: Callable[..., Any]) -> Handler:
    """The handler that ``target`` was registered as; of one that was not, what it would be under its own name."""
    handler = getattr(target, _MARK, None)
    if isinstance(handler, Handler) and handler.target is target:
        return handler
    return named_handler(getattr(target, "__name__", ""), target)


def named_handler(name: str, target: Callable[..., Any]) -> Handler:
    """A handler that no author has registered: one that is built in, or came with a trigger."""
    return _handler(name, target, Proposal(), True)


def _mark(target: Any, handler: Handler) -> None:
    with suppress(AttributeError):  # a bound method has no place for it
        setattr(target, _MARK, handler)
        if not isinstance(target, type):
            target.init, target.destroy = handler.hooks.set_init, handler.hooks.set_destroy


def _handler(name: str, target: Callable[..., Any], proposal: Proposal, inherit_threads: bool) -> Handler:
    parameters = parameters_of(_callable_of(target, name), name)
    try:
        info = HandlerInfo(
            name=name.strip(),
            description=_first_line(target)[:DESCRIPTION_LIMIT],
            schedule=proposal.schedule,
            timezone=proposal.timezone,
            params_schema=storable(parameters.schema),
            timeout=proposal.timeout or None,
            block=proposal.block,
            concurrency=proposal.concurrency,
            overlap=proposal.overlap,
            retry=proposal.retry.info() if proposal.retry else None,
        )
    except ValidationError as error:
        complaints = "; ".join(f"{detail['loc'][0]}: {detail['msg']}" for detail in error.errors(include_url=False))
        raise Invalid(f"The handler {name!r} cannot be registered: {complaints}.") from None
    return Handler(info.name, target, parameters, proposal, info, inherit_threads=inherit_threads)


def _callable_of(target: Callable[..., Any], name: str) -> Callable[..., Any]:
    """What will be called with the parameters: the function itself, or ``execute`` of the class."""
    called: Any = target
    if isinstance(target, type):
        called = getattr(target, "execute", None)
        if called is None:
            raise Invalid(f"The class of handler {name} has no execute method.")
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise Invalid(f"Handler {name} is a generator: calling it would run nothing.", hint="Remove its yield.")
    if not isinstance(target, type) and _is_method(called):
        raise Invalid(
            f"Handler {name} is a method of a class, and no trigger can give it self.",
            hint="Move it out of the class, or decorate the class and call the method execute.",
        )
    # Bound to a stand-in, a method has the signature that callers see: without self.
    return called.__get__(object()) if isinstance(target, type) else called  # type: ignore[no-any-return]  # a bound method


def _is_method(function: Callable[..., Any]) -> bool:
    """Whether a function is in the body of a class and bound to no object."""
    scope = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not inspect.isfunction(function) or not scope or scope.endswith("<locals>"):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and first.name == "self" and first.annotation is first.default is inspect.Parameter.empty


def _first_line(target: Callable[..., Any]) -> str:
    return (inspect.getdoc(target) or "").strip().partition("\n")[0]
