"""The way to the executors, as the coordinator's parts see it, and how it may fail.

The one question that matters after a failed call is whether the executor may have got it. ``NotSent`` says that it
surely has not: there never was a connection, so the trigger may go elsewhere. ``AnswerUnknown`` says that it may have:
once a connection is there, bytes may have left, and neither a timeout nor a reset tells whether they arrived. An
unknown trigger is never "failed": the executor is asked about it.
"""

import errno
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from orth.errors import Unavailable
from orth.sayings import SAYINGS
from orth.wire.dialects import Dialect
from orth.wire.messages import LogPage, LogRequest, Reply, RunAnswer, RunRequest

NO_EXTENSIONS: frozenset[str] = frozenset()


class NotSent(Unavailable):
    """The executor surely did not get it."""

    kind = "not-sent"

    @property
    def nobody_listens(self) -> bool:
        """Whether the machine was reached and said that no process has this port: not silence, nor a missing route."""
        return isinstance(self.__cause__, OSError) and self.__cause__.errno == errno.ECONNREFUSED


class NotLetIn(NotSent):
    """An executor of ours is there and accepts nothing of what is known for it: it was restarted a moment ago, or
    somebody else has registered its address. It has done nothing, and its next beat sets it right.
    """

    def __init__(self, address: str, said: str | None) -> None:
        facts = {"address": address, "said": said or "no word"}
        super().__init__(SAYINGS["executor_does_not_accept"][0].format(**facts))
        self.code, self.facts = "executor_does_not_accept", facts


class TokenNotShown(Unavailable):
    """Something at the address refuses a signed request as if it wanted the token, which it is not shown. It is there,
    and has done nothing.
    """

    kind = "token-not-shown"


class AnswerUnknown(Unavailable):
    """The executor may have got it, and may be doing it."""

    kind = "answer-unknown"


class NotAnExecutor(Unavailable):
    """Something answers at the address, and not as an executor does."""

    kind = "not-an-executor"

    def __init__(self, address: str, status: int, said: str | None) -> None:
        facts = {"address": address, "said": said or f"HTTP {status}"}
        super().__init__(SAYINGS["no_executor_there"][0].format(**facts))
        self.code, self.facts = "no_executor_there", facts
        self.status = status


class ExecutorLink(Protocol):
    """The way to the executors, as the coordinator's parts see it. Each call says for which app it is made: several may
    be at one address, each with a token of its own.
    """

    async def run(
        self,
        address: str,
        request: RunRequest,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply: ...

    async def run_all(
        self,
        address: str,
        requests: Sequence[RunRequest],
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = NO_EXTENSIONS,
    ) -> list[RunAnswer | None]: ...

    async def beat(self, address: str, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO) -> Reply: ...

    async def idle_beat(
        self, address: str, job_id: int, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO
    ) -> Reply: ...

    async def kill(
        self,
        address: str,
        job_id: int,
        log_id: int | None = None,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply: ...

    async def log(
        self,
        address: str,
        request: LogRequest,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> LogPage: ...

    def log_pages(
        self, address: str, request: LogRequest, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO
    ) -> AsyncGenerator[LogPage, None]: ...
