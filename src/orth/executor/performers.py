"""Calling a handler: a function, or an object with ``init``, ``execute`` and ``destroy``; each plain or async.

A performer belongs to one job and is kept from its first execution to its last. With the strategy CONCURRENT several
threads perform at the same time: a function or ``execute`` must then be fit for that, while ``init`` and ``destroy``
are called once (``sharing``).

Async code never runs on the loop that serves requests, heartbeats and callbacks. A function gets a fresh loop per
execution, in the thread that performs. An object that is async has one loop for its whole life, in a thread of its own,
because what ``init`` opened (a connection pool, say) is bound to it and all executions share it.

A coroutine that swallows its cancellation is left where it stands when its loop is ended by force. Python would close
it when it is collected, in whichever thread that happens, and one that swallows this too would never let that thread
go on. So it is kept for good: what was left behind takes memory, and nothing else.
"""

import asyncio
import ctypes
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from orth.executor.context import JobContext
from orth.executor.leftovers import ResidentThread
from orth.executor.loop_watch import watching_loop
from orth.executor.one_process import OneProcess
from orth.executor.sharing import Shared


class Performer(Protocol):
    """What a job's threads need of a handler. Safe to use from several threads at once."""

    @property
    def maker(self) -> threading.Thread | None:
        """The thread that has called ``init`` and is to call ``close``, if it matters which one does."""
        ...

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:
        """Call the handler and return what it returns, or raise what it raises. Blocks."""
        ...

    def end(self, context: JobContext, grace: float) -> bool:
        """Called from another thread: end what ``perform`` is doing for ``context``, within about ``grace`` seconds.

        True when it has surely ended, as a process can be made to; false when it cannot be ended from outside, or is
        not there (yet): it is asked again.
        """
        ...

    def abandon(self, context: JobContext) -> None:
        """An execution that was ended is still inside, in a thread nobody waits for any more: share nothing with it."""
        ...

    def close(self) -> None:
        """The job's threads are gone."""
        ...


class FunctionPerformer:
    """A function: nothing is kept between executions."""

    maker = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._tasks = _Tasks()

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:
        made = self._function(**arguments)
        return _run(self._tasks.followed(made, context)) if inspect.iscoroutine(made) else made

    def end(self, context: JobContext, grace: float) -> bool:  # noqa: ARG002  # cancelling takes no time
        self._tasks.cancel(context)
        return False

    def abandon(self, context: JobContext) -> None:  # noqa: ARG002  # executions share nothing
        return

    def close(self) -> None:
        return


def _run(made: Coroutine[Any, Any, Any]) -> Any:
    """As ``asyncio.run``; what does not end with its loop is never collected."""
    _keep(made)  # first of all: an exception from outside may strike on any line below
    loop: asyncio.AbstractEventLoop | None = None
    try:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            return runner.run(made)
    finally:
        if inspect.getcoroutinestate(made) == inspect.CORO_CLOSED:
            _let_go(made)
        for task in asyncio.all_tasks(loop) if loop is not None else ():
            _keep(task)


def _keep(what: object) -> None:
    """Count a reference that nobody has: not even the end of the interpreter takes it away."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))


def _let_go(what: object) -> None:
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(what))


class ObjectPerformer:
    """A class with ``execute``, perhaps ``init`` and ``destroy``: one object from the first execution to the last."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._tasks = _Tasks()
        self._life = Shared(self._begun_for, _Life.destroy)

    @property
    def begun(self) -> bool:
        return self._life.made is not None

    @property
    def maker(self) -> threading.Thread | None:
        return self._life.maker

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:
        with self._life.entered(context) as life:
            return life.call(life.handler.execute, context, **arguments)

    def begin(self, context: JobContext) -> None:
        """Have the object, after its ``init``."""
        self._life.begin(context)

    def end(self, context: JobContext, grace: float) -> bool:  # noqa: ARG002  # cancelling takes no time
        self._life.wake()
        self._tasks.cancel(context)
        return False

    def abandon(self, context: JobContext) -> None:
        self._life.abandon(context)

    def close(self) -> None:
        self._life.close()

    def _begun_for(self, context: JobContext) -> "_Life":
        life = _Life(self._kind(), self._tasks)
        life.init(context)
        return life


class _Life:
    """One object of the handler's class and, once something async was called, the event loop it lives on."""

    def __init__(self, handler: Any, tasks: "_Tasks") -> None:
        self.handler = handler
        self._tasks = tasks
        self._making = threading.Lock()
        self._loop: _OwnLoop | None = None

    def init(self, context: JobContext) -> None:
        init = getattr(self.handler, "init", None)
        if init is None:
            return
        try:
            self.call(init, context, *([context] if inspect.signature(init).parameters else []))
        except BaseException:
            self._close()
            raise

    def destroy(self) -> None:
        try:
            destroy = getattr(self.handler, "destroy", None)
            if destroy is not None:
                self.call(destroy, None)
        finally:
            self._close()

    def call(self, method: Callable[..., Any], context: JobContext | None, *values: Any, **arguments: Any) -> Any:
        made = method(*values, **arguments)
        if not inspect.iscoroutine(made):
            return made
        with self._making:
            loop = self._loop = self._loop or _OwnLoop(threading.current_thread().name)
        return loop.run(self._tasks.followed(made, context) if context else _coming_back_once(made))

    def _close(self) -> None:
        if self._loop is not None:
            self._loop.close()


class _OwnLoop:
    """An event loop in a thread of its own."""

    def __init__(self, owner: str) -> None:
        self._there = threading.Event()
        self._thread = ResidentThread(target=self._run, name=f"{owner}-loop", daemon=True)
        self._thread.start()
        self._there.wait()

    def run(self, made: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine there, in the context of the caller, and wait for it."""
        returned, exited = asyncio.run_coroutine_threadsafe(_not_exiting(made), self._loop).result()
        if exited is not None:
            raise exited
        return returned

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._stay())

    async def _stay(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._there.set()
        await self._closing.wait()


class _Tasks:
    """The coroutines that are being performed, so that they can be cancelled from another thread."""

    def __init__(self) -> None:
        self._tasks: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = {}

    async def followed(self, made: Coroutine[Any, Any, Any], context: JobContext) -> Any:
        task = asyncio.current_task()
        if task is not None:
            self._tasks[context.log_id] = (asyncio.get_running_loop(), task)
        try:
            with watching_loop(context):
                return await _coming_back_once(made)
        finally:
            self._tasks.pop(context.log_id, None)

    def cancel(self, context: JobContext) -> None:
        """Cancel what is performed for ``context``, once: what it still awaits to clean up is left to it."""
        running = self._tasks.pop(context.log_id, None)
        if running is not None:
            loop, task = running
            with suppress(RuntimeError):  # the loop is closed: it has just ended
                loop.call_soon_threadsafe(task.cancel)


async def _not_exiting(made: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """What it returns, or how it exits: raised in a task, that would end the loop, which others need."""
    try:
        return await made, None
    except (SystemExit, KeyboardInterrupt) as exited:
        return None, exited


async def _coming_back_once(made: Coroutine[Any, Any, Any]) -> Any:
    # A child that left through the loop would take the parent's descriptors out of the selector they share.
    with OneProcess():
        return await made
