"""The chain of audit entries, and whether it is whole.

Each entry has a number and a digest over all it says and the digest of the entry before it; the head, kept apart, has
the number and digest of the last one. So whoever changes, removes or reorders entries has to write all that follow
anew, and the head; a head that was written down elsewhere shows even that.

Old entries may be removed, from the beginning only. An entry ``audit.purge`` then says up to which and with what
digest, and so closes the gap. A digest that was written down for one of those that are gone confirms nothing any more.

Whoever writes to the database can write a purge too, but not make the entries that he leaves older than they are: their
time is under digests that somebody has kept. So a purge leaves the youngest of the old entries, and is believed only if
the first entry left was itself older than the retention when it was made. An entry that claims to be much older than
those before it, to be such a one some day, is a fault itself.
"""

import json
from dataclasses import astuple, dataclass
from hashlib import sha256

from orth.domain.audit import ActorKind

FIRST = "0" * 64
"""What the first entry has as the digest of the one before it."""

PURGE = "audit.purge"

_CLOCKS_DIFFER_MS = 300_000
"""How far two clocks that nobody has tampered with may be apart."""
_SET_BACK_MS = 86_400_000
"""By how much clocks may have been set back between two entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry. ``before`` and ``after`` are JSON, as stored: the digest is over the very text."""

    seq: int
    at: int
    actor_kind: str
    actor: str
    address: str
    action: str
    object_kind: str
    object_id: str
    group_id: int | None
    before: str | None
    after: str | None
    previous_digest: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry there is."""

    seq: int = 0
    digest: str = FIRST

    def __str__(self) -> str:
        return f"{self.seq}:{self.digest}"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first entry with which something is wrong, and what."""

    seq: int
    message: str
    purged_at: int | None = None
    """When the entry that is expected was purged: nobody can tell any more whether it was the one."""
    is_early: bool = False
    """Whether it is a purge of what had to be kept, by the retention that the reader was told."""


@dataclass(frozen=True, slots=True)
class Purge:
    """What an entry ``audit.purge`` says: when, up to which entry, how many, and of what age."""

    seq: int
    at: int
    through: Head
    entries: int
    before: int | None
    """Entries written before this instant were old enough; None where that is not told."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the reader knows of the retention from elsewhere, for the record may lie about it."""

    retention_ms: int
    now: int


def digest_of(entry: Entry) -> str:
    """The digest over everything in an entry but itself."""
    return sha256(json.dumps(astuple(entry)[:-1], ensure_ascii=True).encode()).hexdigest()


