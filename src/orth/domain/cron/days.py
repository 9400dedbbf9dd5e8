"""The days that an expression admits, from 1970 to 2199.

Whether a day is admitted depends on its month, on the weekday the month begins with and on the month's length; so all
years that begin on the same weekday and are equally long admit the same days. There are fourteen such kinds of year.
Each kind's admitted days are one integer with a bit per day, made when first needed, and finding the next day is a
shift; a year without any is one step. A search therefore takes at most 230 steps however rare the day is.

Weekdays count from Sunday = 0. A day is the number of days since 1970-01-01; searches return -1 when there is no
(further) day.
"""

import calendar
from bisect import bisect_right
from collections.abc import Callable
from datetime import date

FIRST_YEAR = 1970
LAST_YEAR = 2199
_YEARS = LAST_YEAR - FIRST_YEAR + 1
_EPOCH = date(1970, 1, 1).toordinal()

# The day each year begins with; one more for the end of the last.
_BEGIN = tuple(date(year, 1, 1).toordinal() - _EPOCH for year in range(FIRST_YEAR, LAST_YEAR + 2))
END = _BEGIN[-1]  # the first day after the last year
# What a year is like: twice the weekday of 1 January, plus one in leap years.
_KIND = tuple(
    date(year, 1, 1).isoweekday() % 7 * 2 + calendar.isleap(year) for year in range(FIRST_YEAR, LAST_YEAR + 1)
)

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

DaysOfMonth = Callable[[int, int], int]
"""From the weekday of the first day and the length of a month to its admitted days: bit 0 is day 1."""


class Days:
    """The admitted days: some months of some years, and in each month what ``of_month`` says."""

    __slots__ = ("_kinds", "_months", "_of_month", "_years")

    def __init__(self, of_month: DaysOfMonth, months: frozenset[int], years: frozenset[int] | None) -> None:
        self._of_month = of_month
        self._months = months
        self._years = years if years is None else frozenset(year - FIRST_YEAR for year in years)
        self._kinds: list[int | None] = [None] * 14

    def at_or_after(self, day: int) -> int:
        day = max(day, 0)
        first = bisect_right(_BEGIN, day) - 1
        if first >= _YEARS:
            return -1
        ahead = self._year(first) >> (day - _BEGIN[first])
        if ahead:
            return day + (ahead & -ahead).bit_length() - 1
        for year in range(first + 1, _YEARS):
            days = self._year(year)
            if days:
                return _BEGIN[year] + (days & -days).bit_length() - 1
        return -1

    def at_or_before(self, day: int) -> int:
        day = min(day, END - 1)
        first = bisect_right(_BEGIN, day) - 1
        if first < 0:
            return -1
        behind = self._year(first) & ((2 << (day - _BEGIN[first])) - 1)
        if behind:
            return _BEGIN[first] + behind.bit_length() - 1
        for year in reversed(range(first)):
            days = self._year(year)
            if days:
                return _BEGIN[year] + days.bit_length() - 1
        return -1

    def admit(self, day: int) -> bool:
        return self.at_or_after(day) == day

    def _year(self, index: int) -> int:
        """The admitted days of a year, bit 0 being 1 January."""
        if self._years is not None and index not in self._years:
            return 0
        kind = _KIND[index]
        known = self._kinds[kind]
        if known is None:
            known = self._kinds[kind] = self._year_like(kind)
        return known

    def _year_like(self, kind: int) -> int:
        weekday, leap = divmod(kind, 2)
        days = begin = 0
        for month, length in enumerate(_LENGTHS, start=1):
            length += leap if month == 2 else 0
            if month in self._months:
                days |= self._of_month((weekday + begin) % 7, length) << begin
            begin += length
        return days


def date_of(day: int) -> date:
    """The calendar date of a day number."""
    return date.fromordinal(_EPOCH + day)
