"""Every noteworthy fact as a frozen class, and the one way to tell it.

``Events.emit`` is how the walk speaks: the process log, the metrics, the live console and the tests all listen to the
same facts. A fact is a class with typed fields; its ``sentence`` is what a person reads in the log, and its ``level``
how loud. Listeners run in the emitter's thread, in order; one that raises is removed and reported, for a broken
listener must not stop the work it listens to.
"""

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar

log = logging.getLogger("orth")


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all facts. ``sentence`` may use the fields in braces. Where it goes on behind an error, the period of the
    error is left out.
    """

    level: ClassVar[int] = logging.INFO
    sentence: ClassVar[str] = ""

    def __str__(self) -> str:
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in _within(self.sentence):
            if isinstance(facts[name], str):
                facts[name] = facts[name].removesuffix(".")
        return self.sentence.format(**facts)


@cache
def _within(sentence: str) -> tuple[str, ...]:
    """The fields behind which a sentence goes on."""
    return tuple(re.findall(r"\{(\w+)\}(?=[;:,)])", sentence))


Listener = Callable[[Event], None]


class Events:
    """Where facts are told and heard."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners: tuple[Listener, ...] = listeners

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every fact from now on; call the result to stop."""
        self._listeners = (*self._listeners, listener)
        return lambda: self._drop(listener)

    def emit(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                self._drop(listener)
                with suppress(Exception):  # whoever writes the log may be what failed
                    log.exception("a listener failed on %s and was removed", type(event).__name__)

    def _drop(self, listener: Listener) -> None:
        self._listeners = tuple(other for other in self._listeners if other is not listener)


def to_log(event: Event) -> None:
    """The listener that writes facts to the process log, control characters escaped (one fact, one line)."""
    if not log.isEnabledFor(event.level):
        return
    text = str(event)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    with suppress(Exception):  # a handler of the program's own; the next line may get through
        log.log(event.level, "%s", text)


# --- loops
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoopFailed(Event):
    """A turn met an expected failure; the loop pauses and tries again."""

    level = logging.WARNING
    sentence = "{loop}: {error}; next try in {pause:.1f} s"
    loop: str
    error: str
    pause: float


@dataclass(frozen=True, slots=True)
class LoopCrashed(Event):
    """A turn met a bug. The process ends: a loop that is silently dead is worse than a restart."""

    level = logging.CRITICAL
    sentence = "{loop} crashed: {error}\n{traceback}"
    loop: str
    error: str
    traceback: str

    def __str__(self) -> str:
        # The traceback goes to the log in one line per frame elsewhere; here a single escaped line keeps the log
        # parseable.
        return f"{self.loop} crashed: {self.error} | {self.traceback.strip()}"
