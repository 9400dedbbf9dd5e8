"""A page of a log, from its executor or from the archive.

While an execution is open its executor has the log, and afterwards a whole copy in the archive is nearer. A copy that
is not whole is for when the executor is gone, or has cleaned up. Executors of ours give the last lines and wait for
new ones; the others are read from a line on, at once, and give all there is: their answer is read while it comes, so
whoever needs the whole of a log asks for its pages (``pages``), and they come out of one answer. An executor of queues
is not asked: its log is in a box.

What an executor says may be anything. A page whose numbers do not fit its text is refused as if there had been no
answer, and nobody is asked for a line beyond the last number a request can have: there the log ends.
"""

import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from orth.clock import Clock
from orth.coordinator.logs.archives import Archives
from orth.coordinator.logs.boxes import LogBoxes
from orth.coordinator.logs.pages import Lines, fits, lines_of, no_lines
from orth.coordinator.roster import Roster
from orth.domain.executions import TAKEN_PHASES, Execution, Status
from orth.domain.jobs import GroupDialect
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.errors import InvalidMessage, NotFound, Unavailable
from orth.store.database import Connection, Database
from orth.store.executions import find_execution
from orth.store.groups import groups_by_id
from orth.store.log_archives import ArchivedLog, find_archive
from orth.wire.executor_link import ExecutorLink
from orth.wire.fields import INT32_MAX
from orth.wire.messages import Extension, LogPage, LogRequest, ProgressTold

T = TypeVar("T")

TAIL_LIMIT = 1000
_TAIL_BYTES = 1024 * 1024
_TAIL_PATIENCE = 15.0
"""Seconds for which the end of a log is looked for where it can only be reached from its beginning."""


