"""Cron expressions as xxl-job reads them, in our spelling: pure.

xxl-job reads with an old copy of Quartz, which takes more than its documentation says. What has one clear meaning there
is translated. What would mean something else here is translated to what xxl-job does, with both meanings told. All else
stays as it is, and the reader of cron expressions decides. ``unreadable`` then says what xxl-job makes of it.
"""

import re
from collections.abc import Callable

from orth.domain.cron.fields import QUARTZ, Fragment, Kind
from orth.errors import InvalidSchedule

_FIELDS = 7
_DAY, _MONTH, _WEEKDAY = 3, 4, 5
_NAMES = {
    _MONTH: "JAN(?:UARY)?|FEB(?:RUARY)?|MAR(?:CH)?|APR(?:IL)?|MAY|JUNE?|JULY?|AUG(?:UST)?|SEP(?:T|TEMBER)?"
    "|OCT(?:OBER)?|NOV(?:EMBER)?|DEC(?:EMBER)?",
    _WEEKDAY: "SUN(?:DAY)?|MON(?:DAY)?|TUE(?:S|SDAY)?|WED(?:NESDAY)?|THU(?:R|RS|RSDAY)?|FRI(?:DAY)?|SAT(?:URDAY)?",
}
_SHORT = 3
_IN_EVERY_MONTH = 28
_STEP_ALONE = re.compile(r"/\d{1,4}")
_STEP_OF_NONE = re.compile(r"(\*|\d{1,4}(?:-\d{1,4})?)/0+")
_WORKDAY = re.compile(r"\d{1,2}W", re.IGNORECASE)
_WORKDAY_BEFORE_LAST = re.compile(r"L-\d{1,2}W", re.IGNORECASE)
_NTH = re.compile(r"[A-Z0-9]{1,3}#(\d)", re.IGNORECASE)
_RANGE_AND_REST = re.compile(r"(\d{1,4}-\d{1,4}(?:/\d{1,4})?)([^\d/].*)")
_NUMBER_AND_REST = re.compile(r"(\d{1,4})([^\d/#LW-].*)", re.IGNORECASE)


def _named(place: int) -> re.Pattern[str]:
    """A name, or two, with all that people write behind it."""
    name = _NAMES[place]
    return re.compile(rf"({name})(?:-({name}))?(#\d|L)?(?:/(\d{{1,4}}))?", re.IGNORECASE)


def _name_and_rest(place: int) -> re.Pattern[str]:
    name = "|".join(QUARTZ[place].names)
    return re.compile(rf"((?:{name})-(?:{name})(?=.)|(?:{name})(?=[^#L-]))(.+)", re.IGNORECASE)


_NAMED = {place: _named(place) for place in _NAMES}
_NAME_AND_REST = {place: _name_and_rest(place) for place in _NAMES}


def translated(conf: str) -> tuple[str, list[str]]:
    """The expression in our spelling, and what there is to say about each change."""
    fields, notes = conf.split(), list[str]()
    if len(fields) < _FIELDS - 1:
        return conf, notes
    if len(fields) > _FIELDS:
        notes.append(f"xxl-job ignores what stands behind the year: {' '.join(fields[_FIELDS:])!r}")
        fields = fields[:_FIELDS]
    for place, field in enumerate(fields):
        fields[place] = ",".join(_parts(place, field, notes))
    return (" ".join(fields), notes) if notes else (conf, notes)


def unreadable(conf: str) -> str | None:
    """Which part of an expression only xxl-job can read, and what it makes of it; None if there is no such part."""
    for place, field in enumerate(conf.split()[:_FIELDS]):
        if place == _WEEKDAY and "," in field and (nth := _nth_in_list(field)):
            return nth
        if place == _DAY and _WORKDAY_BEFORE_LAST.fullmatch(field):
            last = field[:-1].upper()
            return f"{field!r}, the workday nearest to {last}, cannot be expressed: Orth has {last} and LW only"
        for part in field.split(","):
            if (rest := _ignored_rest(place, part)) is not None:
                return rest
    return None


def _parts(place: int, field: str, notes: list[str]) -> list[str]:
    parts = [part for part in field.split(",") if part]
    if not parts:
        return [field]
    if len(parts) < field.count(",") + 1:
        notes.append(f"xxl-job ignores the comma without a value in {field!r}")
    readers: tuple[Callable[[int, str, list[str]], str], ...] = (_step_alone, _step_of_none, _by_name)
    for reader in readers:
        parts = [reader(place, part, notes) for part in parts]
    return _nearest_workday(parts, notes) if place == _DAY and any(map(_WORKDAY.fullmatch, parts)) else parts


