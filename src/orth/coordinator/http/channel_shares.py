"""How much of the channels one token has, so that a leaked one takes nothing from the others.

A process of ours has one ear and waits with two or three questions at a time; a token is shared by those of a group.
The token that all share is trusted and has no bound of its own.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orth.errors import TooBusy

EARS = 2_500
"""Listeners of one token, a quarter of all."""
WAITS = 2_500
"""Questions of one token whose answers are held back at the same time."""
_BOXES = 20_000


@dataclass(frozen=True, slots=True)
class Guest:
    """Who asks. Without a ``token_id`` it is the token that all share."""

    token_id: int | None = None
    closed: frozenset[str] = frozenset()
    """Boxes that take nothing more: their executions ended long ago."""


class Shares:
    """What each token uses of one coordinator. For one event loop."""

    def __init__(self, box_size: int) -> None:
        """``box_size`` is in characters of what one box takes."""
        self._box_size = box_size
        self._waits: Counter[int] = Counter()
        self._boxes: dict[str, int] = {}

    @contextmanager
    def waiting(self, guest: Guest, wait: float) -> Iterator[None]:
        """While an answer is held back; ``TooBusy`` when too many are."""
        one = guest.token_id
        if one is None or not wait:
            yield
            return
        if self._waits[one] >= WAITS:
            raise TooBusy("Too many questions of this token wait for an answer.")
        self._waits[one] += 1
        try:
            yield
        finally:
            self._waits[one] -= 1
            if not self._waits[one]:
                del self._waits[one]

    def check_ears(self, guest: Guest, count: int) -> None:
        """``TooBusy`` when a token that has so many listeners may have no more."""
        if guest.token_id is not None and count >= EARS:
            raise TooBusy("Too many executors listen with this token.")

    def room(self, guest: Guest, boxes: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, int]:
        """Those of these boxes that take what is meant for them, and how much that is."""
        if guest.token_id is None:
            return dict.fromkeys(boxes, 0)
        sizes = {box: len(json.dumps(said, ensure_ascii=False)) for box, said in boxes.items()}
        return {
            box: size
            for box, size in sizes.items()
            if box not in guest.closed and self._boxes.get(box, 0) + size <= self._box_size
        }

    def took(self, sizes: Mapping[str, int]) -> None:
        """So much was put into each of these boxes."""
        for box, size in sizes.items():
            if size:
                self._boxes[box] = self._boxes.pop(box, 0) + size
        while len(self._boxes) > _BOXES:
            del self._boxes[next(iter(self._boxes))]
