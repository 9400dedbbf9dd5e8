"""Which lines of a log say something: page after page, as far as the time and the answer's size allow.

A search that stopped early says how far it came; asked again from the next line it goes on. So a log of any size is
searched in answers of bounded size and time.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field

from orth.clock import Clock
from orth.coordinator.logs.expressions import Fit, Matching
from orth.coordinator.logs.pages import Lines
from orth.coordinator.logs.reading import LogReading, Page, Source
from orth.errors import TooBusy

SEARCHES_AT_ONCE = 4
OF_ONE_CALLER = 2
"""Of these, so that nobody keeps everybody else from searching."""
PATIENCE = 10.0
"""Seconds after which no further page is read, at most."""
_SHOWN = 4_000
"""Characters of a line that are shown, around what was found."""
_SHOWN_TOGETHER = 1024 * 1024
_LINES_AT_ONCE = 50_000
"""Lines asked of an executor that gives more than a viewer needs: each question costs as much as many lines."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is looked through at once: from a line on, for so many lines that fit, and for so many seconds."""

    from_line: int
    limit: int
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that fits; ``text`` begins at character ``offset`` of it, and ``cut`` says that there is more."""

    line: int
    text: str
    offset: int
    cut: bool


@dataclass(slots=True)
class Found:
    """What a search found in the lines up to ``to_line``; ``end`` when that was the last one. ``lacking`` when some of
    it was looked for in a copy of the log that lacks lines.
    """

    to_line: int
    end: bool = False
    lacking: bool = False
    hits: list[Hit] = field(default_factory=list)
    size: int = 0


class Searches:
    """Searches through this coordinator, a few at a time: each reads a whole log."""

    def __init__(self, reading: LogReading, clock: Clock) -> None:
        self._reading = reading
        self._clock = clock
        self._inside: Counter[str] = Counter()
        """By caller."""

    async def search(
        self,
        source: Source,
        wanted: AbstractAsyncContextManager[Matching],
        part: Part,
        caller: str,
    ) -> Found:
        """The first lines of a ``part`` that fit what is ``wanted``, which begins here: what it costs is bounded with
        the rest.
        """
        if self._inside.total() >= SEARCHES_AT_ONCE:
            raise TooBusy.of("searches_full", limit=SEARCHES_AT_ONCE)
        if self._inside[caller] >= OF_ONE_CALLER:
            raise TooBusy.of("own_searches_full", limit=OF_ONE_CALLER)
        self._inside[caller] += 1
        try:
            async with wanted as matching:
                return await self._search(source, matching, part)
        finally:
            self._inside[caller] -= 1
            self._inside += Counter()  # those with none are forgotten

    async def _search(self, source: Source, matching: Matching, part: Part) -> Found:
        found = Found(part.from_line - 1)
        deadline = self._clock.monotonic() + min(part.patience, PATIENCE)
        async with aclosing(_ahead(self._reading.pages(source, part.from_line, lines=_LINES_AT_ONCE))) as pages:
            async for page in pages:
                found.lacking |= page.archived and source.archived is not None and not source.archived.complete
                if not page.lines.texts:
                    found.end = page.end
                    break
                full = _add(found, page.lines, await matching(page.lines.texts), part.limit)
                if full or page.end:
                    found.end = page.end and not full
                    break
                if self._clock.monotonic() >= deadline:
                    break
        return found


async def _ahead(pages: AsyncGenerator[Page, None]) -> AsyncGenerator[Page, None]:
    """The same pages; the next one is on its way while somebody looks at the one before."""
    async with aclosing(pages):
        coming = asyncio.ensure_future(anext(pages, None))
        try:
            while (page := await coming) is not None:
                coming = asyncio.ensure_future(anext(pages, None))
                yield page
        finally:
            coming.cancel()
            await asyncio.wait((coming,))


def _add(found: Found, lines: Lines, fits: list[Fit], limit: int) -> bool:
    """Add what fits; whether there is no room for more, which leaves ``to_line`` at the last one added."""
    for index, start, end in fits:
        hit = _hit(lines.first + index, lines.texts[index], start, end)
        found.hits.append(hit)
        found.size += len(hit.text)
        if len(found.hits) >= limit or found.size >= _SHOWN_TOGETHER:
            found.to_line = hit.line
            return True
    found.to_line = lines.last
    return False


def _hit(line: int, text: str, start: int, end: int) -> Hit:
    if len(text) <= _SHOWN:
        return Hit(line, text, 0, cut=False)
    begin = max(0, min(start - (_SHOWN - min(end - start, _SHOWN)) // 2, len(text) - _SHOWN))
    return Hit(line, text[begin : begin + _SHOWN], begin, cut=True)
