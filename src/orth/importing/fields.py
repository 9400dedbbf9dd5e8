"""Reading the fields of a row that somebody else wrote.

A field has the type its database or its JSON gives it: a number may be a text of digits, an instant a datetime, a text
or milliseconds, and anything may be missing. What cannot be used is ``Unusable`` with the reason; what can be used
after a change leaves a note.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from orth.domain.cron.zones import zone_named
from orth.domain.schedules import parse_instant
from orth.errors import Invalid
from orth.importing.exports import Row
from orth.wire.fields import INT32_MAX, whole_number

E = TypeVar("E", bound=StrEnum)

_SHOWN = 60


class Unusable(Exception):
    """A row that cannot become one of ours, with the reason."""


class Fields:
    """One row, and what had to be changed in it."""

    def __init__(self, row: Row, timezone: str) -> None:
        self._row = row
        self._timezone = timezone
        self.notes: list[str] = []

    def __contains__(self, name: str) -> bool:
        return self._row.get(name) is not None

    def text(self, *names: str) -> str:
        """The first of these fields that is there, as it is."""
        name = next((name for name in names if name in self), names[0])
        value = self._row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise Unusable(f"{name} is not a text")
        if value and "\0" in value:
            raise Unusable(f"{name} has a NUL character")
        return value or ""

    def line(self, *names: str, limit: int) -> str:
        """A text that people read: unprintable characters become blanks, and what is too long is cut."""
        text = unicodedata.normalize("NFC", self.text(*names))
        visible = "".join(char if char.isprintable() else " " for char in text).strip()
        if len(visible) > limit:
            self.notes.append(f"{names[0]} was cut to {limit} characters")
        return visible[:limit].strip()

    def exact(self, name: str, limit: int, *, one_line: bool = False) -> str:
        """A text that programs read: it is taken as it is, or not at all."""
        text = self.text(name)
        if len(text) > limit:
            raise Unusable(f"{name} has {len(text):,} characters; {limit:,} are possible")
        if one_line and not text.isprintable():
            raise Unusable(f"{name} has characters that cannot be seen")
        return text

    def number(self, name: str, low: int = 0, high: int = INT32_MAX) -> int:
        """A whole number, moved into its range; absent and empty are the lowest."""
        value = self._row.get(name)
        if value is None or value == "":
            return low
        try:
            number = whole_number(value)
        except ValueError:
            raise Unusable(f"{name} is not a whole number") from None
        within = min(max(number, low), high)
        if within != number:
            self.notes.append(f"{name} {number} became {within}")
        return within

    def whole(self, name: str) -> int:
        """A whole number of any size; absent and empty are 0."""
        value = self._row.get(name)
        if value is None or value == "":
            return 0
        try:
            return whole_number(value)
        except ValueError:
            raise Unusable(f"{name} is not a whole number") from None

    def choice(self, name: str, kind: type[E], default: E, aliases: Mapping[str, StrEnum]) -> E:
        """One of the names of ``kind``; an unknown one becomes the default, with a note."""
        text = self.text(name).strip().upper()
        try:
            return kind(aliases.get(text, text or default))
        except ValueError:
            self.notes.append(f"{name} {shown(text)} is not known; it became {default}")
            return default

    def instant(self, *names: str) -> int:
        """An instant in milliseconds, 0 when there is none that can be read: it only informs."""
        value = next((self._row[name] for name in names if name in self), None)
        if isinstance(value, datetime):
            value = value.isoformat(timespec="seconds")
        if not isinstance(value, str | int) or isinstance(value, bool):
            return 0
        try:
            return parse_instant(str(value), zone_named(self._timezone))
        except Invalid:
            return 0

    def ids(self, name: str) -> tuple[int, ...]:
        """Ids from a list separated by commas, each once; what is none is left out with a note."""
        found: list[int] = []
        for item in _parts(self._row.get(name), name):
            if len(item) <= 10 and item.isascii() and item.isdigit() and 0 < int(item) <= INT32_MAX:
                found.append(int(item))
            else:
                self.notes.append(f"{name}: {shown(item)} is not an id and was left out")
        return tuple(dict.fromkeys(found))


def _parts(value: object, name: str) -> Sequence[str]:
    if isinstance(value, list) and all(isinstance(item, int | str) and not isinstance(item, bool) for item in value):
        value = ",".join(str(item) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is not None and not isinstance(value, str):
        raise Unusable(f"{name} is not a list of ids")
    return [part.strip() for part in (value or "").split(",") if part.strip()]


def shown(text: str) -> str:
    """``text`` in quotes, short, without anything a terminal would obey."""
    visible = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return f"'{visible[:_SHOWN]}…'" if len(visible) > _SHOWN else f"'{visible}'"
