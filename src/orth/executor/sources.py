"""Where the handler of a trigger comes from.

``BEAN`` names one that the job author registered, or one that is built in and allowed here. Every other kind is source
text in the trigger itself: a script for an interpreter, or GLUE, which is Python for this process. Whatever cannot be
carried out here is refused in words, before anything is queued; a kind that is not allowed is refused with the setting
that would allow it.
"""

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orth.clock import Clock
from orth.domain.jobs import GlueType
from orth.errors import Invalid
from orth.executor import commands, http_calls
from orth.executor.glue import GluePerformer, GlueSource
from orth.executor.glue_compiler import COMPILED_HERE
from orth.executor.guarded_runs import GuardedRuns
from orth.executor.handlers import Handler, Handlers, named_handler
from orth.executor.isolation import IsolatedPerformer, WorkerPool
from orth.executor.parameters import Parameters
from orth.executor.performers import Performer
from orth.executor.processes import Processes
from orth.executor.proposals import Proposal
from orth.executor.scripts import (
    LANGUAGES,
    Language,
    ScriptFile,
    ScriptPerformer,
    Surroundings,
    clean_environment,
    interpreter_of,
)
from orth.executor.settings import ExecutorSettings
from orth.wire.messages import HandlerInfo, RunRequest

_NAMES_SHOWN = 20
_VERSIONS_KEPT = 1000
_PREPARED_KEPT = 16
COMPILERS = 2
"""Large sources that are compiled at the same time, each by a process of its own."""
PREPARING_LIMIT = 10
"""Requests whose large source is being compiled or waits for that; each keeps its caller's thread."""
_ANY_TEXT = Parameters(None, None, False, None, None)

Version = tuple[GlueType, int, bytes]
Key = tuple[int, Version]


