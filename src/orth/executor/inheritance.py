"""Threads, pool work and child processes that a handler starts are part of its execution.

A new thread begins with an empty context, a pool's thread with that of whoever happened to start it, and ``os.environ``
is one for all threads; there is no hook to change any of this. So while an executor runs, some functions of the
standard library look whether they were called inside a job. Outside a job each does exactly what it did:

* ``Thread.start`` lets the thread run in a copy of the caller's context;
* ``ThreadPoolExecutor.submit`` does so for the one piece of work, and keeps the pool's own thread out of the execution,
  because the next piece may be somebody else's. Of both, what is forked inside does not come out (``one_process``);
* ``Popen``, ``os.posix_spawn`` and ``os.posix_spawnp`` add the job's variables to an environment that is inherited: not
  given, ``os.environ`` itself, or one made by adding to it. Any other that was passed is left alone;
* ``os.system`` goes by way of ``Popen``, because the C function knows only the environment that all threads share;
* ``multiprocessing.Process`` carries the variables to a child that is made by ``spawn`` or by a fork server.

A forked child has an environment for itself, and gets the variables as it begins. That serves ``os.spawnv`` and its
like, ``fork`` followed by ``exec``, and processes that ``multiprocessing`` forks.

``inherit_threads=False`` turns the contexts of the first two off for a job; ``ctx.wrap`` is the way by hand.
"""

import os
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from multiprocessing.process import BaseProcess
from typing import Any

from orth.executor.context import JobContext, current, left
from orth.executor.environment import Carried, inheritable_variables
from orth.executor.one_process import OneProcess

_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit
_popen = subprocess.Popen.__init__
_posix_spawn, _posix_spawnp, _system = os.posix_spawn, os.posix_spawnp, os.system
_start_process = BaseProcess.start
_ENV_POSITION = 10  # of ``env`` among the positional arguments of Popen, the object itself not counted


def install() -> None:
    """Begin. ``capture`` counts who needs it."""
    for place, name, _, ours in _PLACES:
        setattr(place, name, ours)


def remove() -> None:
    """End. What somebody else has put in the place since is left alone."""
    for place, name, theirs, ours in _PLACES:
        if getattr(place, name) is ours:
            setattr(place, name, theirs)


def _carried(context: JobContext) -> Context:
    """What a thread that is started inside ``context`` runs in."""
    return copy_context() if context.inherit_threads else Context()


def _coming_back_once(function: Any, /, *values: Any, **named: Any) -> Any:
    with OneProcess():
        return function(*values, **named)


def _start_inside(thread: threading.Thread) -> None:
    context = current()
    if context is None:
        _start(thread)
        return
    carried, run = _carried(context), thread.run

    def run_inside() -> None:
        vars(thread).pop("run", None)  # a thread that held its own method would be a cycle
        carried.run(_coming_back_once, run)

    thread.run = run_inside  # type: ignore[method-assign]  # of this one thread
    try:
        _start(thread)
    except BaseException:
        vars(thread).pop("run", None)
        raise


def _submit_inside(pool: ThreadPoolExecutor, function: Any, /, *values: Any, **named: Any) -> Future[Any]:
    context = current()
    if context is None:
        return _submit(pool, function, *values, **named)
    carried = _carried(context)
    with left():
        return _submit(pool, carried.run, _coming_back_once, function, *values, **named)


def _popen_inside(process: subprocess.Popen[Any], *values: Any, **named: Any) -> None:
    context = current()
    if context is not None and len(values) <= _ENV_POSITION and _is_inherited(named.get("env")):
        named["env"] = _with_variables(context, named.get("env"))
    _popen(process, *values, **named)


def _posix_spawn_inside(path: Any, argv: Any, env: Any, **named: Any) -> int:
    return _posix_spawn(path, argv, _environment_of(env), **named)


def _posix_spawnp_inside(path: Any, argv: Any, env: Any, **named: Any) -> int:
    return _posix_spawnp(path, argv, _environment_of(env), **named)


def _system_inside(command: Any) -> int:
    if current() is None:
        return _system(command)
    code = subprocess.call(os.fsencode(command), shell=True, close_fds=False)  # noqa: S602  # as os.system does
    return code << 8 if code >= 0 else -code  # a wait status


def _start_process_inside(process: BaseProcess) -> None:
    context = current()
    if context is not None:
        vars(process)["_orth_variables"] = Carried(inheritable_variables(context))
    _start_process(process)


def _environment_of(env: Any) -> Any:
    context = current()
    return env if context is None or not _is_inherited(env) else _with_variables(context, env)


def _is_inherited(env: Any) -> bool:
    if env is None or env is os.environ:
        return True
    return isinstance(env, Mapping) and all(name in env for name in os.environ)


def _with_variables(context: JobContext, env: Mapping[str, str] | None) -> dict[str, str]:
    return {**(os.environ if env is None else env), **inheritable_variables(context)}


def _tell_child() -> None:
    context = current()
    if context is not None:
        os.environ.update(inheritable_variables(context))


_PLACES: tuple[tuple[Any, str, Any, Any], ...] = (
    (threading.Thread, "start", _start, _start_inside),
    (ThreadPoolExecutor, "submit", _submit, _submit_inside),
    (subprocess.Popen, "__init__", _popen, _popen_inside),
    (os, "posix_spawn", _posix_spawn, _posix_spawn_inside),
    (os, "posix_spawnp", _posix_spawnp, _posix_spawnp_inside),
    (os, "system", _system, _system_inside),
    (BaseProcess, "start", _start_process, _start_process_inside),
)
os.register_at_fork(after_in_child=_tell_child)