class Chain:
    """Looks at entries one by one, in the order of their numbers, until something is wrong."""

    def __init__(self, expected: Head | None = None, kept: Kept | None = None) -> None:
        self._expected = expected
        self._kept = kept
        self.last: Head | None = None
        self._first: Entry | None = None
        self._latest = 0
        self._removed: Head | None = None
        """The last entry of those that are gone from the beginning, by what the first one left says."""
        self.relied_on: Purge | None = None
        """The purge that removed it, once it was seen."""
        self.purges: list[Purge] = []
        self.entries = 0

    def add(self, entry: Entry) -> Fault | None:
        fault = self._gap(entry) or self._changed(entry)
        if fault is None and entry.at < self._latest - _SET_BACK_MS:
            fault = Fault(entry.seq, "it claims to be more than a day older than an entry before it")
        if fault is not None:
            return fault
        self._latest = max(self._latest, entry.at)
        self._first = self._first or entry
        self.last = Head(entry.seq, entry.digest)
        self.entries += 1
        purge = _purge_of(entry)
        return None if purge is None else self._purged(purge)

    def end(self, head: Head | None) -> Fault | None:
        """What is wrong with the whole, once all entries were seen."""
        last = self.last or Head()
        if head is None and self.last is not None:
            return Fault(last.seq, "the head is missing, so nobody can tell whether entries at the end are")
        head = head or Head()
        if head.seq > last.seq:
            return Fault(last.seq + 1, f"entries {last.seq + 1} to {head.seq} are missing at the end")
        if head != last:
            return Fault(last.seq, f"the head names entry {head.seq}, which is not the last one")
        if self._removed is not None and self.relied_on is None:
            return Fault(self._removed.seq, f"entries up to {self._removed.seq} are missing, and no purge names them")
        return None if self._expected is None else self._missed(self._expected, last)

    def _missed(self, expected: Head, last: Head) -> Fault | None:
        """What is wrong where the expected entry was not among those seen. Who writes all entries anew may begin after
        it, even right after it: so whoever expects one that is gone is told that nothing is confirmed.
        """
        if expected.seq > last.seq:
            return Fault(last.seq + 1, f"entry {expected.seq} was there once and is missing")
        removed = self._removed
        if removed is None or expected.seq > removed.seq:
            return None
        if expected.seq == removed.seq and expected != removed:
            return Fault(expected.seq, "it is not what it was when the expected digest was written down")
        at = None if self.relied_on is None else self.relied_on.at
        return Fault(expected.seq, f"it cannot be confirmed: entries up to {removed.seq} were purged", at)

    def _gap(self, entry: Entry) -> Fault | None:
        if self.last is None:
            if entry.seq > 1:
                self._removed = Head(entry.seq - 1, entry.previous_digest)
            elif entry.previous_digest != FIRST:
                return Fault(entry.seq, "it claims to follow an entry, but is the first")
            return None
        if entry.seq != self.last.seq + 1:
            return Fault(self.last.seq + 1, f"entries {self.last.seq + 1} to {entry.seq - 1} are missing")
        if entry.previous_digest != self.last.digest:
            return Fault(entry.seq, "it does not follow the entry before it")
        return None

    def _changed(self, entry: Entry) -> Fault | None:
        if digest_of(entry) != entry.digest:
            return Fault(entry.seq, "it was changed after it was written")
        if self._expected is not None and entry.seq == self._expected.seq and entry.digest != self._expected.digest:
            return Fault(entry.seq, "it is not what it was when the expected digest was written down")
        return None

    def _purged(self, purge: Purge) -> Fault | None:
        """Take in a purge; what is wrong with it if it is the one that removed what is missing at the beginning."""
        self.purges.append(purge)
        if self.relied_on is not None or purge.through != self._removed:
            return None
        self.relied_on = purge
        return None if self._kept is None or self._first is None else _early(purge, self._first, self._kept)


def _early(purge: Purge, first: Entry, kept: Kept) -> Fault | None:
    """What is wrong with a purge that leaves ``first`` as the oldest entry, which is as old as its digest says."""
    if purge.at > kept.now + _CLOCKS_DIFFER_MS:
        return Fault(purge.seq, "it is a purge of a time that is still to come", is_early=True)
    youngest = max(first.at, purge.before or 0)
    if youngest <= purge.at - kept.retention_ms + _CLOCKS_DIFFER_MS:
        return None
    through = purge.through.seq
    return Fault(purge.seq, f"it is a purge of entries up to {through} that had to be kept longer", is_early=True)


def _purge_of(entry: Entry) -> Purge | None:
    """What an entry says as a purge; None if it is none, or not a coordinator's."""
    if entry.action != PURGE or entry.actor_kind != ActorKind.NODE:
        return None
    try:
        said = json.loads(entry.after or "")
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    numbers = [said.get(name) for name in ("through", "entries", "before")]
    through, entries, before = (one if isinstance(one, int) else None for one in numbers)
    return Purge(entry.seq, entry.at, Head(through or 0, str(said.get("digest", ""))), entries or 0, before)


def read_head(text: str) -> Head | None:
    """A head as ``str`` writes it; None if it is none."""
    seq, _, digest = text.strip().partition(":")
    is_digest = len(digest) == len(FIRST) and set(digest) <= set("0123456789abcdef")
    return Head(int(seq), digest) if seq.isascii() and seq.isdigit() and len(seq) < 19 and is_digest else None
