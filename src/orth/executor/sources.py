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
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from orth.clock import Clock
from orth.domain.jobs import GlueType
from orth.domain.script_headers import header_of
from orth.executor import commands, http_calls
from orth.executor.compiling import Compiling, Key, Version
from orth.executor.confinement import Confinement, check_user, identity_of, let_in, limits_of
from orth.executor.glue import GluePerformer
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
from orth.wire.messages import NOT_ALLOWED_HERE, HandlerInfo, RunRequest

_NAMES_SHOWN = 20
RECENT = 1000
"""Handlers made of source text that are kept while no job has them."""
_ANY_TEXT = Parameters(None, None, False, None, None)


class Sources:
    """Finds the handler of a request, and holds the helper processes that some handlers run in."""

    def __init__(
        self, handlers: Handlers, settings: ExecutorSettings, clock: Clock, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._texts: WeakValueDictionary[int, Handler] = WeakValueDictionary()
        """The newest version of each job whose source came with the trigger, and the newest test of it. Whoever has one
        keeps it here: a second handler of the same version would pass for another version of the job."""
        self._recent: OrderedDict[int, Handler] = OrderedDict()
        """Those asked for last, whether anybody has them or not."""
        self._compiling = Compiling()
        environment = clean_environment(environ, settings.script_env)
        self._processes = Processes(clock, environment)
        self._identity = identity_of(settings.script_user)
        if not settings.scripts_share_user:
            check_user(settings.scripts, settings.builtin, self._identity)
        self._surroundings = Surroundings(
            self._processes,
            Path.cwd(),
            {**environment, **(self._identity.variables if self._identity else {})},
            Confinement(limits_of(settings.script_limits), self._identity),
        )
        self._handlers = handlers
        self._pool: WorkerPool | None = None
        self._isolated: dict[str, Handler] = {}
        if handlers.isolated():
            limits = limits_of(settings.process_limits)
            self._pool = WorkerPool(handlers, settings.warm_workers, clock, environ, limits)
            self._isolated = _in_workers(handlers, self._pool)
        self._builtin = self._allowed_builtin()

    def start(self) -> None:
        """Start the helper processes that will be needed; ``CannotStart`` when handlers cannot be imported in them."""
        if self._pool is not None:
            self._pool.start()
        scripts = set(self._settings.scripts) - {"glue"}
        if scripts and self._identity is not None:
            let_in(self._settings.data_dir, self._identity)
        if "command" in self._settings.builtin or scripts:
            self._processes.start()

    @property
    def _scripts_folder(self) -> Path:
        return self._settings.data_dir.absolute() / "gluesource"

    def close(self) -> None:
        """Kill what runs in helper processes, and let them go."""
        self._compiling.close()
        if self._pool is not None:
            self._pool.close()
        self._processes.close()

    def infos(self) -> tuple[HandlerInfo, ...]:
        """The handlers that have names, as the registration announces them."""
        return (*self._handlers.infos(), *(handler.info for handler in self._builtin.values()))

    def is_prepared(self, request: RunRequest) -> bool:
        """Whether ``handler_of`` can answer now; else ``prepare`` has something to wait for."""
        key = self._to_compile(request)
        return key is None or self._compiling.knows(key)

    def prepare(self, request: RunRequest, seconds: float | None = None) -> None:
        """Do what takes long for ``handler_of``, before the caller takes a lock: compile a source that is new.

        Waits for that, in a line that has an end, and no longer than ``seconds``; what is not compiled afterwards is
        refused by ``handler_of``.
        """
        key = self._to_compile(request)
        if key is not None:
            self._compiling.wait_for(key, request, seconds)

    def _to_compile(self, request: RunRequest) -> Key | None:
        """What has to be compiled before the request can be carried out."""
        if request.glue_type is not GlueType.GLUE or self._not_allowed(request) is not None:
            return None
        version = _version_of(request)
        with self._lock:
            return None if self._known(request.thread_key, version) is not None else (request.job_id, version)

    def handler_of(self, request: RunRequest) -> Handler | str:
        """The handler that carries ``request`` out, or why there is none.

        The same object is given as long as nothing about it changed: a job thread takes another one for a replacement.
        """
        if request.glue_type is GlueType.BEAN:
            return self._of_name(request.executor_handler) or self._unknown(request.executor_handler)
        version = _version_of(request)
        with self._lock:
            known = self._known(request.thread_key, version)
            if known is not None:
                return known
            made = self._from_text(request)
            if isinstance(made, Handler):
                self._texts[request.thread_key] = made
                self._keep(request.thread_key, made)
        return made

    def _known(self, key: int, version: Version) -> Handler | None:
        """The handler of this version, if there is one. Under the lock."""
        known = self._texts.get(key)
        if known is None or known.version != version:
            return None
        self._keep(key, known)
        return known

    def _keep(self, key: int, handler: Handler) -> None:
        self._recent[key] = handler
        self._recent.move_to_end(key)
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    def _of_name(self, name: str) -> Handler | None:
        return self._isolated.get(name) or self._builtin.get(name) or self._handlers.get(name)

    def _allowed_builtin(self) -> dict[str, Handler]:
        allowed = {}
        if "http" in self._settings.builtin:
            allowed[http_calls.NAME] = named_handler(
                http_calls.NAME, http_calls.http_handler(self._settings.http_outbound)
            )
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
            return f"{request.glue_type} {NOT_ALLOWED_HERE}; {setting}"
        return None if request.glue_source.strip() else f"job {request.job_id} has no source"

    def _glue(self, request: RunRequest) -> Handler | str:
        source = self._compiling.take((request.job_id, _version_of(request)))
        if source is None:
            return "this executor is busy compiling other sources; try again"
        if isinstance(source, str):
            return f"the source of job {request.job_id} cannot be used: {source}"
        return _handler(request, lambda: GluePerformer(source))

    def _script(self, request: RunRequest, language: Language) -> Handler | str:
        python = None if self._settings.python is None else str(self._settings.python)
        path = self._surroundings.environment.get("PATH")
        program = interpreter_of(language, request.glue_source, python, path)
        if program is None:
            wanted = python if python and language.kind == "python" else " or ".join(language.interpreters)
            return f"{request.glue_type} needs {wanted}, which is not installed here"
        script = ScriptFile.of(request, language, self._scripts_folder, self._identity and self._identity.gid)
        opening = (program, *language.options)
        ours = language.kind == "python" and python is None
        needs = header_of(request.glue_type, request.glue_source).requirements if ours else ()
        return _handler(request, lambda: ScriptPerformer(script, opening, self._surroundings, needs))


def _in_workers(handlers: Handlers, pool: WorkerPool) -> dict[str, Handler]:
    """The isolated handlers, as job threads see them."""
    found = (handlers.get(name) for name in handlers.isolated())
    return {it.name: replace(it, made_by=lambda: IsolatedPerformer(pool)) for it in found if it is not None}


def _version_of(request: RunRequest) -> Version:
    return request.glue_type, request.glue_updatetime, hashlib.sha256(request.glue_source.encode()).digest()


def _handler(request: RunRequest, made_by: Callable[[], Performer]) -> Handler:
    """A handler that has no name among coordinators: it lives as long as its version is the newest of its job."""
    name = f"{request.glue_type}-{request.glue_updatetime}"
    info = HandlerInfo(name=name)
    return Handler(name, made_by, _ANY_TEXT, Proposal(), info, made_by=made_by, version=_version_of(request))
