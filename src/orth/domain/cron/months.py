"""Which days of a month the two day fields admit, as bits: bit 0 is day 1.

A month is fully described by the weekday it begins with (Sunday = 0) and its length.
"""

from orth.domain.cron.days import DaysOfMonth
from orth.domain.cron.fields import Kind, Parsed, Part

_SUNDAY, _SATURDAY = 0, 6


def days_of_month(day: Parsed, weekday: Parsed, *, either: bool) -> DaysOfMonth:
    """The rule of both fields: ``either`` joins them by *or*, otherwise both must admit a day; ``?`` says nothing."""
    by_day, by_weekday = _by_day(day), _by_weekday(weekday)
    if weekday.unsaid:
        return by_day
    if day.unsaid:
        return by_weekday
    if either:
        return lambda begins, length: by_day(begins, length) | by_weekday(begins, length)
    return lambda begins, length: by_day(begins, length) & by_weekday(begins, length)


def _by_day(field: Parsed) -> DaysOfMonth:
    plain = sum(1 << (value - 1) for value in field.values())

    def of_month(begins: int, length: int) -> int:
        admitted = plain & ((1 << length) - 1)
        for part in field.parts:
            special = _special_day(part, begins, length)
            if special > 0:
                admitted |= 1 << (special - 1)
        return admitted

    return of_month


def _special_day(part: Part, begins: int, length: int) -> int:
    """The day a part with L or W stands for in this month; 0 or less if the month has none."""
    if part.kind is Kind.LAST_DAY:
        return length - part.first
    if part.kind is Kind.LAST_WORKDAY:
        return _workday_near(length, begins, length)
    if part.kind is Kind.NEAREST_WORKDAY and part.first <= length:
        return _workday_near(part.first, begins, length)
    return 0


def _workday_near(day: int, begins: int, length: int) -> int:
    weekday = (begins + day - 1) % 7
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else 3
    if weekday == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day


def _by_weekday(field: Parsed) -> DaysOfMonth:
    plain = field.values()

    def of_month(begins: int, length: int) -> int:
        admitted = 0
        for value in plain:
            for day in range((value - begins) % 7, length, 7):
                admitted |= 1 << day
        for part in field.parts:
            days = range((part.first - begins) % 7, length, 7)
            if part.kind is Kind.LAST_WEEKDAY:
                admitted |= 1 << days[-1]
            elif part.kind is Kind.NTH_WEEKDAY and part.last <= len(days):
                admitted |= 1 << days[part.last - 1]
        return admitted

    return of_month