def _step_alone(_place: int, part: str, notes: list[str]) -> str:
    if not _STEP_ALONE.fullmatch(part):
        return part
    notes.append(f"{part!r} is written {'*' + part!r} here")
    return f"*{part}"


def _step_of_none(_place: int, part: str, notes: list[str]) -> str:
    found = _STEP_OF_NONE.fullmatch(part)
    if found is None:
        return part
    first, between, _last = found.group(1).partition("-")
    if between:
        notes.append(
            f"xxl-job reads the first value of {part!r} alone: it was taken over as {first!r}, which fires as there; "
            f"without the step it would be {found.group(1)!r}"
        )
    else:
        notes.append(f"xxl-job ignores the step 0 in {part!r}")
    return first


def _by_name(place: int, part: str, notes: list[str]) -> str:
    """xxl-job reads three letters of a name. If more of it is written, it ignores all that follows."""
    found = place in _NAMED and _NAMED[place].fullmatch(part)
    if not found:
        return part
    first, last, after, step = found.groups()
    name = first[:_SHORT]
    whole = "-".join([name, last[:_SHORT]] if last else [name]) + (after or "")
    kept = name if len(first) > _SHORT else whole
    if part == kept or (step and "#" in kept):
        return part
    if kept != whole:
        notes.append(
            f"xxl-job reads the first three letters of {part!r} and ignores the rest: it was taken over as {kept!r}, "
            f"which fires as there; all of it would be {whole!r}"
        )
    elif not step:
        notes.append(f"xxl-job reads the first three letters of a name: {part!r} is {kept!r}")
    elif int(step) == 0:
        notes.append(f"xxl-job ignores the step 0 in {part!r}")
    else:
        notes.append(
            f"xxl-job ignores the step in {part!r}: it was taken over as {kept!r}, which fires as there; "
            f"with the step it would be every {step}. of them"
        )
    return kept


def _nearest_workday(parts: list[str], notes: list[str]) -> list[str]:
    """xxl-job reads a list with a nearest workday as the one that is nearest to the lowest day of the list."""
    days = [_lowest(_DAY, part) for part in parts]
    known = [day for day in days if day is not None]
    if len(known) < len(days):
        return parts
    lowest = min(known)
    kept = f"{lowest}W"
    if len(parts) > 1:
        notes.append(
            f"xxl-job reads {','.join(parts)!r} as the workday nearest to its lowest day alone: it was taken over as "
            f"{kept!r}, which fires as there; in Orth the list would be each of its days"
        )
    if lowest > _IN_EVERY_MONTH:
        notes.append(
            f"xxl-job also fires in some months that have no day {lowest}, on their last day; "
            f"{kept!r} fires here only in months that have this day"
        )
    return [kept]


def _nth_in_list(field: str) -> str | None:
    """What xxl-job makes of a list with ``#``: only its lowest weekday, with this number."""
    parts = [part for part in field.split(",") if part]
    numbered = [found for part in parts if (found := _NTH.fullmatch(part))]
    days = [_lowest(_WEEKDAY, part) for part in parts]
    known = [day for day in days if day is not None]
    if len(numbered) != 1 or len(known) < len(parts):
        return None
    lowest = min(known) + (QUARTZ[_WEEKDAY].sunday or 0)
    read = f"{lowest}#{numbered[0].group(1)}"
    return f"{numbered[0].group()!r} cannot stand in a list; xxl-job reads {field!r} as {read!r}"


def _ignored_rest(place: int, part: str) -> str | None:
    """What xxl-job ignores behind a value that it can read."""
    patterns = [_RANGE_AND_REST, _NUMBER_AND_REST, *([_NAME_AND_REST[place]] if place in _NAMES else [])]
    found = next((match for pattern in patterns if (match := pattern.fullmatch(part))), None)
    if found is None or _lowest(place, part) is not None:
        return None
    read, rest = found.groups()
    return f"{rest!r} in {part!r} cannot be read; xxl-job ignores it and reads {read!r}"


def _lowest(place: int, part: str) -> int | None:
    """The lowest value of one part as Orth reads it; None if it has no plain value, or cannot be read."""
    try:
        parsed = QUARTZ[place].parse(Fragment(part, 0, len(part)))
    except InvalidSchedule:
        return None
    (one,) = parsed.parts
    if one.kind in (Kind.NEAREST_WORKDAY, Kind.NTH_WEEKDAY, Kind.LAST_WEEKDAY):
        return one.first
    return min(parsed.values(), default=None)
