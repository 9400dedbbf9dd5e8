"""The network between coordinators and executors of one process, which a test can cut."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Coroutine, Sequence
from enum import Enum
from hashlib import sha256
from typing import Any, TypeVar

from orth.coordinator.node import Coordinator
from orth.errors import Unavailable
from orth.executor.runtime import Runtime
from orth.wire.beginnings import BegunReport
from orth.wire.dialects import (
    Dialect,
    auth_headers,
    kill_body,
    log_body,
    read_log_page,
    read_reply,
    run_body,
    runs_body,
)
from orth.wire.executor_answers import read_batch, read_beat, read_state
from orth.wire.executor_link import AnswerUnknown, NotSent
from orth.wire.key_calls import PATH, Holding, judged
from orth.wire.long_logs import LongLog
from orth.wire.messages import (
    CallbackItem,
    CallbackVerdict,
    LogPage,
    LogRequest,
    RegistryRequest,
    Reply,
    RunAnswer,
    RunRequest,
)
from orth.wire.signatures import Key, Signer, receiver_name

T = TypeVar("T")

_PIECE = 64 * 1024
"""Bytes of an answer that come at once."""


class Line(Enum):
    """The state of the line to one executor."""

    UP = "requests arrive and are answered"
    REFUSED = "nothing arrives, and the sender knows"
    LOST_REQUESTS = "nothing arrives, and the sender does not know"
    LOST_ANSWERS = "requests arrive, answers are lost"


class Network:
    """Carries requests by calling the other side; the same bytes as on a socket."""

    def __init__(self) -> None:
        self.executors: dict[str, Runtime] = {}
        self.lines: dict[str, Line] = {}
        self.coordinators: list[Coordinator] = []
        self.home = asyncio.get_running_loop()
        self.own_keys = False
        """Whether coordinators believe that executors without a work key have one."""

    def set_line(self, address: str, line: Line) -> None:
        self.lines[address] = line

    async def deliver(self, address: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        """Hand a request to the executor at ``address``, subject to the state of its line."""
        return read_reply(*await self.exchange(address, path, body, headers))

    async def exchange(self, address: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """The same, with the answer as it came."""
        line = self.lines.get(address, Line.UP)
        runtime = self.executors.get(address)
        if line is Line.REFUSED or runtime is None:
            raise NotSent(f"{address}: connection refused.") from ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        if line is Line.LOST_REQUESTS:
            raise AnswerUnknown(f"{address}: no answer.")
        status, answer = await asyncio.to_thread(runtime.handle, path, body, headers)
        if line is Line.LOST_ANSWERS:
            raise AnswerUnknown(f"{address}: no answer.")
        return status, answer


class ExecutorEnd:
    """The way to the executors, as a coordinator sees it (``ExecutorLink``)."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def run(
        self,
        address: str,
        request: RunRequest,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = frozenset(),
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply:
        path, body = run_body(request, dialect, extensions)
        return await self._network.deliver(address, path, body, auth_headers(token, dialect, app_name))

    async def run_all(
        self,
        address: str,
        requests: Sequence[RunRequest],
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = frozenset(),
    ) -> list[RunAnswer | None]:
        path, body = runs_body(requests, extensions)
        headers = auth_headers(token, Dialect.ORTH, app_name)
        return read_batch(*await self._network.exchange(address, path, body, headers), requests)

    async def beat(self, address: str, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO) -> Reply:
        headers = auth_headers(token, dialect, app_name)
        return read_beat(address, *await self._network.exchange(address, "/beat", b"{}", headers))

    async def idle_beat(
        self, address: str, job_id: int, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO
    ) -> Reply:
        body, headers = b'{"jobId":%d}' % job_id, auth_headers(token, dialect, app_name)
        return read_state(address, *await self._network.exchange(address, "/idleBeat", body, headers))

    async def kill(
        self,
        address: str,
        job_id: int,
        log_id: int | None = None,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = frozenset(),
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply:
        body = kill_body(job_id, log_id, extensions)
        return await self._network.deliver(address, "/kill", body, auth_headers(token, dialect, app_name))

    async def log(
        self,
        address: str,
        request: LogRequest,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = frozenset(),
        dialect: Dialect = Dialect.AUTO,
    ) -> LogPage:
        body = log_body(request, extensions)
        reply = await self._network.deliver(address, "/log", body, auth_headers(token, dialect, app_name))
        return read_log_page(reply.payload, request.from_line_num)

    async def log_pages(
        self, address: str, request: LogRequest, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO
    ) -> AsyncGenerator[LogPage, None]:
        headers = auth_headers(token, dialect, app_name)
        status, answer = await self._network.exchange(address, "/log", log_body(request), headers)
        log = LongLog(address, status, request.from_line_num)
        for at in range(0, len(answer), _PIECE):
            if (page := log.feed(answer[at : at + _PIECE])) is not None:
                yield page
        yield log.finish()

    async def holding(self, address: str, key: Key, incarnation: str) -> Holding:
        """Whether the executor there has a work key (``KeyLink``)."""
        runtime, line = self._network.executors.get(address), self._network.lines.get(address, Line.UP)
        if line is Line.REFUSED or runtime is None:
            return Holding.NO
        if line is not Line.UP:
            return Holding.UNKNOWN
        signer = Signer("a coordinator", runtime.tools.clock)
        header = signer.header(key, address, "GET", PATH, b"", receiver=receiver_name(incarnation))
        return judged(*runtime.handle(PATH, b"", header, method="GET"), {}, incarnation)


class CoordinatorLine:
    """The way to the coordinators, as an executor sees it (``CoordinatorLink``): called from its threads."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def register(self, request: RegistryRequest) -> None:
        said = request.orth
        if self._network.own_keys and said is not None and said.work_key is None:
            key = sha256(said.incarnation.encode()).hexdigest()
            request = request.model_copy(update={"orth": said.model_copy(update={"work_key": key})})
        self._do(self._first().presence.registrations.beat(request))

    def unregister(self, request: RegistryRequest) -> None:
        self._do(self._first().presence.registrations.leave(request))

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        return self._do(self._first().work.callbacks.take(items)).verdicts

    def tell_begun(self, report: BegunReport) -> frozenset[int]:
        return frozenset(self._do(self._first().work.beginnings.take(report)))

    def _first(self) -> Coordinator:
        if not self._network.coordinators:
            raise Unavailable("No coordinator answers.")
        return self._network.coordinators[0]

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._network.home).result()
