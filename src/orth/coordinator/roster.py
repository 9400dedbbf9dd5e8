"""The registry as this coordinator last knew it, in memory.

The database has the truth; this is the copy that is left while it is away. It follows every beat that arrives here,
also one that could not be stored, and every look at the database. Ages are measured on this process's own clock: how
long *it* has not heard anything, whatever the clocks of others say.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from orth.clock import Clock
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.loop import Loop

Key = tuple[str, str]

SLACK = 1.1
"""How much later than its interval a beat may come, as a factor: one in flight is not a missed one."""
_REMEMBER_REMOVED = 600.0
_REMOVED_LIMIT = 1000


@dataclass(slots=True)
class _Place:
    entry: ExecutorEntry
    heard: float
    announced: int = 0
    """A digest of what it announced, once that is stored."""
    row: int | None = None
    """Where it is stored, once that is known."""
    replaced: str | None = None
    """The process that was known there before this one."""

    def followed_by(self, incarnation: str | None) -> str | None:
        """The process that was known there before ``incarnation``."""
        return self.replaced if incarnation == self.entry.incarnation else self.entry.incarnation


@dataclass(frozen=True, slots=True)
class Removed:
    """An executor that fell silent and was taken out, and when this coordinator noticed."""

    entry: ExecutorEntry
    noticed: float


class Roster:
    """Who is there, as far as this coordinator knows. For one event loop."""

    def __init__(self, clock: Clock, *, dead_after: float) -> None:
        self._clock = clock
        self._dead_after = dead_after
        self._places: dict[Key, _Place] = {}
        self._removed: dict[Key, Removed] = {}
        self._touched: set[Key] = set()
        self._keys_at: dict[str, set[Key]] = {}
        self.news: set[str] = set()
        """Addresses that came, went or were restarted since somebody last looked."""
        self.wakes: list[Loop] = []
        """Loops to wake when there is news."""
        self.restarts: list[Callable[[ExecutorEntry], None]] = []
        """Whom to tell of a process whose place another one has taken."""

    def heard(self, app_name: str, address: str) -> None:
        """A beat arrived, whether or not it can be stored. Who is not known yet becomes so when it is."""
        place = self._places.get((app_name, address))
        if place is not None:
            place.heard = self._clock.monotonic()

    def stored(
        self, entry: ExecutorEntry, announced: int, row: int | None = None, *, earlier: str | None = None
    ) -> None:
        """A beat was stored, in ``row``; ``announced`` is a digest of what came with it, and ``earlier`` the process
        that the database knew there.
        """
        key = (entry.app_name, entry.address)
        before = self._places.get(key)
        self._touched.add(key)
        if before is not None:  # a beat does not say whether somebody drained it
            entry = replace(entry, drained_since=before.entry.drained_since)
        replaced = earlier if before is None else before.followed_by(entry.incarnation)
        self._places[key] = _Place(entry, self._clock.monotonic(), announced, row, replaced)
        self._keys_at.setdefault(normal_address(entry.address), set()).add(key)
        self._removed.pop(key, None)
        self._compare(None if before is None else before.entry, entry)

    def left(self, app_name: str, address: str) -> None:
        """It said good-bye."""
        self._touched.add((app_name, address))
        if self._places.pop((app_name, address), None) is not None:
            self._tell(address)

    def last_stored(self, app_name: str, address: str, announced: int) -> tuple[ExecutorEntry, int | None] | None:
        """This executor as its last beat was stored here, and in which row, if it announced the same then."""
        place = self._places.get((app_name, address))
        return (place.entry, place.row) if place is not None and place.announced == announced else None

    def last_known(self, app_name: str, address: str) -> ExecutorEntry | None:
        """This executor as it was last seen here, whatever it announced."""
        place = self._places.get((app_name, address))
        return None if place is None else place.entry

    def comes_back(self, app_name: str, address: str, incarnation: str | None) -> bool:
        """Whether a process beats whose address another one had taken over: both of them are alive."""
        known = self.last_known(app_name, address)
        is_here = known is not None and known.incarnation == incarnation
        return not is_here and self.was_before(app_name, address, incarnation)

    def was_before(self, app_name: str, address: str, incarnation: str | None) -> bool:
        """Whether this process was known there before the one that is."""
        place = self._places.get((app_name, address))
        return place is not None and incarnation is not None and place.replaced == incarnation

    def has_alone(self, app_name: str, address: str) -> bool:
        """Whether no other app has a process there."""
        return all(entry.app_name == app_name for entry in self.all_at(normal_address(address)))

    def begin_look(self) -> None:
        """The database is about to be read: what changes from here on is newer than what will be found."""
        self._touched.clear()

    def follow(self, stored: Iterable[ExecutorEntry]) -> None:
        """Agree with what the database had at the last ``begin_look``."""
        here, wall = self._clock.monotonic(), self._clock.now()
        found = {key: self._places[key] for key in self._touched if key in self._places}
        for entry in stored:
            key = (entry.app_name, entry.address)
            if key in self._touched:
                continue
            before = self._places.get(key)
            if before is None:
                found[key] = _Place(entry, here - max(0, wall - entry.last_beat) / 1000)
            elif before.entry.last_beat == entry.last_beat and _is_same(before.entry, entry):
                found[key] = before
            else:
                found[key] = _followed(before, entry, here)
            self._compare(None if before is None else before.entry, entry)
        self._note_gone(found, here)
        self._places = found
        self._keys_at = {}
        for key, place in found.items():
            self._keys_at.setdefault(normal_address(place.entry.address), set()).add(key)

    def _note_gone(self, found: dict[Key, _Place], here: float) -> None:
        for key, place in self._places.items():
            if key in found:
                self._removed.pop(key, None)
                continue
            self._tell(place.entry.address)
            if here - place.heard >= self._dead_after:
                self._removed[key] = Removed(place.entry, here)
        kept = [(key, one) for key, one in self._removed.items() if here - one.noticed < _REMEMBER_REMOVED]
        self._removed = dict(kept[-_REMOVED_LIMIT:])

    def entries(self) -> list[tuple[ExecutorEntry, float]]:
        """Everybody, with the seconds since they were heard, in order of app name and address."""
        here = self._clock.monotonic()
        return [(place.entry, here - place.heard) for _key, place in sorted(self._places.items())]

    def ages(self) -> Iterator[float]:
        """The seconds since each was heard, in no order."""
        here = self._clock.monotonic()
        return (here - place.heard for place in self._places.values())

    def remembered(self) -> list[ExecutorEntry]:
        """Everybody, in that order too, each with the time of the last beat that was heard, stored or not."""
        wall = self._clock.now()
        return [replace(entry, last_beat=wall - int(silence * 1000)) for entry, silence in self.entries()]

    def removed(self) -> list[ExecutorEntry]:
        """Those who fell silent and were taken out lately, in order of app name and address."""
        here = self._clock.monotonic()
        return [one.entry for _key, one in sorted(self._removed.items()) if here - one.noticed < _REMEMBER_REMOVED]

    def at(self, address: str) -> ExecutorEntry | None:
        """Who is at ``address``; of several apps there, the one heard last."""
        return next(iter(self.all_at(address)), None)

    def of_app_at(self, app_name: str, address: str) -> ExecutorEntry | None:
        """Who is there for one app."""
        return next((entry for entry in self.all_at(address) if entry.app_name == app_name), None)

    def all_at(self, address: str) -> list[ExecutorEntry]:
        """Who is there for each app, the one heard last first."""
        here = [self._places[key] for key in self._keys_at.get(address, ()) if key in self._places]
        return [place.entry for place in sorted(here, key=lambda place: place.heard, reverse=True)]

    def __len__(self) -> int:
        return len(self._places)

    def overdue(self, after: float) -> set[str]:
        """Addresses not heard of for more than ``after`` seconds."""
        since = self._clock.monotonic() - after
        return {normal_address(place.entry.address) for place in self._places.values() if place.heard < since}

    def _compare(self, before: ExecutorEntry | None, now: ExecutorEntry) -> None:
        if before is not None and before.incarnation == now.incarnation:
            return
        self._tell(now.address)
        if before is not None:
            for tell in self.restarts:
                tell(before)

    def _tell(self, address: str) -> None:
        self.news.add(normal_address(address))
        for loop in self.wakes:
            loop.wake()


def _is_same(one: ExecutorEntry, other: ExecutorEntry) -> bool:
    """Whether both are of one process, with one work key."""
    return (one.incarnation, one.work_key) == (other.incarnation, other.work_key)


def _followed(before: _Place, entry: ExecutorEntry, here: float) -> _Place:
    """A place as the database has it now. What is in its row is not what was announced here if somebody else wrote."""
    announced, row = (before.announced, before.row) if _is_same(before.entry, entry) else (0, None)
    return _Place(entry, here, announced, row, before.followed_by(entry.incarnation))
