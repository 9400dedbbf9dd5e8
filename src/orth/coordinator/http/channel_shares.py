"""How much of the channels one token has, so that a leaked one takes nothing from the others.

A process of ours has one ear and waits with two or three questions at a time; a token is shared by those of a group.
The token that all share is trusted and has no bound of its own.

What a token has put into boxes is counted for an hour: by then coordinators have taken it out. They do so elsewhere,
so nobody is asked what is left. Beyond its share a token still puts a little into each box: results must get through,
however much their executions have logged.
"""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orth.clock import Clock
from orth.errors import TooBusy

EARS = 2_500
"""Listeners of one token, a quarter of all."""
WAITS = 2_500
"""Questions of one token whose answers are held back at the same time."""
NAMES = 20 * WAITS
"""Names in such questions of one token. Those of our executors name ten queues, one for each priority, or twenty."""
BOXES_FULL = 32
"""As many boxes as one token fills within ``_COUNTED_FOR``, in characters."""
ALWAYS = 64 * 1024
"""Characters that a box takes although its token has had its share."""
_SHORT = 0.5
"""Seconds for which an answer may be held back without a word: who asks so often has to take turns."""
_COUNTED_FOR = 3_600.0
_PARTS = 60
_BOXES = 20_000


@dataclass(frozen=True, slots=True)
class Guest:
    """Who asks. Without a ``token_id`` it is the token that all share."""

    token_id: int | None = None
    closed: frozenset[str] = frozenset()
    """Boxes that take nothing: their executions ended long ago, or are gone, or were not given to who asks."""
    app_names: frozenset[str] | None = None
    """The apps of which it hears what is told to all; None: of all."""
    withheld: frozenset[str] = frozenset()
    """Boxes of which it reads only what coordinators have withdrawn."""
    waits: Callable[[], None] = lambda: None
    """Called when its answer is held back."""


class Shares:
    """What each token uses of one coordinator. For one event loop."""

    def __init__(self, box_size: int, clock: Clock) -> None:
        """``box_size`` is in characters of what one box takes."""
        self._box_size = box_size
        self._clock = clock
        self._waits: Counter[int] = Counter()
        self._names: Counter[int] = Counter()
        self._boxes: dict[str, int] = {}
        self._put: dict[int, deque[tuple[int, int]]] = {}
        """What each token has put into boxes: how much in which part of the hour, the oldest first."""

    @contextmanager
    def waiting(self, guest: Guest, wait: float, names: int = 1) -> Iterator[None]:
        """While the answer to a question about so many ``names`` is held back; ``TooBusy`` when too many are."""
        one = guest.token_id
        if wait >= _SHORT:
            guest.waits()
        if one is None or not wait:
            yield
            return
        if self._waits[one] >= WAITS:
            raise TooBusy("Too many questions of this token wait for an answer.")
        if self._names[one] + names > NAMES:
            raise TooBusy("Too many names are waited for with this token.")
        self._waits[one] += 1
        self._names[one] += names
        try:
            yield
        finally:
            self._waits[one] -= 1
            self._names[one] -= names
            if not self._waits[one]:
                del self._waits[one], self._names[one]

    def check_ears(self, guest: Guest, count: int) -> None:
        """``TooBusy`` when a token that has so many listeners may have no more."""
        if guest.token_id is not None and count >= EARS:
            raise TooBusy("Too many executors listen with this token.")

    def room(self, guest: Guest, boxes: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, int]:
        """Those of these boxes that take what is meant for them, and how much that is."""
        if guest.token_id is None:
            return dict.fromkeys(boxes.keys() - guest.closed, 0)
        left = BOXES_FULL * self._box_size - self._put_lately(guest.token_id)
        room: dict[str, int] = {}
        for box, said in boxes.items():
            size = len(json.dumps(said, ensure_ascii=False))
            filled = self._boxes.get(box, 0) + size
            if box not in guest.closed and filled <= self._box_size and (size <= left or filled <= ALWAYS):
                room[box] = size
                left -= size
        return room

    def took(self, guest: Guest, sizes: Mapping[str, int]) -> None:
        """So much was put into each of these boxes."""
        for box, size in sizes.items():
            if size:
                self._boxes[box] = self._boxes.pop(box, 0) + size
        while len(self._boxes) > _BOXES:
            del self._boxes[next(iter(self._boxes))]
        if guest.token_id is not None and (size := sum(sizes.values())):
            parts, now = self._put.setdefault(guest.token_id, deque()), self._part()
            before = parts.pop()[1] if parts and parts[-1][0] == now else 0
            parts.append((now, before + size))

    def _put_lately(self, token_id: int) -> int:
        parts, oldest = self._put.get(token_id), self._part() - _PARTS
        while parts and parts[0][0] <= oldest:
            parts.popleft()
        if not parts:
            self._put.pop(token_id, None)
        return sum(size for _part, size in parts or ())

    def _part(self) -> int:
        return int(self._clock.monotonic() / (_COUNTED_FOR / _PARTS))
