"""GLUE: Python source that is edited centrally and runs inside this executor, as a handler written here would.

The source defines ``execute(ctx, …)``, plain or async, or one class with ``execute`` and perhaps ``init`` and
``destroy``. Whether it can be read is decided before the trigger is taken (``compiling``), with line and column;
nothing of it is run by that. Its top level runs once per version and job thread, where the first execution runs, and
within its time limit.
"""

import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from types import CodeType, MappingProxyType, ModuleType
from typing import Any
from weakref import finalize

from orth.errors import Invalid
from orth.executor.context import JobContext, JobFailed, before_execute
from orth.executor.handlers import Handler, handler_of
from orth.executor.performers import Performer
from orth.executor.sharing import Shared
from orth.wire.messages import RunRequest


class GlueSource:
    """One version of a job's source, compiled."""

    def __init__(self, request: RunRequest, code: CodeType, entry: str) -> None:
        """``code`` was compiled under ``name_of(request)``; ``entry`` is the name of what it defines."""
        self.name = self.name_of(request)
        self.text = request.glue_source
        self._code = code
        self._entry = entry
        self._job_id = request.job_id

    @staticmethod
    def name_of(request: RunRequest) -> str:
        """What tracebacks call it."""
        return f"<GLUE job {request.job_id} version {request.glue_updatetime}>"

    def load(self) -> Handler:
        """Run the top level and return what it defines as a handler.

        As long as that is used the source is a module that others find by its name: dataclasses, Pydantic and pickle
        look there for what belongs to a class.
        """
        self._show_in_tracebacks()
        module = _known_module(f"orth_glue_{self._job_id}")
        try:
            module.__file__ = self.name
            exec(self._code, module.__dict__)  # noqa: S102  # allowed by this executor's own settings
            target: Callable[..., Any] = getattr(module, self._entry)
            handler = replace(handler_of(target))  # one that is nobody's but the caller's
        except BaseException:
            _forget_module(module.__name__, module)
            raise
        finalize(handler, _forget_module, module.__name__, module).atexit = False
        return handler

    def _show_in_tracebacks(self) -> None:
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.name] = (len(self.text), None, lines, self.name)

    def forget(self) -> None:
        linecache.cache.pop(self.name, None)


_naming = threading.Lock()


def _known_module(name: str) -> ModuleType:
    """A new module among those of the program. Another version may have the name still; then it gets a number, too.

    A name is used again when it is free: loggers, which are made by it, are never removed.
    """
    with _naming:
        free = next(it for it in _numbered(name) if it not in sys.modules)
        module = sys.modules[free] = ModuleType(free)
    return module


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}_{number}"


def _forget_module(name: str, module: ModuleType) -> None:
    if sys.modules.get(name) is module:
        del sys.modules[name]


class GluePerformer:
    """Carries out one version of a source; it is loaded by the first execution."""

    def __init__(self, source: GlueSource) -> None:
        self._source = source
        self._loaded = Shared(self._load, _close_loaded)

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  # known once loaded
        try:
            handler, performer = self._loaded.begin(context)
            with before_execute():
                read = handler.parameters.read(context.param)
        except Invalid as unfit:
            raise JobFailed(str(unfit)) from None
        context.params = MappingProxyType(read)
        return performer.perform(context, handler.parameters.with_context(read, context))

    def _load(self, context: JobContext) -> tuple[Handler, Performer]:  # noqa: ARG002  # the same for all
        handler = self._source.load()
        return handler, handler.performer()

    @property
    def maker(self) -> threading.Thread | None:
        loaded = self._loaded.made
        return None if loaded is None else loaded[1].maker

    def end(self, context: JobContext, grace: float) -> bool:
        self._loaded.wake()
        loaded = self._loaded.made
        return loaded is not None and loaded[1].end(context, grace)

    def abandon(self, context: JobContext) -> None:
        self._loaded.abandon(context)
        loaded = self._loaded.made
        if loaded is not None:
            loaded[1].abandon(context)

    def close(self) -> None:
        self._loaded.close()
        self._source.forget()


def _close_loaded(loaded: tuple[Handler, Performer]) -> None:
    loaded[1].close()
