"""What has come due starts before what has ended is written down.

Hundreds of triggers may come due at one instant. The first handlers return while the last still wait for the
interpreter, and writing the end of a log, making a result and journalling it would make every start behind it that much
later. So while a crowd is starting, an execution whose handler has returned stands aside, for a moment at most; then
those that stood aside go on one after the other. Let go all at once they would only fight for the interpreter.

Nobody waits for a lock here: adding to a set or a queue and taking from it are single steps of Python. A waiter that is
overlooked in a race goes on by itself when its moment is over.
"""

import threading
from collections import deque
from contextlib import suppress

LONGEST = 0.2
"""Seconds a result waits for starts, at most."""
_CROWD = 4
"""With fewer to start, standing aside costs more than it saves."""


class StartsFirst:
    """Who is about to start, and who stands aside for them."""

    def __init__(self) -> None:
        self._starting: set[object] = set()
        self._more = False
        self._aside: deque[threading.Lock] = deque()

    def let_go(self, accepted: object) -> None:
        """Its time has come, and its thread is being woken."""
        self._starting.add(accepted)

    def more_due(self, more: bool) -> None:
        """Whether others have come due that are not let go yet."""
        self._more = more
        self._go_on()

    def passed(self, accepted: object) -> None:
        """Its handler is about to be called, or it has ended: whoever stands aside next may go on if all have."""
        self._starting.discard(accepted)
        self._go_on()

    def stand_aside(self) -> None:
        """Wait until no crowd is starting, ``LONGEST`` at most."""
        if not self._crowded:
            return
        turn = threading.Lock()
        turn.acquire()
        self._aside.append(turn)
        if not turn.acquire(timeout=LONGEST):
            with suppress(ValueError):  # somebody let us go on in that instant
                self._aside.remove(turn)

    @property
    def _crowded(self) -> bool:
        return self._more or len(self._starting) >= _CROWD

    def _go_on(self) -> None:
        if self._aside and not self._crowded:
            with suppress(IndexError):
                self._aside.popleft().release()
