"""One execution without a coordinator: ``orth run``, ``python jobs.py run``, and what tests of jobs stand on.

It is the executor's own walk, from admission to the delivered result: parameters, context, logging, time limit, hooks
and isolation are those of a real execution. Only the coordinator is missing: nothing is sent, and the files are in a
folder that is removed afterwards. The walk has its own event loop in its own thread, so the caller may have one too.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orth.clock import Clock, SystemClock
from orth.domain.executions import SUCCESS, Status, status_of
from orth.errors import Invalid
from orth.events import Event, Events
from orth.executor.context import JobContext
from orth.executor.facts import ExecutionFinished, ExecutionStarted
from orth.executor.handlers import Handler, Handlers
from orth.executor.progress import Progress
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings
from orth.loop import run_loops
from orth.wire.beginnings import BegunReport
from orth.wire.messages import CallbackItem, CallbackVerdict, RegistryRequest, RunRequest, Verdict

_APP_NAME = "local"
_ECHO_EVERY = 0.1
_JOB_ID = _LOG_ID = 1

Echo = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTrigger:
    """What a coordinator would have sent."""

    text: str = ""
    """The parameter."""
    schedule_time: int | None = None
    shard: tuple[int, int] = (0, 1)
    timeout: int = 0
    attempt: int = 1
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def request(self, handler: Handler, now: int) -> RunRequest:
        index, total = self.shard
        if not 0 <= index < total:
            raise Invalid(f"There is no shard {index} of {total}.", hint="The first of three is 0/3.")
        try:
            return RunRequest(
                job_id=_JOB_ID,
                log_id=_LOG_ID,
                log_date_time=now,
                executor_handler=handler.name,
                executor_params=self.text,
                executor_timeout=self.timeout,
                broadcast_index=index,
                broadcast_total=total,
                schedule_time=self.schedule_time,
                attempt=self.attempt,
                secrets=dict(self.secrets) or None,
            )
        except ValidationError as error:
            raise Invalid(f"No coordinator could send this: {'; '.join(map(_complaint, error.errors()))}.") from None


_CALLED = {
    "executor_params": "the parameter",
    "executor_timeout": "the time limit",
    "broadcast_index": "the shard",
    "broadcast_total": "the number of shards",
    "schedule_time": "the time it is due",
}


def _complaint(error: ErrorDetails) -> str:
    field = str(error["loc"][0])
    name = _CALLED.get(field, field)
    if error["type"] == "too_long":
        return f"{name} has {error['ctx']['actual_length']} characters, and {error['ctx']['max_length']} at most fit"
    return f"{name}: {error['msg'].removeprefix('Value error, ')}"


@dataclass(frozen=True, slots=True)
class RunReport:
    """How one execution went."""

    code: int
    message: str
    log_text: str
    params: Mapping[str, Any]
    """The arguments the handler was called with; none when the parameter did not fit."""
    progress: Progress | None
    """The last that was said."""

    @property
    def status(self) -> Status:
        return status_of(SUCCESS, self.code)

    @property
    def ok(self) -> bool:
        return self.status is Status.SUCCESS

    @property
    def tag(self) -> str:
        """The status as the console shows it."""
        return f"{self.status.capitalize()} {SUCCESS}/{self.code}"


class _NoCoordinator:
    """The far end of the link. Results may come more than once, and the first counts, as for a coordinator."""

    def __init__(self) -> None:
        self.results: dict[int, CallbackItem] = {}

    def register(self, request: RegistryRequest) -> None:  # noqa: ARG002  # the link's form
        return

    def unregister(self, request: RegistryRequest) -> None:  # noqa: ARG002  # the link's form
        return

    def tell_begun(self, report: BegunReport) -> frozenset[int]:  # noqa: ARG002  # the link's form
        return frozenset()

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        for item in items:
            self.results.setdefault(item.log_id, item)
        return [CallbackVerdict(log_id=item.log_id, verdict=Verdict.STORED) for item in items]


def _handlers_around(handler: Handler) -> Handlers:
    """The executor it was registered with, if a worker process must find it there; otherwise one with it alone."""
    home = handler.home
    if home is not None and handler.isolated:
        return home
    alone = Handlers(home.app_name) if home is not None else Handlers()
    alone.capture_stdout = home is None or home.capture_stdout
    alone.add(handler)
    return alone


class _Growing:
    """A file that is being written, read piece by piece."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def more(self) -> str:
        """What was added since the last call, in whole lines."""
        if not self._path.exists():
            return ""
        with self._path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.decode("utf-8", "replace")


