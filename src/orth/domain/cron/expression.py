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
        shown = text[:40] + "…"
        told = {"characters": len(text), "limit": LENGTH_LIMIT}
        raise InvalidSchedule.at("cron_too_long", told, text=shown, position=40)
    return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Expression:
    odd = re.search(r"[^\t!-~ ]", text)
    if odd:
        raise Fragment(text, odd.start(), odd.end()).refused("cron_character", character=repr(odd[0]))
    source = _expand(text)
    words = [Fragment(source, found.start(), found.end()) for found in re.finditer(r"\S+", source)]
    if len(words) == 5:
        return _unix(text, words)
    if len(words) in (6, 7):
        return _quartz(text, words)
    wrong = words[7] if len(words) > 7 else Fragment(source, 0, len(source))
    raise wrong.refused("cron_field_count", count=len(words))


def _expand(text: str) -> str:
    """The fields a macro stands for; any other text as it is."""
    word = text.strip().lower()
    if not word.startswith("@"):
        return text
    if word in MACROS:
        return MACROS[word]
    at = text.index("@")
    place = Fragment(text, at, at + len(word))
    if word.startswith("@every"):
        raise place.refused("cron_every", name=word)
    if word == "@reboot":
        raise place.refused("cron_reboot", name=word)
    raise place.refused("cron_name", name=word, names=" ".join(MACROS))


def _unix(text: str, words: list[Fragment]) -> Expression:
    fields = tuple(field.parse(word) for field, word in zip(UNIX, words, strict=True))
    minute, hour, day, month, weekday = fields
    for parsed in (day, weekday):
        if parsed.unsaid:
            raise parsed.fragment.refused("cron_question_unix")
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
        raise weekday.fragment.refused("cron_no_day")
    if day.unsaid or weekday.unsaid:
        return
    whole = weekday.fragment.whole
    loose = day if day.whole and not weekday.whole else weekday
    if loose.whole:
        better = f"{whole[: loose.fragment.start]}?{whole[loose.fragment.end :]}"
        raise loose.fragment.refused("cron_two_days_loose", better=better)
    raise loose.fragment.refused("cron_two_days")


def _firing(expression: Expression) -> Expression:
    if expression.days.at_or_after(0) < 0:
        day, last = expression.field("day-of-month"), expression.fields[-1]
        assert day is not None
        span = Fragment(day.fragment.whole, day.fragment.start, last.fragment.end)
        raise span.refused("cron_never", first=FIRST_YEAR, last=LAST_YEAR)
    return expression
