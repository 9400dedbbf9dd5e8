"""The log of an execution: a page, its end, a search, the whole text. ``log_streams`` has it live.

A log is what a handler wrote: it may hold anything. It leaves here as JSON or as plain text that browsers are told not
to guess about, and always as data.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.instants import shown_instant
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.sending import Departed, patiently, unless_left
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.logs.levels import LEVELS, Level
from orth.coordinator.logs.reading import TAIL_LIMIT, Page, Source
from orth.coordinator.logs.searching import PATIENCE, Part, Wanted
from orth.domain.access import Permission
from orth.domain.nodes import normal_address
from orth.errors import OrthError

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])

ExecutionId = Annotated[int, Path(ge=1, le=2**63 - 1)]
FromLine = Annotated[int, Query(alias="from", ge=1, le=2**31 - 1)]


class LogShown(BaseModel):
    """Lines ``from_line`` to ``to_line``, both included and counted from 1; ``to_line`` is ``from_line - 1`` when there
    are none. Ask again from ``to_line + 1`` until ``end``.
    """

    from_line: int
    to_line: int
    content: str
    end: bool


class LineFound(BaseModel):
    """A line that fits. Of a long one ``text`` is the part around the place, which begins at character ``offset``."""

    line: int
    text: str
    offset: int
    cut: bool
    start: int = Field(description="Where in the line, as it is shown, it first fits; 0 without something to look for.")
    end: int = Field(description="Where that ends.")


class SearchShown(BaseModel):
    """What was found in the lines ``from_line`` to ``to_line``. Ask again from ``to_line + 1`` until ``end``. Where
    ``lacking``, a copy was searched that is not whole: a line of it says which are missing.
    """

    from_line: int
    to_line: int
    matches: list[LineFound]
    end: bool
    lacking: bool


class LogPlace(BaseModel):
    """Where a log is, so that somebody who finds none learns why. Of an archived copy with gaps ``archived`` is
    ``part``: its beginning and its last lines.
    """

    executor_address: str | None = Field(description="Who wrote it; null when nobody had the execution.")
    executor_seen: str | None = Field(description="The last beat of that executor; null when it has left.")
    archived: Literal["no", "part", "whole"]
    archived_at: str | None
    archiving: bool = Field(description="Whether logs are archived at all.")
    kept_until: str | None = Field(
        description="From then on it may have been removed; null while the execution is open."
    )


@router.get("/{execution_id}/log", dependencies=[needs(Permission.VIEW)])
async def log(
    execution_id: ExecutionId,
    tools: ToolsHere,
    caller: CallerHere,
    from_line: FromLine = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="Lines, at most.")] = 1000,
    tail: Annotated[
        int | None, Query(ge=1, le=TAIL_LIMIT, description="The last lines, so many, wherever they begin.")
    ] = None,
) -> LogShown:
    """A page of the execution's log, read from its executor or from the archive."""
    source = await source_for(tools, caller, execution_id)
    async with tools.log_places.place(source.app_name):
        if tail is not None:
            return _shown(await tools.logs.tail(source, tail))
        page = await tools.logs.page(source, from_line)
        lines = page.lines.beginning(limit)
        if lines.last < page.lines.last:
            return LogShown(from_line=lines.first, to_line=lines.last, content=lines.content, end=False)
        return _shown(page)


@router.get("/{execution_id}/log/place", dependencies=[needs(Permission.VIEW)])
async def place(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere) -> LogPlace:
    """Where the log of an execution is, and for how long. Nobody is asked for it."""
    source = await source_for(tools, caller, execution_id)
    kept, ended = source.archived, source.execution.handle_time
    address = source.execution.executor_address
    there = tools.roster.of_app_at(source.app_name, normal_address(address)) if address else None
    bound = tools.settings.logs.retention // timedelta(milliseconds=1)
    return LogPlace(
        executor_address=address,
        executor_seen=shown_instant(there.last_beat) if there else None,
        archived="no" if kept is None else "whole" if kept.complete else "part",
        archived_at=None if kept is None else shown_instant(kept.stored_at),
        archiving=tools.settings.logs.archive != "none",
        kept_until=None if ended is None else shown_instant(ended + bound),
    )


