"""Time zones as stretches of constant offset, in plain integers.

A ``Zone`` answers two questions fast: which offset holds at an instant, and when does the wall clock of the zone
reach a local time. Both are read from *stretches*: spans between two changes of the zone's offset. ``zoneinfo`` does
not publish its changes, so they are found by probing the offset every three days and halving the span in which it
differs. The shortest stretch any zone has had since 1970 lasts almost seven days, so none is stepped over (a test
checks this against the zone files themselves).

Here "second" is a UTC epoch second, and "local" is the same count read off the wall clock: ``second + offset``.
"""

import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from orth.errors import InvalidSchedule

DAY = 86_400
SHIFT = 2 * DAY  # offsets lie within ±24 hours, so no two differ by more than this

_PROBE = 3 * DAY
_BLOCK = 366 * DAY
_SECOND = timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")
# An offset as people write it. Java reads GMT+8 as 8 hours ahead of UTC.
_OFFSET = re.compile(r"(GMT|UTC|UT)?([+-])([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
ABBREVIATIONS = {
    "AEST": ("Australia/Sydney",),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "CDT": ("America/Chicago",),
    "CEST": ("Europe/Berlin",),
    "CST": ("Asia/Shanghai", "America/Chicago"),
    "CTT": ("Asia/Shanghai",),
    "EDT": ("America/New_York",),
    "HKT": ("Asia/Hong_Kong",),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "JST": ("Asia/Tokyo",),
    "KST": ("Asia/Seoul",),
    "MDT": ("America/Denver",),
    "MSK": ("Europe/Moscow",),
    "PDT": ("America/Los_Angeles",),
    "PST": ("America/Los_Angeles",),
    "SGT": ("Asia/Singapore",),
}
"""Abbreviations that are no names of zones, and the zones that each of them may mean."""
_NO_HINT = ("zone_unknown", "")
# Both are names of files that some systems keep beside the zones: the first means "whatever this machine is set to".
_NOT_ZONES = frozenset({"localtime", "Factory"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """A span with one offset, and the local times that the wall clock reaches in it for the first time.

    The local times in ``[floor, ceiling)`` belong to this stretch: it is the one in which the clock first shows them,
    or first shows a later time because it jumped over them. Every local time belongs to exactly one stretch.
    """

    start: int
    end: int
    offset: int
    floor: int
    ceiling: int

    def reach(self, local: int) -> int:
        """The first second at which the wall clock shows ``local`` or, in a gap, has just jumped over it."""
        return max(local - self.offset, self.start)


class Zone:
    """One zone of the zone database, from 1970 to 2200. Its stretches are found when first asked for and then kept."""

    __slots__ = ("_blocks", "_info", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._info = ZoneInfo(name)
        self._blocks: dict[int, tuple[list[int], list[Stretch]]] = {}

    def stretch_at(self, second: int) -> Stretch:
        """The stretch that ``second`` lies in."""
        block = self._blocks.get(second // _BLOCK) or self._explore(second // _BLOCK)
        starts, stretches = block
        return stretches[bisect_right(starts, second) - 1]

    def owner_of(self, local: int) -> Stretch:
        """The stretch that ``local`` belongs to."""
        stretch = self.stretch_at(local - DAY)
        while local >= stretch.ceiling:
            stretch = self.stretch_at(stretch.end)
        return stretch

    def local(self, second: int) -> int:
        """What the wall clock shows at ``second``."""
        return second + self.stretch_at(second).offset

    def _explore(self, number: int) -> tuple[list[int], list[Stretch]]:
        # A block is looked at from a little before its start, for the clock may have been ahead there and shown times
        # of this block.
        low, high = number * _BLOCK, (number + 1) * _BLOCK
        changes = [*self._changes(low - SHIFT, low), (low, self._offset(low)), *self._changes(low, high)]
        ends = [*(start for start, _ in changes[1:]), high]
        offset = self._offset(low - SHIFT)
        shown = low - SHIFT + offset
        stretches = []
        for (start, next_offset), end in zip(changes, ends, strict=True):
            shown = max(shown, start + offset)
            offset = next_offset
            if start >= low:
                stretches.append(Stretch(start, end, offset, shown, max(shown, end + offset)))
        block = ([stretch.start for stretch in stretches], stretches)
        self._blocks[number] = block
        return block

    def _changes(self, low: int, high: int) -> list[tuple[int, int]]:
        """Where the offset changes between ``low`` and ``high``, both excluded, and to what."""
        found = []
        before = self._offset(low)
        for probe in range(low, high, _PROBE):
            ahead = min(probe + _PROBE, high - 1)
            after = self._offset(ahead)
            if after != before:
                found.append((self._halve(probe, ahead), after))
                before = after
        return found

    def _halve(self, low: int, high: int) -> int:
        """The one change of offset after ``low``, up to ``high``."""
        before = self._offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == before:
                low = middle
            else:
                high = middle
        return high

    def _offset(self, second: int) -> int:
        offset = datetime.fromtimestamp(second, self._info).utcoffset()
        assert offset is not None  # ZoneInfo always knows
        return offset // _SECOND


def zone_named(name: str) -> Zone:
    """The zone called ``name``; refuses every name that the zone database does not list."""
    if name != "UTC" and name not in _known():
        raise _unknown(name)
    return _loaded(name)


def fixed_zone(name: str) -> str | None:
    """The zone that always has the offset from ``GMT``, ``UTC`` or ``UT`` that is written as Java reads it, such as
    ``GMT+8`` or ``UTC+08:00``; None for other names, and for offsets that no such zone has.
    """
    offset = _OFFSET.fullmatch(name)
    if offset is None or offset[1] is None or not name.isupper():
        return None
    zones = _zones_with(offset[2], int(offset[3]), int(offset[4] or 0))
    return zones[-1] if zones else None


@cache
def zone_names() -> tuple[str, ...]:
    """Every name that ``zone_named`` takes, old ones and new ones, in order."""
    return tuple(sorted(_known() | {"UTC"}))


@cache
def _known() -> frozenset[str]:
    return frozenset(name for name in available_timezones() - _NOT_ZONES if _NAME.fullmatch(name))


@lru_cache(maxsize=700)  # more than there are zones
def _loaded(name: str) -> Zone:
    return Zone(name)


def _unknown(name: str) -> InvalidSchedule:
    shown = name if len(name) <= 64 else name[:63] + "…"
    code, near = _hint(name)
    told = {"zone": shown, "near": near} if near else {"zone": shown}
    return InvalidSchedule.at(code, told, text=shown, length=len(shown), field="timezone")


def _hint(name: str) -> tuple[str, str]:
    """The code of the refusal, and the names that may be meant; empty if there is none."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        zones = _zones_with(offset[2], int(offset[3]), int(offset[4] or 0))
        code = "zone_like" if zones == ["UTC"] else "zone_offset"
        return (code, ", ".join(zones)) if zones else _NO_HINT
    if meant := ABBREVIATIONS.get(name.upper()):
        return "zone_abbreviation", ", ".join(meant)
    near = _nearest(name) if _NAME.fullmatch(name) else None
    return ("zone_like", near) if near else _NO_HINT


def _zones_with(sign: str, hours: int, minutes: int) -> list[str]:
    """The zones that always have this offset, as Java and ISO 8601 sign it. The last one is fixed: UTC or one of Etc,
    whose names have the inverted sign.
    """
    if minutes:
        return []
    if hours == 0:
        return ["UTC"]
    fixed = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    china = ["Asia/Shanghai"] if (sign, hours) == ("+", 8) else []
    return [*china, fixed] if fixed in _known() else []


def _nearest(name: str) -> str | None:
    wanted = name.lower()
    by_key = {key.lower(): key for key in sorted(_known())}
    if wanted in by_key:
        return by_key[wanted]
    if any(char.isdigit() for char in name):
        return None  # a similar name with a number has another offset
    city = next((key for lower, key in by_key.items() if lower.endswith("/" + wanted)), None)
    if city:
        return city
    close = difflib.get_close_matches(wanted, by_key, n=1, cutoff=0.7)
    return by_key[close[0]] if close else None
