"""Calling a handler: a function, or an object with ``init``, ``execute`` and ``destroy``; each plain or async.

A performer belongs to one job thread. Async code runs on an event loop of its own in the thread that performs, never on
the one that serves requests, heartbeats and callbacks. A function gets a fresh loop per execution; an object keeps one
loop for its whole life, because what ``init`` opened (a connection pool, say) is bound to it.
"""

import asyncio
import inspect
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol

from orth.executor.context import JobContext


class Performer(Protocol):
    """What a job thread needs of a handler."""

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:
        """Call the handler and return what it returns."""
        ...

    def abandon(self) -> None:
        """An execution is still inside, in a thread nobody waits for any more: share nothing with it from now on."""
        ...

    def close(self) -> None:
        """The job thread ends."""
        ...


class FunctionPerformer:
    """A function: nothing is kept between executions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  # the protocol's form
        made = self._function(**arguments)
        return asyncio.run(made) if inspect.iscoroutine(made) else made

    def abandon(self) -> None:
        return

    def close(self) -> None:
        return


class ObjectPerformer:
    """A class with ``execute``, perhaps ``init`` and ``destroy``: one object from the first execution to the last."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._life: _Life | None = None

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:
        life = self._life
        if life is None:
            life = _Life(self._kind(), asyncio.Runner())
            life.init(context)  # failing, it fails this execution; the next one begins a new life
            self._life = life
        return life.call(life.handler.execute, **arguments)

    def abandon(self) -> None:
        self._life = None

    def close(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.destroy()


class _Life:
    """One object of the handler's class and the event loop it lives on."""

    def __init__(self, handler: Any, runner: asyncio.Runner) -> None:
        self.handler = handler
        self._runner = runner

    def init(self, context: JobContext) -> None:
        init = getattr(self.handler, "init", None)
        if init is None:
            return
        try:
            self.call(init, *([context] if inspect.signature(init).parameters else []))
        except BaseException:
            self._runner.close()
            raise

    def destroy(self) -> None:
        try:
            destroy = getattr(self.handler, "destroy", None)
            if destroy is not None:
                self.call(destroy)
        finally:
            self._runner.close()

    def call(self, method: Callable[..., Any], *values: Any, **arguments: Any) -> Any:
        made = method(*values, **arguments)
        # A runner would go on using the context of its first run, that is, the log of the first execution.
        return self._runner.run(made, context=copy_context()) if inspect.iscoroutine(made) else made