@dataclass(slots=True)
class _Walk:
    """One local execution under way."""

    handler: Handler
    trigger: LocalTrigger
    folder: Path
    clock: Clock
    echo: Echo | None
    link: _NoCoordinator = field(default_factory=_NoCoordinator)
    context: JobContext | None = None
    report: RunReport | None = None
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.report = asyncio.run(self._carry_out())
        except BaseException as error:  # raised again where it is waited for
            self.error = error

    async def _carry_out(self) -> RunReport:
        request = self.trigger.request(self.handler, self.clock.now())
        done, home = asyncio.Event(), asyncio.get_running_loop()

        def hear(event: Event) -> None:
            if isinstance(event, ExecutionStarted):
                self.context = runtime.tools.contexts[request.log_id]
            elif isinstance(event, ExecutionFinished):
                home.call_soon_threadsafe(done.set)

        runtime = self._runtime(Events(hear))
        path = runtime.logs.path_of(request.log_id, request.log_date_time)
        runtime.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_loops(*runtime.loops))
            reply = runtime.admission.run(request)
            if reply.ok:
                await self._wait(done, path)
            await runtime.stop()
        if not reply.ok:
            raise Invalid(str(reply.msg))
        return self._report(path)

    def _runtime(self, events: Events) -> Runtime:
        handlers = _handlers_around(self.handler)
        settings = ExecutorSettings(
            app_name=handlers.app_name or _APP_NAME,
            access_token="",
            data_dir=self.folder,
            logs_dir=self.folder / "logs",
        )
        return Runtime(
            handlers,
            settings,
            self.link,
            address="http://127.0.0.1:1",  # nobody is told
            incarnation=_APP_NAME,
            clock=self.clock,
            events=events,
        )

    async def _wait(self, done: asyncio.Event, path: Path) -> None:
        """Until the execution has ended, its log shown meanwhile."""
        growing = _Growing(path)
        while self.echo is not None and not done.is_set():
            await SystemClock().sleep_unless(done, _ECHO_EVERY)
            self.echo(growing.more())
        await done.wait()

    def _report(self, path: Path) -> RunReport:
        item = self.link.results[_LOG_ID]
        assert self.context is not None, "an execution that has ended was begun"
        text = path.read_text(encoding="utf-8", errors="replace")
        return RunReport(item.handle_code, item.handle_msg, text, self.context.params, self.context.last_progress)


@contextmanager
def _logging_as_an_executor() -> Iterator[None]:
    """Records from INFO on, as in a process of ours, if nobody has set another level than the default."""
    root = logging.getLogger()
    if root.level != logging.WARNING:
        yield
        return
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(logging.WARNING)


def run_locally(
    handler: Handler, trigger: LocalTrigger, *, clock: Clock | None = None, echo: Echo | None = None
) -> RunReport:
    """Carry out ``handler`` once; ``echo`` gets the log while it grows. ``Invalid`` when it is refused."""
    with TemporaryDirectory(prefix="orth-run-", ignore_cleanup_errors=True) as folder, _logging_as_an_executor():
        walk = _Walk(handler, trigger, Path(folder), clock or SystemClock(), echo)
        thread = threading.Thread(target=walk.run, name="orth-local-run", daemon=True)
        thread.start()
        thread.join()
    if walk.error is not None:
        raise walk.error
    assert walk.report is not None
    return walk.report
