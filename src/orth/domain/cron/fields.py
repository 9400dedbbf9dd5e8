"""One field of a cron expression: its grammar, its limits, and what it admits.

A field is a list of *parts* (``1-5``, ``*/10``, ``LW``). Parsing keeps the parts as written, because the search wants
numbers but an explanation wants the words. Every refusal knows the place in the text it speaks of.
"""

import re
from dataclasses import dataclass
from enum import Enum

from orth.domain.cron.days import FIRST_YEAR, LAST_YEAR
from orth.errors import InvalidSchedule

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a text that remembers where it stands."""

    whole: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.whole[self.start : self.end].upper()

    def split(self, separator: str) -> list["Fragment"]:
        found = []
        start = self.start
        for piece in self.text.split(separator):
            found.append(Fragment(self.whole, start, start + len(piece)))
            start += len(piece) + len(separator)
        return found

    def partition(self, separator: str) -> tuple["Fragment", "Fragment | None"]:
        """What stands before the first ``separator``, and what stands after it, if there is one."""
        at = self.whole.find(separator, self.start, self.end)
        if at < 0:
            return self, None
        return Fragment(self.whole, self.start, at), Fragment(self.whole, at + len(separator), self.end)

    def refused(self, code: str, **facts: str | int) -> InvalidSchedule:
        """The error that points at this fragment, by its code in ``orth.sayings``."""
        length = max(1, self.end - self.start)
        return InvalidSchedule.at(code, facts, text=self.whole, position=self.start, length=length)


class Kind(Enum):
    """What a part says. ``first``, ``last`` and ``step`` of ``Part`` are used as noted."""

    ALL = "*"  # every ``step``-th value of the field
    VALUE = "5"  # ``first``
    RANGE = "1-5"  # ``first`` to ``last``, every ``step``-th; wraps around when ``last`` is smaller
    UNSAID = "?"  # the other day field decides
    LAST_DAY = "L"  # ``first`` days before the last day of the month
    LAST_WORKDAY = "LW"
    NEAREST_WORKDAY = "15W"  # to day ``first``, within the month
    LAST_WEEKDAY = "5L"  # the last weekday ``first`` of the month
    NTH_WEEKDAY = "5#2"  # the ``last``-th weekday ``first`` of the month


@dataclass(frozen=True, slots=True)
class Part:
    """One member of a field's list. Weekdays count from Sunday = 0 in both dialects, and a range may end at 7."""

    kind: Kind
    first: int = 0
    last: int = 0
    step: int = 1


@dataclass(frozen=True, slots=True)
class Field:
    """The rules of one field. ``sunday`` is the number the dialect gives to Sunday; only a weekday field has it."""

    name: str
    low: int
    high: int
    step_limit: int
    names: tuple[str, ...] = ()
    wraps: bool = True
    sunday: int | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest value, as ``Part`` counts them."""
        return self.low - (self.sunday or 0), self.high - (self.sunday or 0)

    def parse(self, fragment: Fragment) -> "Parsed":
        items = fragment.split(",")
        parts = tuple(self._part(item) for item in items)
        for part, item in zip(parts, items, strict=True):
            if len(parts) > 1 and part.kind in (Kind.NTH_WEEKDAY, Kind.UNSAID):
                sign = "#" if part.kind is Kind.NTH_WEEKDAY else "?"
                raise item.refused("cron_alone", sign=sign)
        return Parsed(self, fragment, parts)

    def _part(self, item: Fragment) -> Part:
        if not item.text:
            raise item.refused("cron_empty_place", part=self.name)
        special = self._special(item)
        if special is not None:
            return special
        body, step = item.partition("/")
        every = 1 if step is None else self._step(step)
        if not body.text:
            raise item.refused("cron_step_of_nothing", step=item.text)
        if body.text == "*":
            return Part(Kind.ALL, step=every)
        first, last = body.partition("-")
        if last is not None:
            return self._range(body, first, last, every)
        if step is not None:
            return Part(Kind.RANGE, self._value(first), self.bounds[1], every)
        return Part(Kind.VALUE, self._value(first))

    def _special(self, item: Fragment) -> Part | None:
        """The part that ``item`` is if it has a form of its own: ``?``, L, W or #."""
        if item.text == "?":
            raise item.refused("cron_question_here", part=self.name)
        return None

    def _value(self, fragment: Fragment) -> int:
        word = fragment.text
        if word in self.names:
            return self.names.index(word) + self.bounds[0]
        wanted: dict[str, str | int] = {"part": self.name, "low": self.low, "high": self.high}
        if self.names:
            wanted["names"] = " ".join(self.names)
        if re.fullmatch("[0-9]+", word):
            number = int(word)
            if not self.low <= number <= self.high:
                outside = "cron_outside_named" if self.names else "cron_outside"
                raise fragment.refused(outside, number=str(number), **wanted)
            return number - (self.sunday or 0)
        if word[:3] in self.names:
            raise fragment.refused("cron_name_like", part=self.name, word=word, better=word[:3])
        strange = "cron_not_understood_named" if self.names else "cron_not_understood"
        raise fragment.refused(strange, word=word, **wanted)

    def _range(self, body: Fragment, first: Fragment, last: Fragment, step: int) -> Part:
        low, high = self._value(first), self._value(last)
        if last.text == "SUN" and low > 0:
            high = 7  # a week may end with Sunday, also where ranges do not wrap
        if high < low and not self.wraps:
            swapped = f"{last.text}-{first.text}"
            two = f"{first.text}-{self.high},{self.low}-{last.text}"
            raise body.refused("cron_backwards", part=self.name, range=body.text, swapped=swapped, two=two)
        return Part(Kind.RANGE, low, high, step)

    def _step(self, fragment: Fragment) -> int:
        if not re.fullmatch("[0-9]+", fragment.text):
            raise fragment.refused("cron_no_step", word=fragment.text, limit=self.step_limit)
        step = int(fragment.text)
        if not 1 <= step <= self.step_limit:
            raise fragment.refused("cron_step_outside", step=str(step), part=self.name, limit=self.step_limit)
        return step


