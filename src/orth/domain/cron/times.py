"""The times of one day that an expression admits.

Seconds, minutes and hours are independent of each other, so a day is never written out: each unit has a table that
says which admitted value comes next (or came last) for every value it may have, and a search is three look-ups with
carries between them.
"""

from collections.abc import Set
from functools import lru_cache

NONE = 255  # in a table: no further value, carry into the next unit


class Times:
    """Seconds of the day, 0 to 86,399. Searches return -1 when the day has no (further) time."""

    __slots__ = (
        "_hour_from",
        "_hour_to",
        "_minute_from",
        "_minute_to",
        "_second_from",
        "_second_to",
        "first",
        "hours",
        "last",
        "minutes",
        "seconds",
    )

    def __init__(self, seconds: Set[int], minutes: Set[int], hours: Set[int]) -> None:
        self.seconds = tuple(sorted(seconds))
        self.minutes = tuple(sorted(minutes))
        self.hours = tuple(sorted(hours))
        self._second_from, self._second_to = _tables(seconds, 60)
        self._minute_from, self._minute_to = _tables(minutes, 60)
        self._hour_from, self._hour_to = _tables(hours, 24)
        self.first = self.hours[0] * 3600 + self.minutes[0] * 60 + self.seconds[0]
        self.last = self.hours[-1] * 3600 + self.minutes[-1] * 60 + self.seconds[-1]

    def at_or_after(self, time: int) -> int:
        minute, second = divmod(time, 60)
        hour, minute = divmod(minute, 60)
        second = self._second_from[second]
        if second == NONE:
            second = self.seconds[0]
            minute += 1
        following = self._minute_from[minute]
        if following != minute:
            second = self.seconds[0]
            minute = following
            if minute == NONE:
                minute = self.minutes[0]
                hour += 1
        following = self._hour_from[hour]
        if following != hour:
            return -1 if following == NONE else following * 3600 + self.minutes[0] * 60 + self.seconds[0]
        return hour * 3600 + minute * 60 + second

    def at_or_before(self, time: int) -> int:
        # A carry below zero reads index -1, the last entry, which is NONE.
        minute, second = divmod(time, 60)
        hour, minute = divmod(minute, 60)
        second = self._second_to[second]
        if second == NONE:
            second = self.seconds[-1]
            minute -= 1
        preceding = self._minute_to[minute]
        if preceding != minute:
            second = self.seconds[-1]
            minute = preceding
            if minute == NONE:
                minute = self.minutes[-1]
                hour -= 1
        preceding = self._hour_to[hour]
        if preceding != hour:
            return -1 if preceding == NONE else preceding * 3600 + self.minutes[-1] * 60 + self.seconds[-1]
        return hour * 3600 + minute * 60 + second


def _tables(values: Set[int], size: int) -> tuple[bytes, bytes]:
    """For each number below ``size``, the first of ``values`` from there on and the last up to there; then ``NONE``."""
    following, preceding = bytearray([NONE] * (size + 1)), bytearray([NONE] * (size + 1))
    near = NONE
    for value in reversed(range(size)):
        near = value if value in values else near
        following[value] = near
    near = NONE
    for value in range(size):
        near = value if value in values else near
        preceding[value] = near
    return bytes(following), bytes(preceding)


@lru_cache(maxsize=1024)
def times_of(seconds: frozenset[int], minutes: frozenset[int], hours: frozenset[int]) -> Times:
    """The table of these values; equal ones are shared, since most schedules of a fleet use few."""
    return Times(seconds, minutes, hours)
