"""How bad a line of a log is: by the first word near its beginning that names a level, and a traceback is an error.

A traceback goes from its head over the indented lines to the line that names the exception, and on where another one
follows from it; its lines are errors whatever words they have. The console names the levels of single lines by the
same words (``console/src/parts/log/lines.ts``).
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Literal, get_args

from orth.coordinator.logs.expressions import Fit
from orth.coordinator.logs.shown import body_of

Level = Literal["error", "warning", "info", "debug", "other"]
LEVELS: tuple[Level, ...] = get_args(Level)

TRACEBACK_LINES = 2_000
"""A traceback that is longer ends there: so whoever begins in the middle need not look further back."""

_WORDS: dict[Level, tuple[str, ...]] = {
    "error": ("ERROR", "CRITICAL", "FATAL", "SEVERE"),
    "warning": ("WARNING", "WARN"),
    "info": ("INFO", "NOTICE"),
    "debug": ("DEBUG", "TRACE", "FINE"),
    "other": (),
}
_LEVEL_OF = {word: level for level, words in _WORDS.items() for word in words}
_NEAR = 80
"""Characters before the word, at most: what comes later is about something else."""
_LOOKED_AT = _NEAR + max(map(len, _LEVEL_OF)) + 1
_WORD = "|".join([word + r"(?<![\w-]" + word + ")" for word in _LEVEL_OF])
_NAMED = re.compile(rf"(?:{_WORD})(?![\w-])", re.ASCII)
"""A word of its own. What stands before it is looked at after it, which is three to ten times as fast."""

_HEAD = "Traceback (most recent call last):"
_GROUP_HEAD = "Exception Group Traceback"
_JOINS = ("During handling of the above exception", "The above exception was the direct cause")


def level_of(shown: str) -> Level:
    """The level of a line by its words, as it is shown."""
    found = _NAMED.search(shown[:_LOOKED_AT])
    return _LEVEL_OF[found[0]] if found and found.start() <= _NEAR else "other"


class LevelFilter:
    """Which lines are of some levels, in pages that come in order."""

    def __init__(self, levels: Iterable[Level]) -> None:
        self._levels = frozenset(levels)
        self._tracebacks = _Tracebacks()

    def kept(self, first: int, texts: Sequence[str], fits: Iterable[Fit] | None) -> list[Fit]:
        """Of lines from ``first`` on, as they are shown, those of the levels: among those that fit, or, without them,
        among all.
        """
        inside = self._tracebacks.inside(first, texts)
        if fits is None:
            fits = [(index, 0, 0) for index in self._candidates(texts, inside)]
        return [fit for fit in fits if ("error" if fit[0] in inside else level_of(texts[fit[0]])) in self._levels]

    def _candidates(self, texts: Sequence[str], inside: set[int]) -> Iterable[int]:
        """Lines that may be of the levels: most have none of the words, which is soon seen."""
        if "other" in self._levels:
            return range(len(texts))
        together = "\n".join(texts)
        words = [word for level in self._levels for word in _WORDS[level] if word in together]
        named = {index for word in words for index, text in enumerate(texts) if word in text}
        return sorted(named | inside)


class _Part(Enum):
    """Where in a traceback a line is."""

    OUTSIDE = auto()
    FRAMES = auto()
    GROUP = auto()
    """Of several exceptions, which are all indented: no line that is not belongs to it."""
    RAISED = auto()
    """At the exception."""
    BREAK = auto()
    """The empty line behind that: what follows says whether there is another one."""
    JOINT = auto()


class _Tracebacks:
    """Where tracebacks are, in pages that come in order."""

    def __init__(self) -> None:
        self._part = _Part.OUTSIDE
        self._length = 0
        self._next = 0

    def inside(self, first: int, texts: Sequence[str]) -> set[int]:
        """Which of the lines from ``first`` on are in a traceback."""
        if first != self._next:  # a log may have gaps
            self._part = _Part.OUTSIDE
        self._next = first + len(texts)
        found: set[int] = set()
        if self._part is _Part.OUTSIDE and _HEAD not in "\n".join(texts):
            return found
        for index, text in enumerate(texts):
            if self._part is not _Part.OUTSIDE or text.endswith(_HEAD):
                self._step(text)
                if self._part is not _Part.OUTSIDE:
                    found.add(index)
        return found

    def _step(self, text: str) -> None:
        self._length = 0 if self._part is _Part.OUTSIDE else self._length + 1
        self._part = _after(self._part, body_of(text)) if self._length < TRACEBACK_LINES else _Part.OUTSIDE


def _after(part: _Part, body: str) -> _Part:
    """Where a line is that says ``body``, after one that was at ``part``."""
    indented = body[:1] in {" ", "\t", "|", "+"}
    if part is _Part.GROUP and indented:
        return part
    if body.endswith(_HEAD):
        return _Part.GROUP if _GROUP_HEAD in body else _Part.FRAMES
    if part is _Part.FRAMES and body:
        return part if indented else _Part.RAISED
    if part in {_Part.RAISED, _Part.GROUP} and not body:
        return _Part.BREAK
    if (part is _Part.BREAK and body.startswith(_JOINS)) or (part is _Part.JOINT and not body):
        return _Part.JOINT
    return _Part.OUTSIDE
