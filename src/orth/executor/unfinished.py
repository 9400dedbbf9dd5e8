"""Printed text of one execution whose line has no end yet.

Every thread has a line of its own on each stream: threads that print at the same time do not mix their lines, and no
lock is needed. One would be held while the garbage collector runs a destructor of the author's, and those print too.
Taking what a thread has so far is one step for Python, so such a print finds nothing half done.
"""

import threading

from orth.executor.log_writing import LINE_LIMIT
from orth.executor.masking import NOTHING_HIDDEN, Mask


class Unfinished:
    """What is kept of each thread and stream until its line ends."""

    def __init__(self, mask: Mask = NOTHING_HIDDEN) -> None:
        self._mask = mask
        self._texts: dict[tuple[int, int], str] = {}

    def add(self, stream: object, text: str) -> list[str]:
        """The lines that ``text``, written to ``stream`` in this thread, brings to an end."""
        place = (threading.get_ident(), id(stream))
        *lines, rest = (self._texts.pop(place, "") + text).split("\n")
        if len(rest) > LINE_LIMIT:
            rest = self._mask.hide(rest)
            kept = max(0, self._mask.longest - 1)  # it may be the beginning of a secret
            lines, rest = [*lines, rest[: len(rest) - kept]], rest[len(rest) - kept :]
        if rest:
            rest = _last_state(rest)
            self._texts[place] = rest + self._texts.pop(place, "")  # a destructor may have begun a line meanwhile
        return [_last_state(line) for line in lines]

    def finish(self) -> list[str]:
        """At the end of the execution: all lines as far as they go, of all threads."""
        taken = [self._texts.pop(place, "") for place in tuple(self._texts)]
        return [_last_state(text) for text in taken if text]

    def finish_own(self) -> list[str]:
        """Those of this thread, the only one there is in a forked child."""
        thread = threading.get_ident()
        taken = [self._texts.pop(place, "") for place in tuple(self._texts) if place[0] == thread]
        return [_last_state(text) for text in taken if text]


def _last_state(line: str) -> str:
    """What a terminal would show of a line that a progress bar rewrote with carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2]
