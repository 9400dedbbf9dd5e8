"""What became of everything that was found."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orth.clock import iso
from orth.domain.jobs import Overlap
from orth.importing.mapping import Origin
from orth.importing.readings import Reading


class Fate(StrEnum):
    """What became of one thing."""

    CREATED = "created"
    THERE = "there"  # already here, and the same
    REPAIRED = "repaired"  # already here; what could be was made the same: time zone, relations
    DIFFERS = "differs"  # already here, and not the same: left as it is
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing, its id here (0 if it has none), and what there is to say about it."""

    origin: Origin
    fate: Fate
    id: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Every group, job and user that was found, and every script that belongs to none of these jobs, in order."""

    entries: list[Entry] = field(default_factory=list)
    started: int = 0
    dry_run: bool = False
    to_allow: tuple[tuple[int, str], ...] = ()
    """Groups here, each an id and an app name, that must allow scripts before the code of their jobs runs."""
    timezone: str | None = None
    """In which cron expressions without a zone of their own were read; None if nobody said it."""
    schedules: Sequence[Reading] = ()
    zone_there: str | None = None
    """The offset of the zone over there, if what is planned there fits one alone and it is not that of ``timezone``."""

    @property
    def fruitless(self) -> bool:
        """Whether something was found and none of it is here now."""
        return all(entry.fate is Fate.REFUSED for entry in self.entries)

    def as_json(self) -> dict[str, object]:
        return {
            "dry_run": self.dry_run,
            "started": self.started,
            "timezone": self.timezone,
            "schedules": [one.as_json() for one in self.schedules],
            "overlap": Overlap.EXECUTOR,
            "groups_to_allow_scripts": [{"id": group, "app_name": name} for group, name in self.to_allow],
            "entries": [
                {
                    "kind": entry.origin.kind,
                    "from_id": max(0, entry.origin.id),
                    "name": entry.origin.name,
                    "fate": entry.fate,
                    "id": entry.id,
                    "notes": list(entry.notes),
                }
                for entry in self.entries
            ],
        }

    def lines(self) -> Iterable[str]:
        """For people: counts, then everything that needs a look."""
        if self.dry_run:
            yield "Dry run: nothing was written. This is what would happen."
        for kind in ("group", "job", "script", "user"):
            fates = [entry.fate for entry in self.entries if entry.origin.kind == kind]
            if fates or kind != "script":  # those that came are a part of their jobs
                yield f"{kind + 's:':8} {_counted(fates)}"
        if self.schedules:
            own = sum(one.own_zone for one in self.schedules)
            yield f"{'zone:':8} {self.timezone or 'not given'}" + (f", {own} jobs have their own" if own else "")
        if self.started:
            yield f"{'started:':8} {self.started}"
        if any(entry.origin.kind == "job" and entry.fate is Fate.CREATED for entry in self.entries):
            yield f"{'overlap:':8} {Overlap.EXECUTOR}, as in xxl-job: block strategies hold on each executor alone."
            yield "         Set overlap to cluster for jobs that must never overlap."
        if self.to_allow:
            yield ""
            yield "These groups have jobs with code, which runs only when an administrator allows it:"
            yield from (f"  {name}: orth script allow {group}" for group, name in self.to_allow)
        yield from self._zone_lines()
        for fate, title in _TITLES.items():
            yield from _section(title, [entry for entry in self.entries if entry.fate is fate])
        noted = [entry for entry in self.entries if entry.notes and entry.fate in (Fate.CREATED, Fate.THERE)]
        yield from _section("Changed on the way:", noted)
        if self.schedules:
            yield ""
            yield "Next fires of cron expressions:"
        for one in self.schedules:
            yield from _reading_lines(one)

    def _zone_lines(self) -> Iterable[str]:
        if any(one.timezone is None for one in self.schedules):
            yield ""
            yield "xxl-job reads cron expressions in the time zone of its Java process, which its database does not"
            yield "store. New jobs with such an expression are not taken over. Repeat with --timezone ZONE, or --utc."
        if self.zone_there is not None:
            yield ""
            yield f"What xxl-job has planned fits {self.zone_there} only" + (
                f", not {self.timezone}: check --timezone." if self.timezone else "."
            )


_TITLES = {
    Fate.REFUSED: "Not taken over:",
    Fate.REPAIRED: "Already here, and repaired:",
    Fate.DIFFERS: "Already here, and different; left as it is:",
}


def differs_in(named: Sequence[str]) -> str:
    return f"differs in {', '.join(named)}"


def _counted(fates: Sequence[Fate]) -> str:
    counts = Counter(fates)
    words = {
        Fate.CREATED: "new",
        Fate.THERE: "already here",
        Fate.REPAIRED: "repaired",
        Fate.DIFFERS: "different",
        Fate.REFUSED: "not taken over",
    }
    return ", ".join(f"{counts[fate]} {word}" for fate, word in words.items() if counts[fate]) or "none"


def _reading_lines(one: Reading) -> Iterable[str]:
    number = f" {one.origin.id}" if one.origin.id > 0 else ""
    yield f"  job{number} {one.origin.name!r}: {one.conf}"
    width = max(len(zone) for zone, _fires in one.fires)
    for zone, fires in one.fires:
        yield f"    in {zone:{width}}  {', '.join(map(iso, fires)) or 'never'}"
    if one.planned:
        yield f"    in xxl-job: {iso(one.planned)}" + ("" if one.fits else f", which is no fire in {one.fires[0][0]}")


def _section(title: str, entries: Sequence[Entry]) -> Iterable[str]:
    if entries:
        yield ""
        yield title
    for entry in entries:
        number = f" {entry.origin.id}" if entry.origin.id > 0 else ""
        here = f" -> {entry.id}" if entry.id else ""
        yield f"  {entry.origin.kind}{number} {entry.origin.name!r}{here}: {'; '.join(entry.notes)}"
