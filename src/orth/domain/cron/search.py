"""The fires of an expression in a zone: one well-defined set of instants, searched in both directions.

On the wall clock an expression admits local times (``expression``). Which instants they become depends on the policy:

* **wall**: a local time fires at the first instant at which the clock shows it *or a later time*. Where the clock jumps
  over it, that is the first instant after the gap, together with all others of the gap; where it is shown twice, that
  is the first occurrence. Local times thereby map to instants in order, so one search on the wall clock is enough.
* **rhythm**: every instant at which the clock shows an admitted time fires. The local times of two stretches may
  overlap, so each stretch is searched by itself, skipping those that a search has shown to be empty.

The common case is a time later on the same day, and the day holds no change of offset. That day is remembered as a span
of seconds in which time of day and second differ by a constant, so most calls are one comparison and three look-ups.
What is remembered is replaced as a whole and only ever saves work: a ``Cron`` may be shared between threads.
"""

from orth.domain.cron.days import END
from orth.domain.cron.expression import Expression, read
from orth.domain.cron.zones import DAY, SHIFT, Stretch, Zone, zone_named
from orth.domain.jobs import DstPolicy

_FIRST = -SHIFT
_LAST = END * DAY + SHIFT
_BEYOND = 2 * _LAST  # farther than any search goes
_NOWHERE = Stretch(start=0, end=0, offset=0, floor=0, ceiling=0)
_NO_DAY = (0, 0)


