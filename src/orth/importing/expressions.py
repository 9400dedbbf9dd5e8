"""Cron expressions as xxl-job reads them, in our spelling: pure.

xxl-job reads with an old copy of Quartz, which takes more than its documentation says. What has one clear meaning there
is translated. What would mean something else here is translated to what xxl-job does, with both meanings told. All else
stays as it is, and the reader of cron expressions decides.
"""

import re
from collections.abc import Callable

_FIELDS = 7
_MONTH, _WEEKDAY = 4, 5
_NAMES = {
    _MONTH: "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC",
    _WEEKDAY: "SUN|MON|TUE|WED|THU|FRI|SAT",
}
_STEP_ALONE = re.compile(r"/\d{1,4}")
_STEP_OF_NONE = re.compile(r"(\*|\d{1,4})/0+")


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


def _parts(place: int, field: str, notes: list[str]) -> list[str]:
    parts = [part for part in field.split(",") if part]
    if not parts:
        return [field]
    if len(parts) < field.count(",") + 1:
        notes.append(f"xxl-job ignores the comma without a value in {field!r}")
    readers: tuple[Callable[[int, str, list[str]], str], ...] = (_step_alone, _step_of_none, _step_after_name)
    for reader in readers:
        parts = [reader(place, part, notes) for part in parts]
    return parts


def _step_alone(_place: int, part: str, notes: list[str]) -> str:
    if not _STEP_ALONE.fullmatch(part):
        return part
    notes.append(f"{part!r} is written {'*' + part!r} here")
    return f"*{part}"


def _step_of_none(_place: int, part: str, notes: list[str]) -> str:
    found = _STEP_OF_NONE.fullmatch(part)
    if found is None:
        return part
    notes.append(f"xxl-job ignores the step 0 in {part!r}")
    return found.group(1)


def _step_after_name(place: int, part: str, notes: list[str]) -> str:
    names = _NAMES.get(place)
    found = names and re.fullmatch(rf"((?:{names})(?:-(?:{names}))?)/(\d{{1,4}})", part, re.IGNORECASE)
    if not found:
        return part
    notes.append(
        f"xxl-job ignores the step in {part!r}: it was taken over as {found.group(1)!r}, which fires as there; "
        f"with the step it would be every {found.group(2)}. of them"
    )
    return found.group(1)
