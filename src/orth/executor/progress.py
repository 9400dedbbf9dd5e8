"""How far an execution has come: what ``ctx.progress`` and ``ctx.track`` say, kept short enough to be told.

A handler may report every row it copies. The newest value is always kept; it is told (to the log, and to whoever
observes) at most twice a second, and once more at the end, so that the last value is the true one.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

from orth.clock import Clock
from orth.domain.executions import cut
from orth.wire.messages import ProgressTold

SHORTEST_PAUSE = 0.5
"""Seconds between two values that are told."""
_TOLD_TEXT = 1_000
"""Characters of its message that coordinators are told."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A value of progress; ``total`` and what follows from it are ``None`` when nobody knows how much there is."""

    done: float
    total: float | None = None
    message: str = ""
    eta: float | None = None
    """Seconds that are left if it goes on as it has gone."""

    @property
    def fraction(self) -> float | None:
        """From 0 to 1."""
        if self.total is None:
            return None
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0 else 1.0

    def told(self) -> ProgressTold | None:
        """As coordinators are told; None when ``done`` is no number that can be written."""
        if not math.isfinite(self.done):
            return None
        total, eta = (one if one is not None and math.isfinite(one) else None for one in (self.total, self.eta))
        return ProgressTold(done=self.done, total=total, message=cut(self.message, _TOLD_TEXT), eta=eta)

    def __str__(self) -> str:
        counts = f"{self.done:g}" if self.total is None else f"{self.done:g}/{self.total:g}"
        percent = "" if self.fraction is None else f" ({self.fraction:.0%})"
        left = f", {self.eta:.0f} s left" if self.eta else ""
        return f"{counts}{percent}{self.message and f' {self.message}'}{left}"


Tell = Callable[[Progress], None]


def as_number(value: object, name: str) -> float:
    """``value`` if it is a number of any kind; ``TypeError`` that says what is expected if it is not."""
    if isinstance(value, int | float):
        return value
    try:
        if not isinstance(value, str | bytes | bytearray):
            return float(value)  # type: ignore[arg-type]  # whether it can be one is the question
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"ctx.progress(done, total=None, message='') takes numbers for done and total, but {name} is {value!r:.100}. "
        "A text goes into message."
    )


class ProgressKeeper:
    """The progress of one execution. Safe from any thread."""

    def __init__(self, clock: Clock, tell: Tell) -> None:
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()
        self._newest: Progress | None = None
        self._untold: Progress | None = None
        self._begun: tuple[float, float] | None = None
        self._told_at: float | None = None

    @property
    def newest(self) -> Progress | None:
        return self._newest

    def report(self, done: float, total: float | None, message: str) -> None:
        """Keep a value, and tell it unless another was told a moment ago."""
        now = self._clock.monotonic()
        with self._lock:
            value = Progress(done, total, message, self._eta(now, done, total))
            self._newest = self._untold = value
            if self._told_at is not None and now - self._told_at < SHORTEST_PAUSE:
                return
            self._told_at, self._untold = now, None
        self._tell(value)

    def finish(self) -> None:
        """Tell the last value, if it came too soon after the one before."""
        with self._lock:
            value, self._untold = self._untold, None
        if value is not None:
            self._tell(value)

    def _eta(self, now: float, done: float, total: float | None) -> float | None:
        """By the pace since the first value, or since the count went back to begin anew."""
        if self._begun is None or (self._newest is not None and done < self._newest.done):
            self._begun = (now, done)
        since, at_first = self._begun
        if total is None or done <= at_first or now <= since:
            return None
        return max(0.0, total - done) * (now - since) / (done - at_first)
