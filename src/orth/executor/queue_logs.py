"""The logs of executions that came from a queue, sent while they are written, so that they outlive this executor.

A file that has grown is read on from where the last page ended, a moment later and many files at a time; the rest
follows with the result. Of a very long log its beginning is sent, and at the end its last lines: the numbers of the
lines show the gap, and all of it can be read here. Files are read no faster than the channels take their text. While
those are away, the logs of the newest executions that have ended are kept in mind and sent later.

What was sent may get lost all the same: the channels forget, or an earlier process did not come to it. The files stay,
and the coordinator that archives a log asks for what it misses (``LogsWanted``); whoever has the file sends it from
there on, once more.

A box holds only so many messages, and the end of a log must always fit. So the pages of a log that grows for long come
ever more rarely and are larger, and when most of the box is used up the rest is left out but for the last lines, as of
a very long log.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath

from orth.clock import Clock
from orth.events import Events
from orth.executor.queue_reports import AskedFor, Outgoing, Taken
from orth.executor.report_keys import KeptKeys
from orth.executor.run_logs import RunLogs
from orth.loop import Loop
from orth.wire.channel_messages import WantedLog

LOOK_EVERY = 0.25
ENDED_KEPT = 1_000
"""Executions that have ended whose log is not sent yet, at most."""
WITH_RESULT = 256 * 1024
"""Bytes of log that a result waits for; what is longer follows it."""
LAST_LINES = 200
_PAUSES = 20
"""A log is sent ever more rarely once it has used up this part of its box: one in so many."""
_RESERVE = 4
"""One in so many messages of a box is for the last lines."""
_IDLE = 60.0


@dataclass(slots=True, eq=False)
class _Feed:
    """How far the log of one execution has been sent."""

    taken: Taken | AskedFor
    begun_at: float
    due: float = 0.0
    """When to look at it again, unless it has ended."""
    next_line: int = 1
    sent: int = 0
    pieces: int = 0
    ended: bool = False
    wanted_from: int | None = None
    """The first line that did not arrive, once a coordinator has said so."""

    def go_back(self) -> None:
        """To what did not arrive."""
        wanted, self.wanted_from = self.wanted_from, None
        if wanted is not None and wanted < self.next_line:
            self.next_line, self.sent = wanted, 0
            self.pieces = 0 if wanted == 1 else self.pieces  # of an empty box there is all the room


class LogFeed(Loop):
    """Turns logs into drafts."""

    def __init__(
        self, logs: RunLogs, outgoing: Outgoing, wakes: Loop, clock: Clock, events: Events, *, limit: int, room: int
    ) -> None:
        """``limit`` is in bytes of a log, ``room`` in messages of its box."""
        super().__init__(clock, events)
        self._spread = max(1, room // _PAUSES)
        self._last = max(1, room // _RESERVE)
        self._most = room - self._last
        self._logs = logs
        self._outgoing = outgoing
        self._wakes = wakes
        self._limit = limit
        self._lock = threading.Lock()
        self._feeds: dict[int, _Feed] = {}
        self._grown: dict[int, None] = {}
        self._keys = KeptKeys(logs.directory)
        self._unlisten = logs.growth.listen(self._hear)

    def begin(self, taken: Taken) -> None:
        """Follow the log of an execution."""
        self._feeds[taken.id] = _Feed(taken, self.clock.monotonic())
        self._keys.keep(taken.id, taken.report_key)

    def drop(self, log_id: int) -> None:
        """It was not begun here."""
        self._feeds.pop(log_id, None)

    def end(self, executions: Iterable[Taken]) -> None:
        """They have ended: draft what is left of their logs, unless it is much. Reads files."""
        for taken in executions:
            feed = self._feeds.get(taken.id)
            if feed is None:
                continue
            feed.ended = True
            self._grown[taken.id] = None
            self._send(feed, WITH_RESULT)
        self._forget_oldest()
        if self._grown:
            self.wake()

    def send_again(self, wanted: Iterable[WantedLog], is_open: Callable[[int], bool]) -> None:
        """Send what coordinators miss of these logs, as far as they are here; ``is_open`` says what still runs. Those
        for which there is no room now are asked for again.
        """
        room = ENDED_KEPT - sum(feed.ended for feed in list(self._feeds.values()))
        for one in wanted:
            feed = self._feeds.get(one.execution_id)
            if feed is None and room > 0 and not is_open(one.execution_id):
                feed = self._feed_of_earlier(one)
                room -= feed is not None
            if feed is not None:
                feed.wanted_from = one.from_line
                self._grown[one.execution_id] = None
        if self._grown:
            self.wake()

    def _feed_of_earlier(self, wanted: WantedLog) -> _Feed | None:
        """For a log that is not being sent any more; None when it is not here."""
        log_id, log_time = wanted.execution_id, wanted.log_time
        if not self._logs.path_of(log_id, log_time).is_file():
            return None
        asked = AskedFor(wanted.job_id, log_id, log_time, self._keys.find(log_id))
        feed = self._feeds[log_id] = _Feed(asked, self.clock.monotonic(), next_line=wanted.from_line, ended=True)
        return feed

    def close(self) -> None:
        self._unlisten()

    async def turn(self) -> float:
        if self._grown:
            await asyncio.to_thread(self._send_grown)
            self._wakes.wake()
        return LOOK_EVERY if self._grown else _IDLE

    def _hear(self, path: str) -> None:
        """A log has grown; called by whoever writes it."""
        stem = PurePath(path).stem
        if stem.isdecimal() and (log_id := int(stem)) in self._feeds and log_id not in self._grown:
            first = not self._grown
            self._grown[log_id] = None
            if first:
                self.wake()

    def _send_grown(self) -> None:
        for log_id in list(self._grown):
            if self._outgoing.is_full:
                return
            feed = self._feeds.get(log_id)
            if feed is None:
                self._grown.pop(log_id, None)
            elif feed.ended or feed.due <= self.clock.monotonic():
                self._send(feed, self._limit)

    def _send(self, feed: _Feed, budget: int) -> None:
        """Draft pages until there are no more for now, or ``budget`` bytes are."""
        with self._lock:
            while feed.taken.id in self._feeds and not self._outgoing.is_full:
                self._grown.pop(feed.taken.id, None)  # first: what is written from here on is noted again
                sent = self._send_page(feed)
                budget -= sent
                if not sent:
                    now = self.clock.monotonic()
                    feed.due = now + max(LOOK_EVERY, (now - feed.begun_at) / self._spread)
                    return
                if budget <= 0:
                    break
            if feed.taken.id in self._feeds:
                self._grown[feed.taken.id] = None

    def _send_page(self, feed: _Feed) -> int:
        """Draft one page; how many bytes, 0 when there is nothing more for now."""
        feed.go_back()
        taken, ended = feed.taken, feed.ended
        if feed.sent >= self._limit or feed.pieces >= self._most:
            if ended:
                self._send_tail(feed)
            return 0
        page = self._logs.read(taken.id, taken.log_time, feed.next_line, finished=ended)
        text = page.content if page.to_line >= page.from_line else ""
        if text or page.to_line >= page.from_line or page.end:
            feed.pieces += self._outgoing.add_lines(taken, feed.next_line, text, end=page.end)
        feed.next_line, feed.sent = page.to_line + 1, feed.sent + len(text)
        if page.end:
            self._feeds.pop(taken.id, None)
            return 0
        return len(text) + (page.to_line >= page.from_line)

    def _send_tail(self, feed: _Feed) -> None:
        page = self._logs.tail(feed.taken.id, feed.taken.log_time, LAST_LINES, finished=True)
        lines = page.content.split("\n") if page.to_line >= page.from_line else []
        first = max(page.from_line, feed.next_line)
        text = "\n".join(lines[first - page.from_line :])
        self._outgoing.add_last_lines(feed.taken, first, text, follows=feed.next_line - 1, most=self._last)
        self._feeds.pop(feed.taken.id, None)

    def _forget_oldest(self) -> None:
        if len(self._feeds) <= ENDED_KEPT:
            return
        ended = [log_id for log_id, feed in list(self._feeds.items()) if feed.ended]
        for log_id in ended[:-ENDED_KEPT]:
            self._feeds.pop(log_id, None)