class DayField(Field):
    """The day of the month, with L, L-n, LW and nW."""

    __slots__ = ()

    def _special(self, item: Fragment) -> Part | None:
        word = item.text
        if word == "?":
            return Part(Kind.UNSAID)
        if word == "LW":
            return Part(Kind.LAST_WORKDAY)
        found = re.fullmatch("L(?:-([0-9]+))?", word)
        if found:
            before = int(found[1] or 0)
            if before > 30:
                raise item.refused("cron_before_last", count=str(before))
            return Part(Kind.LAST_DAY, before)
        if re.fullmatch("[0-9]+W", word):
            return Part(Kind.NEAREST_WORKDAY, self._value(Fragment(item.whole, item.start, item.end - 1)))
        if "L" in word or "W" in word:
            raise item.refused("cron_day_special", word=word, part=self.name)
        return None


class WeekdayField(Field):
    """The day of the week, with nL, n#k and, in Quartz, L."""

    __slots__ = ()

    def _special(self, item: Fragment) -> Part | None:
        word = item.text
        if word == "?":
            return Part(Kind.UNSAID)
        if word == "L":
            return self._last_of_week(item)
        if word.endswith("L"):
            return Part(Kind.LAST_WEEKDAY, self._value(Fragment(item.whole, item.start, item.end - 1)) % 7)
        weekday, nth = item.partition("#")
        if nth is None:
            return None
        first = self._value(weekday) % 7
        if nth.text not in ("1", "2", "3", "4", "5"):
            raise nth.refused("cron_week_of_month", word=nth.text)
        return Part(Kind.NTH_WEEKDAY, first, int(nth.text))

    def _last_of_week(self, item: Fragment) -> Part:
        if self.sunday != 1:
            raise item.refused("cron_last_alone")
        return Part(Kind.VALUE, 6)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A field as written, and what it admits."""

    field: Field
    fragment: Fragment
    parts: tuple[Part, ...]

    @property
    def starred(self) -> bool:
        return self.parts[0].kind is Kind.ALL

    @property
    def whole(self) -> bool:
        """Whether the field is just ``*``."""
        return self.parts == (Part(Kind.ALL),)

    @property
    def unsaid(self) -> bool:
        return self.parts[0].kind is Kind.UNSAID

    def values(self) -> frozenset[int]:
        """The plain values; parts that depend on the month are left out. Weekdays are 0 to 6."""
        found: set[int] = set()
        for part in self.parts:
            found.update(self.spread(part))
        if self.field.sunday is not None:
            return frozenset(value % 7 for value in found)
        return frozenset(found)

    def spread(self, part: Part) -> range | list[int]:
        """The values of one part, in the order of its range."""
        low, high = self.field.bounds
        if part.kind is Kind.ALL:
            return range(low, high + 1, part.step)
        if part.kind is Kind.VALUE:
            return [part.first]
        if part.kind is not Kind.RANGE:
            return []
        if part.first <= part.last:
            return range(part.first, part.last + 1, part.step)
        return [*range(part.first, high + 1), *range(low, part.last + 1)][:: part.step]


QUARTZ = (
    Field("second", 0, 59, 59),
    Field("minute", 0, 59, 59),
    Field("hour", 0, 23, 23),
    DayField("day-of-month", 1, 31, 31),
    Field("month", 1, 12, 12, MONTH_NAMES),
    WeekdayField("day-of-week", 1, 7, 7, WEEKDAY_NAMES, sunday=1),
    Field("year", FIRST_YEAR, LAST_YEAR, LAST_YEAR - FIRST_YEAR, wraps=False),
)
UNIX = (
    Field("minute", 0, 59, 59, wraps=False),
    Field("hour", 0, 23, 23, wraps=False),
    DayField("day-of-month", 1, 31, 31, wraps=False),
    Field("month", 1, 12, 12, MONTH_NAMES, wraps=False),
    WeekdayField("day-of-week", 0, 7, 7, WEEKDAY_NAMES, wraps=False, sunday=0),
)
