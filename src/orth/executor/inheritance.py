"""Threads, pool work and child processes that a handler starts are part of its execution.

A new thread begins with an empty context, and a pool's thread with that of whoever happened to start it; there is no
hook to change either. So while an executor runs, three methods of the standard library look whether they were called
inside a job. Outside a job each does exactly what it did:

* ``Thread.start`` lets the thread run in a copy of the caller's context;
* ``ThreadPoolExecutor.submit`` does so for the one piece of work, and keeps the pool's own thread out of the execution,
  because the next piece may be somebody else's;
* ``Popen`` adds the job's variables to an environment it would have inherited; one that was passed is left alone.

``inherit_threads=False`` turns the first two off for a job; ``ctx.wrap`` is the way by hand.
"""

import os
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from orth.executor.context import current, left
from orth.executor.environment import inheritable_variables

_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit
_popen = subprocess.Popen.__init__
_ENV_POSITION = 10  # of ``env`` among the positional arguments of Popen, the object itself not counted


def install() -> None:
    """Begin. ``capture`` counts who needs it."""
    threading.Thread.start = _start_inside  # type: ignore[assignment,method-assign]  # that is the purpose
    ThreadPoolExecutor.submit = _submit_inside  # type: ignore[assignment,method-assign]  # that is the purpose
    subprocess.Popen.__init__ = _popen_inside  # type: ignore[assignment,method-assign]  # that is the purpose


def remove() -> None:
    """End. What somebody else has put in the place since is left alone."""
    if threading.Thread.start is _start_inside:
        threading.Thread.start = _start  # type: ignore[method-assign]  # as it was
    if ThreadPoolExecutor.submit is _submit_inside:
        ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]  # as it was
    if subprocess.Popen.__init__ is _popen_inside:
        subprocess.Popen.__init__ = _popen  # type: ignore[method-assign]  # as it was


def _inherits() -> bool:
    context = current()
    return context is not None and context.inherit_threads


def _start_inside(thread: threading.Thread) -> None:
    if not _inherits():
        _start(thread)
        return
    carried, run = copy_context(), thread.run

    def run_inside() -> None:
        vars(thread).pop("run", None)  # a thread that held its own method would be a cycle
        carried.run(run)

    thread.run = run_inside  # type: ignore[method-assign]  # of this one thread
    try:
        _start(thread)
    except BaseException:
        vars(thread).pop("run", None)
        raise


def _submit_inside(pool: ThreadPoolExecutor, function: Any, /, *values: Any, **named: Any) -> Future[Any]:
    if not _inherits():
        return _submit(pool, function, *values, **named)
    carried = copy_context()
    with left():
        return _submit(pool, carried.run, function, *values, **named)


def _popen_inside(process: subprocess.Popen[Any], *values: Any, **named: Any) -> None:
    context = current()
    if context is not None and len(values) <= _ENV_POSITION and named.get("env") is None:
        named["env"] = {**os.environ, **inheritable_variables(context)}
    _popen(process, *values, **named)