class Cron:
    """A cron expression in a zone. Instants are UTC epoch milliseconds; fires lie in the local years 1970 to 2199."""

    __slots__ = ("_day", "_days", "_stretch", "_times", "_zone", "dst", "expression", "rhythm")

    def __init__(self, expression: Expression, zone: Zone, dst: DstPolicy = DstPolicy.AUTO) -> None:
        self.expression = expression
        self.dst = dst
        self.rhythm = dst == DstPolicy.RHYTHM or (dst == DstPolicy.AUTO and expression.every_hour)
        self._zone = zone
        self._days = expression.days
        self._times = expression.times
        self._stretch = _NOWHERE
        self._day = _NO_DAY

    @staticmethod
    def parse(text: str, zone: str = "UTC", dst: DstPolicy = DstPolicy.AUTO) -> "Cron":
        """The schedule that ``text`` means in ``zone``; raises ``InvalidSchedule`` with the place and a way out."""
        return Cron(read(text), zone_named(zone), dst)

    @property
    def text(self) -> str:
        return self.expression.text

    @property
    def zone(self) -> str:
        return self._zone.name

    def __repr__(self) -> str:
        return f"Cron({self.text!r}, {self.zone!r}, {str(self.dst)!r})"

    def next_after(self, instant: int) -> int | None:
        """The first fire strictly after ``instant``."""
        second = instant // 1000 + 1
        start, end = self._day
        if start <= second < end:
            time = self._times.at_or_after(second - start)
            if time >= 0:
                return (start + time) * 1000
        found = self._first_from(second)
        return None if found is None else found * 1000

    def previous_before(self, instant: int) -> int | None:
        """The last fire strictly before ``instant``."""
        second = (instant - 1) // 1000
        start, end = self._day
        if start <= second < end:
            time = self._times.at_or_before(second - start)
            if time >= 0:
                return (start + time) * 1000
        found = self._last_until(second)
        return None if found is None else found * 1000

    def next_n(self, instant: int, n: int) -> list[int]:
        """The first ``n`` fires strictly after ``instant``, or as many as there are."""
        fires: list[int] = []
        following = self.next_after(instant)
        while following is not None and len(fires) < n:
            fires.append(following)
            following = self.next_after(following)
        return fires

    def matches(self, instant: int) -> bool:
        """Whether ``instant`` is a fire."""
        return self.next_after(instant - 1) == instant

    def shows(self, instant: int) -> bool:
        """Whether the wall clock shows an admitted time at ``instant``. A fire right after a gap need not."""
        second = instant // 1000
        local = second + self._zone.stretch_at(second).offset
        return self._local_from(local) == local

    def _first_from(self, second: int) -> int | None:
        if second > _LAST:
            return None
        second = max(second, _FIRST)
        return self._rhythm_from(second) if self.rhythm else self._wall_from(second)

    def _last_until(self, second: int) -> int | None:
        if second < _FIRST:
            return None
        second = min(second, _LAST)
        return self._rhythm_until(second) if self.rhythm else self._wall_until(second)

    def _wall_from(self, second: int) -> int | None:
        stretch = self._stretch_at(second)
        # At the first second of a stretch everything fires that the clock has just jumped over.
        here = stretch.floor if second == stretch.start else max(second + stretch.offset, stretch.floor)
        local = self._local_from(here)
        return None if local < 0 else self._reach(local, stretch)

    def _wall_until(self, second: int) -> int | None:
        stretch = self._stretch_at(second)
        local = self._local_until(max(second + stretch.offset, stretch.floor - 1))
        return None if local < 0 else self._reach(local, stretch)

    def _reach(self, local: int, near: Stretch) -> int:
        stretch = near if near.floor <= local < near.ceiling else self._zone.owner_of(local)
        self._remember(local, stretch)
        return stretch.reach(local)

    def _rhythm_from(self, second: int) -> int | None:
        while second <= _LAST:
            stretch = self._stretch_at(second)
            local = self._local_from(second + stretch.offset)
            found = local - stretch.offset if local >= 0 else _BEYOND
            if found < stretch.end:
                self._remember(local, stretch)
                return found
            # Nothing admitted lies between here and ``local``. If the search began two days before the end of the
            # stretch, no change of offset can bring the clock back to before its beginning: whatever comes next, comes
            # near ``local``.
            empty = stretch.end - second >= SHIFT
            second = max(stretch.end, found - SHIFT) if empty else stretch.end
        return None

    def _rhythm_until(self, second: int) -> int | None:
        while second >= _FIRST:
            stretch = self._stretch_at(second)
            local = self._local_until(second + stretch.offset)
            found = local - stretch.offset if local >= 0 else -_BEYOND
            if found >= stretch.start:
                self._remember(local, stretch)
                return found
            empty = second - stretch.start >= SHIFT
            second = min(stretch.start - 1, found + SHIFT) if empty else stretch.start - 1
        return None

    def _local_from(self, local: int) -> int:
        """The first admitted local time from ``local`` on, or -1."""
        day, time = divmod(local, DAY)
        following = self._days.at_or_after(day)
        if following == day:
            time = self._times.at_or_after(time)
            if time >= 0:
                return day * DAY + time
            following = self._days.at_or_after(day + 1)
        return -1 if following < 0 else following * DAY + self._times.first

    def _local_until(self, local: int) -> int:
        """The last admitted local time up to ``local``, or -1."""
        day, time = divmod(local, DAY)
        preceding = self._days.at_or_before(day)
        if preceding == day:
            time = self._times.at_or_before(time)
            if time >= 0:
                return day * DAY + time
            preceding = self._days.at_or_before(day - 1)
        return -1 if preceding < 0 else preceding * DAY + self._times.last

    def _stretch_at(self, second: int) -> Stretch:
        stretch = self._stretch
        if not stretch.start <= second < stretch.end:
            stretch = self._stretch = self._zone.stretch_at(second)
        return stretch

    def _remember(self, local: int, stretch: Stretch) -> None:
        """Keep the day of ``local`` if it lies wholly inside ``stretch``, none of it was shown before, and no jump of
        the clock led to its midnight.
        """
        self._stretch = stretch
        midnight = local - local % DAY
        start = midnight - stretch.offset
        if stretch.floor <= midnight and stretch.start < start and start + DAY <= stretch.end:
            self._day = (start, start + DAY)