class Sources:
    """Finds the handler of a request, and holds the helper processes that some handlers run in."""

    def __init__(
        self, handlers: Handlers, settings: ExecutorSettings, clock: Clock, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._texts: OrderedDict[int, tuple[Version, Handler]] = OrderedDict()
        """The newest version of each job whose source came with the trigger."""
        self._prepared: OrderedDict[Key, GlueSource | str] = OrderedDict()
        """What was compiled and not yet asked for, complaints included."""
        self._compilers = ThreadPoolExecutor(COMPILERS, thread_name_prefix="orth-glue")
        self._compiling: dict[Key, Future[None]] = {}
        self._preparing = 0
        """Requests that wait for one of those."""
        environment = clean_environment(environ, settings.script_env)
        self._processes = Processes(clock, environment)
        self._surroundings = Surroundings(self._processes, Path.cwd(), environment)
        self._handlers = handlers
        self._pool: WorkerPool | None = None
        self._isolated: dict[str, Handler] = {}
        if handlers.isolated():
            self._pool = WorkerPool(handlers, settings.warm_workers, clock, environ)
            self._isolated = _in_workers(handlers, self._pool)
        self._builtin = self._allowed_builtin()

    def start(self) -> None:
        """Start the helper processes that will be needed; ``CannotStart`` when handlers cannot be imported in them."""
        if self._pool is not None:
            self._pool.start()
        if "command" in self._settings.builtin or set(self._settings.scripts) - {"glue"}:
            self._processes.start()

    def close(self) -> None:
        """Kill what runs in helper processes, and let them go."""
        self._compilers.shutdown(wait=False, cancel_futures=True)
        if self._pool is not None:
            self._pool.close()
        self._processes.close()

    def infos(self) -> tuple[HandlerInfo, ...]:
        """The handlers that have names, as the registration announces them."""
        return (*self._handlers.infos(), *(handler.info for handler in self._builtin.values()))

    def prepare(self, request: RunRequest) -> None:
        """Do what takes long for ``handler_of``, before the caller takes a lock: compile a large source that is new.

        Waits for that, in a line that has an end; what finds no place in it is refused by ``handler_of``.
        """
        if request.glue_type is not GlueType.GLUE or len(request.glue_source) <= COMPILED_HERE:
            return
        if self._not_allowed(request) is not None:
            return
        compiling = self._begin_compiling(request)
        if compiling is None:
            return
        try:
            with suppress(CancelledError):  # the executor is stopping
                compiling.result()
        finally:
            with self._lock:
                self._preparing -= 1

    def _begin_compiling(self, request: RunRequest) -> "Future[None] | None":
        """What to wait for, and one more who waits; a request that is repeated finds the work begun, or done."""
        key = (request.job_id, _version_of(request))
        with self._lock:
            known = self._texts.get(request.job_id)
            if isinstance(self._prepared.get(key), GlueSource) or (known is not None and known[0] == key[1]):
                return None  # a complaint is tried again: there may have been no time, or no process
            if self._preparing >= PREPARING_LIMIT:
                return None
            compiling = self._compiling.get(key)
            if compiling is None:
                try:
                    compiling = self._compiling[key] = self._compilers.submit(self._compile, key, request)
                except RuntimeError:  # closed: the executor has stopped
                    return None
            self._preparing += 1
            return compiling

    def _compile(self, key: Key, request: RunRequest) -> None:
        try:
            made = _compiled(request)
            with self._lock:
                self._prepared[key] = made
                if len(self._prepared) > _PREPARED_KEPT:
                    self._prepared.popitem(last=False)
        finally:
            with self._lock:
                del self._compiling[key]

    def handler_of(self, request: RunRequest) -> Handler | str:
        """The handler that carries ``request`` out, or why there is none.

        The same object is given as long as nothing about it changed: a job thread takes another one for a replacement.
        """
        if request.glue_type is GlueType.BEAN:
            return self._of_name(request.executor_handler) or self._unknown(request.executor_handler)
        version = _version_of(request)
        with self._lock:
            known = self._texts.get(request.job_id)
            if known is not None and known[0] == version:
                return known[1]
            made = self._from_text(request)
            if isinstance(made, Handler):
                self._texts[request.job_id] = (version, made)
                if len(self._texts) > _VERSIONS_KEPT:
                    self._texts.popitem(last=False)
        return made

    def _of_name(self, name: str) -> Handler | None:
        return self._isolated.get(name) or self._builtin.get(name) or self._handlers.get(name)

    def _allowed_builtin(self) -> dict[str, Handler]:
        allowed = {}
        if "http" in self._settings.builtin:
            allowed[http_calls.NAME] = named_handler(http_calls.NAME, http_calls.http)
        if "command" in self._settings.builtin:
            runs = GuardedRuns(self._processes)
            function = commands.command_handler(self._surroundings, runs, self._settings.kill_grace)
            handler = named_handler(commands.NAME, function)
            allowed[commands.NAME] = replace(handler, made_by=lambda: commands.CommandPerformer(function, runs))
        return allowed

    def _unknown(self, name: str) -> str:
        if name in (commands.NAME, http_calls.NAME):
            kind = name.rpartition(".")[2]
            return f"{name} is not allowed on this executor; its setting executor.builtin would have to name {kind}"
        names = sorted({*self._handlers.names(), *self._builtin})
        known = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
        return f"there is no handler {name!r} here; known: {known or 'none'}"

    def _from_text(self, request: RunRequest) -> Handler | str:
        refused = self._not_allowed(request)
        if refused is not None:
            return refused
        language = LANGUAGES.get(request.glue_type)
        return self._script(request, language) if language else self._glue(request)

    def _not_allowed(self, request: RunRequest) -> str | None:
        language = LANGUAGES.get(request.glue_type)
        kind = "glue" if request.glue_type is GlueType.GLUE else language and language.kind
        if kind is None:
            return f"{request.glue_type} is not supported by this executor"
        if kind not in self._settings.scripts:
            setting = f"its setting executor.scripts would have to name {kind}"
            return f"{request.glue_type} is not allowed on this executor; {setting}"
        return None if request.glue_source.strip() else f"job {request.job_id} has no source"

    def _glue(self, request: RunRequest) -> Handler | str:
        key = (request.job_id, _version_of(request))
        source = self._prepared.get(key)
        if source is None and len(request.glue_source) > COMPILED_HERE:
            return "this executor is busy compiling other sources; try again"
        source = source or _compiled(request)
        if isinstance(source, GlueSource):
            self._prepared.pop(key, None)
        return source if isinstance(source, str) else _handler(request, lambda: GluePerformer(source))

    def _script(self, request: RunRequest, language: Language) -> Handler | str:
        python = None if self._settings.python is None else str(self._settings.python)
        path = self._surroundings.environment.get("PATH")
        program = interpreter_of(language, request.glue_source, python, path)
        if program is None:
            wanted = python if python and language.kind == "python" else " or ".join(language.interpreters)
            return f"{request.glue_type} needs {wanted}, which is not installed here"
        script = ScriptFile.of(request, language, self._settings.data_dir.absolute() / "gluesource")
        opening = (program, *language.options)
        return _handler(request, lambda: ScriptPerformer(script, opening, self._surroundings))


def _in_workers(handlers: Handlers, pool: WorkerPool) -> dict[str, Handler]:
    """The isolated handlers, as job threads see them."""
    found = (handlers.get(name) for name in handlers.isolated())
    return {it.name: replace(it, made_by=lambda: IsolatedPerformer(pool)) for it in found if it is not None}


def _version_of(request: RunRequest) -> Version:
    return request.glue_type, request.glue_updatetime, hashlib.sha256(request.glue_source.encode()).digest()


def _compiled(request: RunRequest) -> GlueSource | str:
    try:
        return GlueSource(request)
    except Invalid as error:
        return f"the source of job {request.job_id} cannot be used: {error}"


def _handler(request: RunRequest, made_by: Callable[[], Performer]) -> Handler:
    """A handler that has no name among coordinators: it lives as long as its version is the newest of its job."""
    name = f"{request.glue_type}-{request.glue_updatetime}"
    return Handler(name, made_by, _ANY_TEXT, Proposal(), HandlerInfo(name=name), made_by=made_by)
