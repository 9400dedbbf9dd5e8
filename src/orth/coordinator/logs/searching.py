"""Which lines of a log say something: page after page, as far as the time and the answer's size allow.

A search that stopped early says how far it came; asked again from the next line it goes on. So a log of any size is
searched in answers of bounded size and time.

Lines are searched as they are shown (``shown``), and answered as they are.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, field

from orth.clock import Clock
from orth.coordinator.logs.expressions import Fit, Matching, expression, literal
from orth.coordinator.logs.levels import TRACEBACK_LINES, Level, LevelFilter
from orth.coordinator.logs.pages import Lines
from orth.coordinator.logs.reading import LogReading, Page, Source
from orth.coordinator.logs.shown import place_in, shown_texts
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
class Wanted:
    """What is looked for: lines with a text, of some levels, or both. No text is in every line, and no levels are all
    of them.
    """

    text: str = ""
    regex: bool = False
    ignore_case: bool = False
    levels: frozenset[Level] = frozenset()

    @property
    def spelled(self) -> bool:
        """Whether it may be something that is shown spelled out."""
        return not self.regex and ("\\x" in self.text or "\\u" in self.text)

    def matching(self) -> AbstractAsyncContextManager[Matching | None]:
        """What finds the text; to be begun, which costs something."""
        if not self.text:
            return nullcontext()
        return (expression if self.regex else literal)(self.text, ignore_case=self.ignore_case)


@dataclass(frozen=True, slots=True)
class Part:
    """What is looked through at once: from a line on, for so many lines that fit, and for so many seconds."""

    from_line: int
    limit: int
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that fits; ``text`` begins at character ``offset`` of it, and ``cut`` says that there is more. It fits
    from ``start`` to ``end`` of what is shown of the line.
    """

    line: int
    text: str
    offset: int
    cut: bool
    start: int
    end: int


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
        wanted: Wanted,
        part: Part,
        caller: str,
    ) -> Found:
        """The first lines of a ``part`` that fit what is ``wanted``."""
        if self._inside.total() >= SEARCHES_AT_ONCE:
            raise TooBusy.of("searches_full", limit=SEARCHES_AT_ONCE)
        if self._inside[caller] >= OF_ONE_CALLER:
            raise TooBusy.of("own_searches_full", limit=OF_ONE_CALLER)
        self._inside[caller] += 1
        try:
            async with wanted.matching() as matching:
                return await self._search(source, _Fitting(wanted, matching), part)
        finally:
            self._inside[caller] -= 1
            self._inside += Counter()  # those with none are forgotten

    async def _search(self, source: Source, fitting: "_Fitting", part: Part) -> Found:
        found = Found(part.from_line - 1)
        deadline = self._clock.monotonic() + min(part.patience, PATIENCE)
        begin = max(1, part.from_line - fitting.before)
        async with aclosing(_ahead(self._reading.pages(source, begin, lines=_LINES_AT_ONCE))) as pages:
            async for page in pages:
                found.lacking |= page.archived and source.archived is not None and not source.archived.complete
                if not page.lines.texts:
                    found.end = page.end
                    break
                fits = await fitting.fits(page.lines)
                full = _add(found, (fitting.hit(page.lines, fit) for fit in fits), part, page.lines.last)
                if full or page.end:
                    found.end = page.end and not full
                    break
                if self._clock.monotonic() >= deadline and page.lines.last >= part.from_line:
                    break
        return found


class _Fitting:
    """What fits, in pages that come in order."""

    def __init__(self, wanted: Wanted, matching: Matching | None) -> None:
        self._spelled = wanted.spelled
        self._matching = matching
        self._levels = LevelFilter(wanted.levels) if wanted.levels else None

    @property
    def before(self) -> int:
        """How many lines before the first it has to see: what level a line has may follow from those before it."""
        return TRACEBACK_LINES if self._levels else 0

    async def fits(self, lines: Lines) -> list[Fit]:
        """Which of the lines fit, and where in what is shown of them."""
        shown = await asyncio.to_thread(shown_texts, lines.texts, spelled=self._spelled)
        fits = await self._matching(shown) if self._matching else None
        if self._levels:
            return await asyncio.to_thread(self._levels.kept, lines.first, shown, fits)
        return fits or []

    def hit(self, lines: Lines, fit: Fit) -> Hit:
        """What is shown of a line that fits: of a long one the part around the place."""
        index, *span = fit
        line, text = lines.first + index, lines.texts[index]
        if len(text) <= _SHOWN:
            return Hit(line, text, 0, False, *span)
        start, end = (place_in(text, place, spelled=self._spelled) for place in span)
        begin = max(0, min(start - (_SHOWN - min(end - start, _SHOWN)) // 2, len(text) - _SHOWN))
        return Hit(line, text[begin : begin + _SHOWN], begin, True, *span)


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


def _add(found: Found, hits: Iterable[Hit], part: Part, last: int) -> bool:
    """Add what was found in the lines up to ``last``; whether there is no room for more, which leaves ``to_line`` at
    the last one added.
    """
    for hit in hits:
        if hit.line < part.from_line:
            continue
        found.hits.append(hit)
        found.size += len(hit.text)
        if len(found.hits) >= part.limit or found.size >= _SHOWN_TOGETHER:
            found.to_line = hit.line
            return True
    found.to_line = max(found.to_line, last)
    return False