@dataclass(frozen=True, slots=True)
class Source:
    """An execution as it was when asked about, and where its log may be."""

    execution: Execution
    app_name: str
    dialect: GroupDialect
    archived: ArchivedLog | None

    @property
    def ours(self) -> bool:
        return self.execution.incarnation is not None


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines. ``end``: none follow. ``note`` says why there are none, where there is a reason."""

    lines: Lines
    end: bool
    note: str = ""
    closed: bool = False
    """Whether whoever has the log says himself that nothing follows, and can know."""
    held: bool = False
    """Whether the executor was asked to wait for lines, and can."""
    archived: bool = False


class LogReading:
    """Reads logs for everybody on this coordinator."""

    def __init__(
        self,
        db: Database,
        link: ExecutorLink,
        roster: Roster,
        archives: Archives,
        clock: Clock,
        *,
        token: str,
        boxes: LogBoxes | None = None,
    ) -> None:
        self._boxes = boxes
        self._db = db
        self._link = link
        self._roster = roster
        self._archives = archives
        self._clock = clock
        self._token = token

    async def source(self, execution_id: int) -> Source:
        """Where the log of an execution is. ``NotFound`` without such an execution."""
        return await self._db.read(_source, execution_id)

    async def page(self, source: Source, from_line: int, *, wait: int = 0) -> Page:
        """Lines from ``from_line`` on, as many as come at once. Where there are none yet and the executor can, it waits
        ``wait`` seconds for some.
        """
        return await _first(self._some(source, from_line, wait=wait))

    def pages(self, source: Source, from_line: int, *, lines: int | None = None) -> AsyncGenerator[Page, None]:
        """All there is from ``from_line`` on: up to the end, or to a page without lines. ``lines`` are how many there
        may be on one where the executor can. To be closed.
        """
        return _on_and_on(partial(self._some, source, lines=lines), from_line)

    def executor_pages(self, source: Source, from_line: int) -> AsyncGenerator[Page, None]:
        """The same, from the executor only."""
        return _on_and_on(partial(self._answer, source), from_line)

    async def _some(
        self, source: Source, from_line: int, *, wait: int = 0, lines: int | None = None
    ) -> AsyncGenerator[Page, None]:
        """The pages that are to be had for one question, from wherever they are."""
        kept = source.archived
        # What came in a box is nowhere else once it was archived, complete or not.
        only = kept is not None and (kept.complete or (source.execution.queue is not None and self._boxes is not None))
        if only and (found := await self._from_archive(kept, from_line)) is not None:
            yield found
            return
        try:
            async with aclosing(self._answer(source, from_line, wait=wait, lines=lines)) as answer:
                async for got in answer:
                    missing = kept is not None and _is_missing(got, from_line)
                    yield (await self._from_archive(kept, from_line) or got) if missing else got
                    from_line = got.lines.last + 1
        except Unavailable:
            found = await self._from_archive(kept, from_line)
            if found is None:
                raise
            yield found

    async def _answer(
        self, source: Source, from_line: int, *, wait: int = 0, lines: int | None = None
    ) -> AsyncGenerator[Page, None]:
        """The pages of one answer of the executor."""
        one = source.execution
        if one.queue is not None and self._boxes is not None:
            yield await self._box_page(source, self._boxes, from_line)
        elif one.executor_address is None:
            over = one.status.terminal
            yield Page(no_lines(from_line), over, (one.trigger_msg or "") if over else "", closed=over)
        elif from_line > INT32_MAX:
            yield Page(no_lines(from_line), True, closed=True)
        else:
            extensions = self._extensions(source)
            asked = LogRequest(
                log_id=one.id,
                log_date_time=one.trigger_time,
                from_line_num=from_line,
                wait=wait or None,
                lines=lines,
            )
            held = bool(wait) and Extension.FOLLOW_LOG in extensions
            async with aclosing(self._ask(source, asked, extensions)) as pages:
                async for got in pages:
                    page = _read(source, got, from_line)
                    yield replace(page, held=held)
                    from_line = page.lines.last + 1

    async def _box_page(self, source: Source, boxes: LogBoxes, from_line: int) -> Page:
        one = source.execution
        found = await boxes.page(one.job_id, one.id, from_line)
        over = one.status.terminal and not found.lines.texts
        note = (one.trigger_msg or "") if over and one.executor_address is None else ""
        return Page(found.lines, found.end or over, note, closed=found.end)

    async def tail(self, source: Source, count: int) -> Page:
        """The last ``count`` lines, fewer when they are long."""
        kept = source.archived
        if kept is not None and (kept.complete or not self._may_have(source)):
            lines = await self._archives.tail(kept, count)
            if lines is not None:
                return Page(lines, True, closed=True, archived=True)
        try:
            got = await self._executor_tail(source, count)
        except Unavailable:
            lines = None if kept is None else await self._archives.tail(kept, count)
            if lines is None:
                raise
            return Page(lines, True, closed=True, archived=True)
        if kept is not None and not got.lines.texts:
            lines = await self._archives.tail(kept, count)
            return got if lines is None else Page(lines, True, closed=True, archived=True)
        return got

    async def executor_progress(self, source: Source) -> ProgressTold | None:
        """How far the execution is, as its executor says; None when it does not."""
        one, extensions = source.execution, self._extensions(source)
        if one.executor_address is None or Extension.PROGRESS not in extensions:
            return None
        asked = LogRequest(log_id=one.id, log_date_time=one.trigger_time, tail=1, progress=True)
        return (await _first(self._ask(source, asked, extensions))).progress

    async def executor_tail(self, source: Source) -> Lines | None:
        """The last lines, if the executor can give them without reading all that is before."""
        if Extension.FOLLOW_LOG not in self._extensions(source):
            return None
        return (await self._executor_tail(source, TAIL_LIMIT)).lines

    async def _executor_tail(self, source: Source, count: int) -> Page:
        one = source.execution
        extensions = self._extensions(source)
        if one.queue is not None and self._boxes is not None:
            return await self._walked_tail(source, count)
        if one.executor_address is None:
            return await _first(self._answer(source, 1))
        if Extension.FOLLOW_LOG in extensions:
            asked = LogRequest(log_id=one.id, log_date_time=one.trigger_time, tail=count)
            got = await _first(self._ask(source, asked, extensions))
            return _read(source, got, got.from_line)
        return await self._walked_tail(source, count)

    async def _walked_tail(self, source: Source, count: int) -> Page:
        """The last lines of a log that can only be read from its beginning: all of it passes through here."""
        last: deque[str] = deque()
        size = 0
        deadline = self._clock.monotonic() + _TAIL_PATIENCE
        async with aclosing(self.executor_pages(source, 1)) as pages:
            async for page in pages:
                for text in page.lines.texts:
                    last.append(text)
                    size += len(text)
                    while len(last) > 1 and (len(last) > count or size > _TAIL_BYTES):
                        size -= len(last.popleft())
                if self._clock.monotonic() > deadline and page.lines.texts and not page.end:
                    line = page.lines.last + 1
                    raise Unavailable.of("log_too_long", line=line)
        if not last:
            return page
        return replace(page, lines=Lines(page.lines.last - len(last) + 1, page.lines.last, list(last)))

    async def _ask(
        self, source: Source, asked: LogRequest, extensions: frozenset[str]
    ) -> AsyncGenerator[LogPage, None]:
        address = source.execution.executor_address
        assert address is not None
        try:
            if source.ours:
                yield await self._link.log(
                    address,
                    asked,
                    token=self._token,
                    app_name=source.app_name,
                    extensions=extensions,
                    dialect=source.dialect,
                )
                return
            pages = self._link.log_pages(
                address, asked, token=self._token, app_name=source.app_name, dialect=source.dialect
            )
            async with aclosing(pages):
                async for page in pages:
                    yield page.model_copy(update={"content": _plain(page.content)})
        except InvalidMessage as error:
            raise Unavailable.of("not_a_log", address=address, said=str(error)) from None

    async def _from_archive(self, kept: ArchivedLog | None, from_line: int) -> Page | None:
        found = None if kept is None else await self._archives.page(kept, from_line)
        if found is None:
            return None
        lines, end = found
        return Page(lines, end, closed=end, archived=True)

    def _extensions(self, source: Source) -> frozenset[str]:
        if not source.ours or source.dialect not in (GroupDialect.AUTO, GroupDialect.ORTH):
            return frozenset()
        entry = self._entry(source)
        # One that has left the registry but had an incarnation is ours.
        return frozenset({Extension.FOLLOW_LOG}) if entry is None else entry.extensions

    def _may_have(self, source: Source) -> bool:
        """Whether the executor, or another process at its address, is there to be asked."""
        return self._entry(source) is not None or not source.ours

    def _entry(self, source: Source) -> ExecutorEntry | None:
        return self._roster.of_app_at(source.app_name, normal_address(source.execution.executor_address or ""))


_MARKUP = re.compile(r"<br>(?=-{5,} )")
"""What xxl-job writes before its own lines in the log of an execution, for its own page to break them there."""


def _plain(content: str) -> str:
    return _MARKUP.sub(" ", content) if "<br>-" in content else content


def _source(connection: Connection, execution_id: int) -> Source:
    found = find_execution(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    group = groups_by_id(connection, {found.job_group}).get(found.job_group)
    return Source(
        found,
        group.app_name if group else "",
        group.dialect if group else GroupDialect.AUTO,
        find_archive(connection, execution_id) if found.status.terminal else None,
    )


async def _first(found: AsyncGenerator[T, None]) -> T:
    async with aclosing(found):
        return await anext(found)


async def _on_and_on(some: Callable[[int], AsyncGenerator[Page, None]], line: int) -> AsyncGenerator[Page, None]:
    """Ask for ``some`` pages again and again, each time from the next line."""
    while True:
        async with aclosing(some(line)) as pages:
            async for page in pages:
                yield page
                if page.end or not page.lines.texts:
                    return
                line = page.lines.last + 1


def _read(source: Source, got: LogPage, from_line: int) -> Page:
    """What an executor's page means. Those of other makes call every end of the file the end, or a file that is not
    there yet: it counts once the execution is over. Ours know better, once they have it.
    """
    one = source.execution
    knows = source.ours and one.phase in TAKEN_PHASES
    ended = one.status.terminal or (got.end and knows)
    closed = got.end and ended
    if got.to_line < from_line or not (got.content or source.ours):
        # One of another make claims an empty line where there is nothing new; its real ones end with a line break.
        # The note comes with the end only: before, it would come again and again.
        # Of what it did not take an executor only knows that it has no such log; why is in the database.
        note = (one.trigger_msg or "") if one.status is Status.TRIGGER_FAILED else got.content
        return Page(no_lines(from_line), ended, note if ended else "", closed=closed)
    if not fits(from_line, got.to_line, got.content):
        address = one.executor_address or ""
        raise Unavailable.of("not_so_many_lines", address=address, first=from_line, last=got.to_line)
    lines = lines_of(from_line, got.to_line, got.content)
    return Page(lines, got.end and ended, closed=closed)


def _is_missing(page: Page, from_line: int) -> bool:
    return page.end and not page.lines.texts and (bool(page.note) or from_line == 1)
