"""What became of everything that was found."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orth.importing.mapping import Origin


class Fate(StrEnum):
    """What became of one thing."""

    CREATED = "created"
    THERE = "there"  # already here, and the same
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

    @property
    def fruitless(self) -> bool:
        """Whether something was found and none of it is here now."""
        return all(entry.fate is Fate.REFUSED for entry in self.entries)

    def as_json(self) -> dict[str, object]:
        return {
            "dry_run": self.dry_run,
            "started": self.started,
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
        if self.started:
            yield f"{'started:':8} {self.started}"
        if self.to_allow:
            yield ""
            yield "These groups have jobs with code, which runs only when an administrator allows it:"
            yield from (f"  {name}: orth script allow {group}" for group, name in self.to_allow)
        for fate, title in _TITLES.items():
            yield from _section(title, [entry for entry in self.entries if entry.fate is fate])
        noted = [entry for entry in self.entries if entry.notes and entry.fate in (Fate.CREATED, Fate.THERE)]
        yield from _section("Changed on the way:", noted)


_TITLES = {Fate.REFUSED: "Not taken over:", Fate.DIFFERS: "Already here, and different; left as it is:"}


def _counted(fates: Sequence[Fate]) -> str:
    counts = Counter(fates)
    words = {Fate.CREATED: "new", Fate.THERE: "already here", Fate.DIFFERS: "different", Fate.REFUSED: "not taken over"}
    return ", ".join(f"{counts[fate]} {word}" for fate, word in words.items() if counts[fate]) or "none"


def _section(title: str, entries: Sequence[Entry]) -> Iterable[str]:
    if entries:
        yield ""
        yield title
    for entry in entries:
        number = f" {entry.origin.id}" if entry.origin.id > 0 else ""
        here = f" -> {entry.id}" if entry.id else ""
        yield f"  {entry.origin.kind}{number} {entry.origin.name!r}{here}: {'; '.join(entry.notes)}"
