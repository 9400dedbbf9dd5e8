"""GLUE: Python source that is edited centrally and runs inside this executor, as a handler written here would.

The source defines ``execute(ctx, …)``, plain or async, or one class with ``execute`` and perhaps ``init`` and
``destroy``. Whether it can be read is decided before the trigger is taken (``compiling``), with line and column;
nothing of it is run by that. Its top level runs once per version and job thread, where the first execution runs, and
within its time limit.
"""

import linecache
import threading
from collections.abc import Callable
from types import CodeType, MappingProxyType
from typing import Any

from orth.errors import Invalid
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handler, handler_of
from orth.executor.performers import Performer
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
        """Run the top level and return what it defines as a handler."""
        self._show_in_tracebacks()
        module: dict[str, Any] = {"__name__": f"orth_glue_{self._job_id}", "__file__": self.name}
        exec(self._code, module)  # noqa: S102  # allowed by this executor's own settings
        target: Callable[..., Any] = module[self._entry]
        return handler_of(target)

    def _show_in_tracebacks(self) -> None:
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.name] = (len(self.text), None, lines, self.name)

    def forget(self) -> None:
        linecache.cache.pop(self.name, None)


class GluePerformer:
    """Carries out one version of a source; it is loaded by the first execution."""

    def __init__(self, source: GlueSource) -> None:
        self._source = source
        self._loading = threading.Lock()
        self._loaded: tuple[Handler, Performer] | None = None

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  # known once loaded
        try:
            handler, performer = self._load()
            read = handler.parameters.read(context.param)
        except Invalid as unfit:
            raise JobFailed(str(unfit)) from None
        context.params = MappingProxyType(read)
        return performer.perform(context, handler.parameters.with_context(read, context))

    def _load(self) -> tuple[Handler, Performer]:
        loading = self._loading
        with loading:
            loaded = self._loaded
            if loaded is None:
                handler = self._source.load()
                loaded = (handler, handler.performer())
                if loading is self._loading:  # not abandoned meanwhile
                    self._loaded = loaded
            return loaded

    def end(self, context: JobContext, grace: float) -> bool:
        loaded = self._loaded
        return loaded is not None and loaded[1].end(context, grace)

    def abandon(self) -> None:
        self._loading = threading.Lock()  # the other may be held for ever, by a top level that hangs
        if self._loaded is not None:
            self._loaded[1].abandon()

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded[1].close()
        self._source.forget()
