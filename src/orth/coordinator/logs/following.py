"""Logs as they are written, for any number of watchers.

Each watched execution has one reader, which asks its executor for the next line and keeps what came last. A watcher is
a generator: it takes what it has not seen from there, or, when that is no longer kept, reads it by itself. So a slow
one delays nobody and costs no memory. With the last watcher the reader goes. Whoever asks for a line that is far from
being written waits for it; for those who come after him the reader goes back to the end of what there is.

The end is told when the execution is over and every line was given: an executor of ours says so itself, the others
have ended it once the database says that it is over and there is nothing more to read.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.coordinator.logs.pages import Lines
from orth.coordinator.logs.reading import LogReading, Page, Source
from orth.domain.executions import UNSENT_PHASES
from orth.errors import NotFound, OrthError, TooBusy, Unavailable

BEAT_EVERY = 15.0
"""Seconds of silence after which a watcher is told that all is well."""
HELD_FOR = 20
"""Seconds for which an executor is asked to wait for a line."""
_KEPT_CHARACTERS = 1024 * 1024
_KEPT_LINES = 10_000
_AFTER_END = 10.0
"""Seconds for which lines may still come from an executor of ours whose execution is over: it was killed, or lost."""
_TRIES_AFTER_END = 3
_UNTIL_REPORTED = 5.0
"""Seconds for which the end waits for the result, which an executor sends after the last line."""
_LOOK_AGAIN = 0.2
_SHARE = 3
"""An executor that has to be asked is at rest for so much longer than it took to answer: some read the whole file."""
_LONGEST_REST = 10.0


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing new, and all is well."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """The log cannot be read just now; it is tried again."""

    message: str


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing follows. ``note`` says why there are no lines, where there is a reason."""

    last_line: int
    status: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stopping:
    """This coordinator stops: another one goes on from the next line."""


Told = Lines | Beat | Trouble | Over | Stopping


class LiveLogs:
    """Everybody who watches a log through this coordinator."""

    def __init__(
        self,
        reading: LogReading,
        clock: Clock,
        *,
        poll: timedelta,
        longest_poll: timedelta,
        streams: int,
        per_user: int,
    ) -> None:
        self._reading = reading
        self._clock = clock
        self._polls = (poll.total_seconds(), longest_poll.total_seconds())
        self._limits = (streams, per_user)
        self._by_user: dict[str, int] = {}
        self._readers: dict[int, _Reader] = {}
        self._stopping = False

    @property
    def streams(self) -> int:
        return sum(self._by_user.values())

    @property
    def readers(self) -> int:
        return len(self._readers)

    def enter(self, username: str) -> None:
        """Take a place for one more watcher; ``leave`` gives it back."""
        streams, per_user = self._limits
        if self._stopping:
            raise Unavailable.of("watchers_stopping")
        if self.streams >= streams:
            raise Unavailable.of("watchers_full", limit=streams)
        if self._by_user.get(username, 0) >= per_user:
            raise TooBusy.of("own_watchers_full", name=username, limit=per_user)
        self._by_user[username] = self._by_user.get(username, 0) + 1

    def leave(self, username: str) -> None:
        self._by_user[username] -= 1
        if not self._by_user[username]:
            del self._by_user[username]

    async def watch(self, execution_id: int, from_line: int = 1) -> AsyncGenerator[Told, None]:
        """What there is from ``from_line`` on, then what comes, to the end; a beat whenever it is quiet for long."""
        line = from_line
        heard: Trouble | None = None
        while not self._stopping:
            read = nothing_more = False
            async with aclosing(self._by_itself(execution_id, line)) as coming:
                async for lines in coming:
                    if not lines.texts:
                        nothing_more = True
                        break
                    yield lines
                    read, line = True, lines.last + 1
            if read and not nothing_more:
                continue
            with self._reader(execution_id, line) as reader:
                if nothing_more:
                    reader.begin_no_later(line)
                if not reader.has(line):
                    yield Trouble(f"Lines {line} to {reader.first - 1} cannot be read just now.")
                    await self._clock.sleep_unless(asyncio.Event(), max(self._polls))
                while reader.has(line) and not self._stopping:
                    news = reader.news  # taken before looking: what comes meanwhile is not overlooked
                    found: Told | None = reader.since(line)
                    if found is None and reader.trouble is not heard:
                        found = heard = reader.trouble
                    if found is None:
                        await self._clock.sleep_unless(news, BEAT_EVERY)
                        if news.is_set():
                            continue
                        found = Beat()
                    yield found
                    if isinstance(found, Over):
                        return
                    line = found.last + 1 if isinstance(found, Lines) else line
        yield Stopping()

    def stop(self) -> None:
        """Let every watcher go."""
        self._stopping = True
        for reader in self._readers.values():
            reader.tell()

    async def _by_itself(self, execution_id: int, line: int) -> AsyncGenerator[Lines, None]:
        """The next lines as long as the reader of all does not have them, none when there are none yet; nothing at all
        when it has them, or nobody can have them now.
        """
        if self._has(execution_id, line):
            return
        try:
            source = await self._reading.source(execution_id)
            async with aclosing(self._reading.pages(source, line)) as pages:
                async for page in pages:
                    yield page.lines
                    if self._stopping or self._has(execution_id, page.lines.last + 1):
                        return
        except Unavailable:  # the reader tries again, and tells
            return

    def _has(self, execution_id: int, line: int) -> bool:
        reader = self._readers.get(execution_id)
        return reader is not None and reader.has(line)

    @contextmanager
    def _reader(self, execution_id: int, line: int) -> Iterator["_Reader"]:
        reader = self._readers.get(execution_id)
        if reader is None:
            reader = self._readers[execution_id] = _Reader(execution_id, line, self._reading, self._clock, self._polls)
        reader.watchers += 1
        try:
            yield reader
        finally:
            reader.watchers -= 1
            if not reader.watchers:
                self._readers.pop(execution_id, None)
                reader.task.cancel()