@router.get("/{execution_id}/log/search", dependencies=[needs(Permission.VIEW)])
async def search(
    execution_id: ExecutionId,
    request: Request,
    tools: ToolsHere,
    caller: CallerHere,
    q: Annotated[
        str | None, Query(min_length=1, max_length=500, description="What to look for, in lines as they are shown.")
    ] = None,
    regex: Annotated[bool, Query(description="Whether it is a regular expression.")] = False,
    ignore_case: bool = False,
    level: Annotated[
        list[Level] | None,
        Query(max_length=len(LEVELS), description="Only lines of this level; given again: of any of them."),
    ] = None,
    from_line: FromLine = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="Lines that fit, at most.")] = 100,
    patience: Annotated[
        float, Query(ge=0.1, le=PATIENCE, description="Seconds after which it looks no further, at most.")
    ] = PATIENCE,
) -> SearchShown:
    """The lines that say something, are of a level, or both. A traceback is an error, with all of its lines. A search
    that takes long stops early and says where; one whose caller leaves stops at once.
    """
    if q is None and not level:
        raise RequestValidationError([{"type": "missing", "loc": ("query", "q"), "msg": "Field required"}])
    source = await source_for(tools, caller, execution_id)
    wanted = Wanted(q or "", regex=regex, ignore_case=ignore_case, levels=frozenset(level or ()))
    searching = tools.searches.search(source, wanted, Part(from_line, limit, patience), caller.name)
    found = await unless_left(request, searching)
    hits = [LineFound(**asdict(hit)) for hit in found.hits]
    return SearchShown(from_line=from_line, to_line=found.to_line, matches=hits, end=found.end, lacking=found.lacking)


@router.get(
    "/{execution_id}/log/download",
    dependencies=[needs(Permission.VIEW)],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def download(
    execution_id: ExecutionId, request: Request, tools: ToolsHere, caller: CallerHere
) -> StreamingResponse:
    """The whole log as a file, as far as it is written."""
    check_origin(request, tools.settings)
    source = await source_for(tools, caller, execution_id)
    tools.live_logs.enter(caller.name)
    pages = tools.logs.pages(source, 1)
    try:
        async with tools.log_places.place(source.app_name):
            first = await anext(pages)
    except BaseException:
        tools.live_logs.leave(caller.name)
        await pages.aclose()
        raise
    return Download(_text(first, pages), tools, caller.name, f"execution-{execution_id}.log", pages)


async def source_for(tools: Tools, caller: Caller, execution_id: int) -> Source:
    """Where the log of an execution is, if the caller may see it."""
    source = await tools.logs.source(execution_id)
    caller.check(Permission.VIEW, source.execution.job_group, "execution", execution_id)
    return source


class Download(StreamingResponse):
    """A text to be kept as a file. When it cannot be read to its end the connection is closed before the last byte, so
    that nobody takes half a log for a whole one.
    """

    def __init__(
        self, text: AsyncIterator[bytes], tools: Tools, username: str, name: str, pages: AsyncGenerator[Page, None]
    ) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        super().__init__(text, media_type="text/plain", headers=headers)
        self._live, self._username, self._pages = tools.live_logs, username, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, patiently(send))
        except (Departed, OrthError):
            return
        finally:
            self._live.leave(self._username)
            await self._pages.aclose()


async def _text(first: Page, pages: AsyncIterator[Page]) -> AsyncIterator[bytes]:
    if first.lines.texts:
        yield _bytes(first)
    async for page in pages:
        if page.lines.texts:
            yield _bytes(page)


def _bytes(page: Page) -> bytes:
    return f"{page.lines.content}\n".encode("utf-8", "replace")


def _shown(page: Page) -> LogShown:
    lines = page.lines
    return LogShown(
        from_line=lines.first,
        to_line=lines.last,
        content=lines.content if lines.texts else page.note,
        end=page.end,
    )
