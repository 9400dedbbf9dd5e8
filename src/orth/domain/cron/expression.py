"""From the text of an expression to the days and times it admits; zones come later.

The number of fields tells the dialect: five are Unix (minute first), six or seven are Quartz (second first, the year
optional).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from orth.domain.cron.days import FIRST_YEAR, LAST_YEAR, Days
from orth.domain.cron.fields import QUARTZ, UNIX, Fragment, Parsed
from orth.domain.cron.months import days_of_month
from orth.domain.cron.times import Times, times_of
from orth.errors import InvalidSchedule

LENGTH_LIMIT = 256

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Dialect(StrEnum):
    UNIX = "unix"
    QUARTZ = "quartz"


@dataclass(frozen=True, slots=True)
class Expression:
    """An understood expression: its fields as written, and the days and times they admit on the wall clock."""

    text: str
    dialect: Dialect
    fields: tuple[Parsed, ...]
    days: Days
    times: Times
    either_day: bool  # the two day fields are joined by *or*

    @property
    def every_hour(self) -> bool:
        return len(self.times.hours) == 24

    def field(self, name: str) -> Parsed | None:
        return next((parsed for parsed in self.fields if parsed.field.name == name), None)


def read(text: str) -> Expression:
    """The expression ``text`` stands for; refuses what is not understood and what never fires."""
    if len(text) > LENGTH_LIMIT:
        raise InvalidSchedule(
            f"The expression has {len(text)} characters; the limit is {LENGTH_LIMIT}.",
            text=text[:40] + "…",
            position=40,
            hint="Write ranges and steps (0-30, */5) instead of long lists.",
        )
    return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Expression:
    odd = re.search(r"[^\t!-~ ]", text)
    if odd:
        raise Fragment(text, odd.start(), odd.end()).refused(
            f"The character {odd[0]!r} cannot stand in an expression.", "Write plain letters, digits and spaces."
        )
    source = _expand(text)
    words = [Fragment(source, found.start(), found.end()) for found in re.finditer(r"\S+", source)]
    if len(words) == 5:
        return _unix(text, words)
    if len(words) in (6, 7):
        return _quartz(text, words)
    wrong = words[7] if len(words) > 7 else Fragment(source, 0, len(source))
    raise wrong.refused(
        f"A cron expression has 5, 6 or 7 fields; this has {len(words)}.",
        "Write 5 (minute hour day-of-month month day-of-week) or put the second first and, if you like, a year last.",
    )


def _expand(text: str) -> str:
    """The fields a macro stands for; any other text as it is."""
    word = text.strip().lower()
    if not word.startswith("@"):
        return text
    if word in MACROS:
        return MACROS[word]
    if word.startswith("@every"):
        hint = "Use the schedule type FIX_RATE, with a duration such as 5m."
    elif word == "@reboot":
        hint = "A schedule knows no machine starts; trigger the job through the API instead."
    else:
        hint = f"The names are {' '.join(MACROS)}."
    at = text.index("@")
    raise Fragment(text, at, at + len(word)).refused(f"{word} is not a name for a schedule.", hint)


def _unix(text: str, words: list[Fragment]) -> Expression:
    fields = tuple(field.parse(word) for field, word in zip(UNIX, words, strict=True))
    minute, hour, day, month, weekday = fields
    for parsed in (day, weekday):
        if parsed.unsaid:
            message = "? belongs to Quartz expressions, which have 6 or 7 fields."
            raise parsed.fragment.refused(message, "Write * instead.")
    # As every crontab does it: a field that begins with * does not count as restricted, even when a step follows.
    either = not (day.starred or weekday.starred)
    days = Days(days_of_month(day, weekday, either=either), month.values(), None)
    times = times_of(frozenset({0}), minute.values(), hour.values())
    return _firing(Expression(text, Dialect.UNIX, fields, days, times, either))


def _quartz(text: str, words: list[Fragment]) -> Expression:
    fields = tuple(field.parse(word) for field, word in zip(QUARTZ, words, strict=False))
    second, minute, hour, day, month, weekday = fields[:6]
    _check_days_said(day, weekday)
    years = fields[6].values() if len(fields) == 7 and not fields[6].whole else None
    days = Days(days_of_month(day, weekday, either=False), month.values(), years)
    times = times_of(second.values(), minute.values(), hour.values())
    return _firing(Expression(text, Dialect.QUARTZ, fields, days, times, either_day=False))


def _check_days_said(day: Parsed, weekday: Parsed) -> None:
    if day.unsaid and weekday.unsaid:
        raise weekday.fragment.refused("Both day fields are ?, so no day is chosen.", "Write * in one of them.")
    if day.unsaid or weekday.unsaid:
        return
    whole = weekday.fragment.whole
    loose = day if day.whole and not weekday.whole else weekday
    if loose.whole:
        hint = f"Write {whole[: loose.fragment.start]}?{whole[loose.fragment.end :]}"
    else:
        hint = "Keep one of them and write ? for the other; for both, make two jobs."
    raise loose.fragment.refused("With 6 or 7 fields, exactly one of the two day fields must be ?.", hint)


def _firing(expression: Expression) -> Expression:
    if expression.days.at_or_after(0) < 0:
        day, last = expression.field("day-of-month"), expression.fields[-1]
        assert day is not None
        span = Fragment(day.fragment.whole, day.fragment.start, last.fragment.end)
        raise span.refused(
            f"This never fires: no date from {FIRST_YEAR} to {LAST_YEAR} fits all of these fields.",
            "Check that the months named have such a day.",
        )
    return expression