class _Reader:
    """Reads one log for all who watch it, from the line at which the first of them had read all there was."""

    def __init__(
        self, execution_id: int, line: int, reading: LogReading, clock: Clock, polls: tuple[float, float]
    ) -> None:
        self.watchers = 0
        self.news = asyncio.Event()
        self._execution_id = execution_id
        self._reading = reading
        self._clock = clock
        self._polls = polls
        self._pause = polls[0]
        self._next = line
        self._kept: deque[Lines] = deque()
        self._size = 0
        self.trouble: Trouble | None = None
        """Why the log cannot be read, while it cannot."""
        self._over: Over | None = None
        self.task = self._started()

    def tell(self) -> None:
        """Something is new. The event is used once, so that nobody clears what another has not seen."""
        told, self.news = self.news, asyncio.Event()
        told.set()

    @property
    def first(self) -> int:
        """The first line that is kept, or the next to come."""
        return self._kept[0].first if self._kept else self._next

    def has(self, line: int) -> bool:
        """Whether the line is kept, or will come."""
        return line >= self.first

    def begin_no_later(self, line: int) -> None:
        """Go back to ``line``, at which there is nothing yet, if this waits for one beyond it."""
        if self._kept or line >= self._next:
            return
        self._next = line
        if self._over is None:
            self.task.cancel()
            self.task = self._started()

    def since(self, line: int) -> Lines | Over | None:
        for lines in self._kept:
            if lines.last >= line:
                return lines.since(line)
        return self._over

    def _started(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._run(), name=f"log of execution {self._execution_id}")

    async def _run(self) -> None:
        try:
            await self._read_on()
        except NotFound as error:
            self._end(Over(self._next - 1, "", error.message))
        except Exception:
            # Nobody waits for this task: without a word its watchers would wait for ever.
            self._end(Over(self._next - 1, "", "The log could not be read further."))
            raise

    async def _read_on(self) -> None:
        over_since: float | None = None
        failures = 0
        while self._over is None:
            began = self._clock.monotonic()
            source = await self._source()
            if source is None:
                continue
            if source.execution.status.terminal and over_since is None:
                over_since = began
            try:
                page = await self._reading.page(source, self._next, wait=HELD_FOR)
            except OrthError as error:
                failures += 1
                if source.execution.status.terminal and failures >= _TRIES_AFTER_END:
                    self._end(Over(self._next - 1, source.execution.status, error.message))
                    return
                await self._fail(error)
                continue
            failures, self.trouble = 0, None
            self._add(page.lines)
            if page.end and (page.closed or not source.ours or _long_over(over_since, began)):
                await self._end_when_reported(source, page)
            elif not page.lines.texts and not (page.held and self._clock.monotonic() - began > HELD_FOR / 2):
                # While it waits to be sent only the database is asked, and its first lines should not be late.
                took = 0.0 if page.held else self._clock.monotonic() - began
                await self._rest(longer=source.execution.phase not in UNSENT_PHASES, took=took)

    async def _source(self) -> Source | None:
        try:
            return await self._reading.source(self._execution_id)
        except NotFound:
            raise
        except OrthError as error:
            await self._fail(error)
            return None

    def _add(self, lines: Lines) -> None:
        if not lines.texts:
            return
        self._pause = self._polls[0]
        self._kept.append(lines)
        self._size += _size(lines)
        while len(self._kept) > 1 and (self._size > _KEPT_CHARACTERS or _count(self._kept) > _KEPT_LINES):
            self._size -= _size(self._kept.popleft())
        self._next = lines.last + 1
        self.tell()

    async def _end_when_reported(self, source: Source, page: Page) -> None:
        """Tell the end, with the status; the result comes a moment after the last line."""
        deadline = self._clock.monotonic() + _UNTIL_REPORTED
        status = source.execution.status
        while not status.terminal and self._clock.monotonic() < deadline:
            await self._clock.sleep_unless(asyncio.Event(), _LOOK_AGAIN)
            with suppress(Unavailable):
                status = (await self._reading.source(self._execution_id)).execution.status
        self._end(Over(self._next - 1, status, page.note))

    def _end(self, over: Over) -> None:
        self._over = over
        self.tell()

    async def _fail(self, error: OrthError) -> None:
        if self.trouble is None:  # told once, not with every try
            self.trouble = Trouble(error.message)
            self.tell()
        await self._rest()

    async def _rest(self, *, longer: bool = True, took: float = 0.0) -> None:
        await self._clock.sleep_unless(asyncio.Event(), max(self._pause, min(_SHARE * took, _LONGEST_REST)))
        if longer:
            self._pause = min(self._pause * 1.5, max(self._polls))


def _long_over(since: float | None, now: float) -> bool:
    return since is not None and now - since >= _AFTER_END


def _size(lines: Lines) -> int:
    return sum(map(len, lines.texts))


def _count(kept: deque[Lines]) -> int:
    return sum(len(lines.texts) for lines in kept)
