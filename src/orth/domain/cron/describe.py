"""An expression in words, for a command line and for the line below a form field.

``describe`` never raises: an expression that is refused is described by what is wrong with it, where, and what to write
instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from orth.domain.cron.expression import Expression
from orth.domain.cron.fields import Kind, Parsed, Part
from orth.domain.cron.search import Cron
from orth.domain.jobs import DstPolicy
from orth.errors import InvalidSchedule

# Not from ``calendar``: its names follow the locale of the process.
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_FEW = 6  # so many times of day are listed one by one


@dataclass(frozen=True, slots=True)
class FieldMeaning:
    """One field: its name, what was written, and what that means."""

    name: str
    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an expression means, or why it is refused."""

    text: str
    valid: bool
    sentence: str
    fields: tuple[FieldMeaning, ...] = ()
    clock_changes: str = ""
    """What happens where the zone's clock is put forward or back; empty in a zone that is called UTC."""
    hint: str | None = None
    pointer: str | None = None
    """The text with carets below the place of the trouble."""
    position: int = 0
    length: int = 0

    def __str__(self) -> str:
        if self.valid:
            return " ".join(filter(None, (self.sentence, self.clock_changes)))
        return "\n".join(filter(None, (self.pointer, self.sentence, self.hint)))


def describe(text: str, zone: str = "UTC", dst: DstPolicy = DstPolicy.AUTO) -> Explanation:
    """What ``text`` means in ``zone``."""
    try:
        cron = Cron.parse(text, zone, dst)
    except InvalidSchedule as error:
        return Explanation(
            text,
            valid=False,
            sentence=error.message,
            hint=error.hint,
            pointer=error.pointer(),
            position=error.position,
            length=error.length,
        )
    return Explanation(
        text,
        valid=True,
        sentence=f"{_sentence(cron.expression)}, {zone} time.",
        fields=tuple(FieldMeaning(f.field.name, f.fragment.text, _meaning(f)) for f in cron.expression.fields),
        clock_changes="" if zone == "UTC" else _clock_changes(cron),
    )


def _clock_changes(cron: Cron) -> str:
    if cron.rhythm:
        return "Follows real time through clock changes: an hour shown twice fires twice, a skipped hour does not fire."
    return "A time the clock skips fires once, right after the gap; a time it shows twice fires the first time."


def _sentence(expression: Expression) -> str:
    phrases = [_time_of_day(expression), _day(expression)]
    for name in ("month", "year"):
        field = expression.field(name)
        if field is not None and not field.whole:
            phrases.append(_led("in", _meaning(field)))
    sentence = ", ".join(phrases)
    return sentence[0].upper() + sentence[1:]


def _time_of_day(expression: Expression) -> str:
    times = expression.times
    if len(times.hours) * len(times.minutes) * len(times.seconds) <= _FEW:
        form = "{:02}:{:02}" if times.seconds == (0,) else "{:02}:{:02}:{:02}"
        return "at " + _listed([form.format(*time) for time in product(times.hours, times.minutes, times.seconds)])
    phrases: list[str] = []
    for name in ("second", "minute", "hour"):
        field = expression.field(name)
        if field is None or (name == "second" and times.seconds == (0,)):
            continue
        # "Every second" says every minute and every hour too; only a narrower phrase needs the wider unit spelled out.
        if phrases and field.whole and phrases[-1].startswith("every "):
            continue
        phrases.append(_hours(field) if name == "hour" else _led("at", _meaning(field)))
    return ", ".join(phrases)


def _hours(field: Parsed) -> str:
    part = field.parts[0]
    if len(field.parts) == 1 and part.kind is Kind.RANGE and part.step == 1:
        return f"between {part.first:02}:00 and {part.last:02}:59"
    if len(field.parts) == 1 and part.kind is Kind.VALUE:
        return f"between {part.first:02}:00 and {part.first:02}:59"
    return _led("in", _meaning(field))


def _day(expression: Expression) -> str:
    day, weekday = expression.field("day-of-month"), expression.field("day-of-week")
    assert day is not None
    assert weekday is not None
    chosen = [_meaning(field) for field in (day, weekday) if not field.unsaid and not field.whole]
    if not chosen:
        return "every day"
    return _led("on", (" or on " if expression.either_day else ", if that is also ").join(chosen))


def _meaning(field: Parsed) -> str:
    """What the field admits, without a preposition: ``minutes 0 to 30``, ``the last Friday of the month``."""
    if field.unsaid:
        return "left to the other day field"
    unit = {"day-of-month": "day", "day-of-week": "weekday"}.get(field.field.name, field.field.name)
    words = [word for part in field.parts for word in _part_words(field, part, unit)]
    counted = unit not in ("month", "weekday", "year") and all(
        part.kind is Kind.VALUE or (part.kind is Kind.RANGE and part.step == 1) for part in field.parts
    )
    if not counted:
        return _listed(words)
    several = len(words) > 1 or field.parts[0].kind is Kind.RANGE
    return f"{unit}{'s' if several else ''} {_listed(words)}{' of the month' if unit == 'day' else ''}"


def _part_words(field: Parsed, part: Part, unit: str) -> list[str]:
    first, last = _shown(part.first, unit), _shown(part.last, unit)
    match part.kind:
        case Kind.VALUE:
            return [first]
        case Kind.ALL | Kind.RANGE if part.step > 1:
            return _stepped(field, part, unit)
        case Kind.ALL:
            return [f"every {unit}"]
        case Kind.RANGE:
            return [f"{first} to {last}"]
        case Kind.NTH_WEEKDAY:
            return [f"the {_NTH[part.last]} {first} of the month"]
        case Kind.LAST_WEEKDAY:
            return [f"the last {first} of the month"]
        case Kind.LAST_DAY:
            before = f"{part.first} day{'s' if part.first > 1 else ''} before " if part.first else ""
            return [f"{before}the last day of the month"]
        case Kind.NEAREST_WORKDAY:
            return [f"the workday (Monday to Friday) nearest to day {first}"]
    return ["the last workday (Monday to Friday) of the month"]


def _stepped(field: Parsed, part: Part, unit: str) -> list[str]:
    if unit in ("month", "weekday"):
        return [_shown(value, unit) for value in field.spread(part)]
    low, high = field.field.bounds
    every = f"every {part.step} {unit}s"
    if part.kind is Kind.ALL or (part.first, part.last) == (low, high):
        return [every if low == 0 else f"{every} from {unit} {low}"]
    if part.last == high:
        return [f"{every} from {unit} {part.first}"]
    return [f"{every} from {unit} {part.first} to {part.last}"]


def _shown(value: int, unit: str) -> str:
    if unit == "month":
        return _MONTHS[(value - 1) % 12]
    if unit == "weekday":
        return _WEEKDAYS[value % 7]
    return str(value)


def _led(preposition: str, words: str) -> str:
    return words if words.startswith("every ") else f"{preposition} {words}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
