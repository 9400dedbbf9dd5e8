"""The chain of audit entries, and whether it is whole.

Each entry has a number and a digest over all it says and the digest of the entry before it; the head, kept apart, has
the number and digest of the last one. So whoever changes, removes or reorders entries has to write all that follow
anew, and the head; a head that was written down elsewhere shows even that.

Old entries may be removed, from the beginning only. An entry ``audit.purge`` then says up to which and with what
digest, and so closes the gap. A digest that was written down before such an entry confirms nothing any more, unless it
is that of the very last one removed.
"""

import json
from dataclasses import astuple, dataclass
from hashlib import sha256

from orth.domain.audit import ActorKind

FIRST = "0" * 64
"""What the first entry has as the digest of the one before it."""

PURGE = "audit.purge"


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


def digest_of(entry: Entry) -> str:
    """The digest over everything in an entry but itself."""
    return sha256(json.dumps(astuple(entry)[:-1], ensure_ascii=True).encode()).hexdigest()


class Chain:
    """Looks at entries one by one, in the order of their numbers, until something is wrong."""

    def __init__(self, expected: Head | None = None) -> None:
        self._expected = expected
        self.last: Head | None = None
        self._removed: Head | None = None
        """The last entry of those that are gone from the beginning, by what the first one left says."""
        self._purged_at: int | None = None
        """When that was done, once a purge has named it."""
        self.entries = 0

    def add(self, entry: Entry) -> Fault | None:
        fault = self._gap(entry) or self._changed(entry)
        if fault is None:
            self.last = Head(entry.seq, entry.digest)
            if self._purged_at is None and self._vouches(entry):
                self._purged_at = entry.at
            self.entries += 1
        return fault

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
        if self._removed is not None and self._purged_at is None:
            return Fault(self._removed.seq, f"entries up to {self._removed.seq} are missing, and no purge names them")
        return None if self._expected is None else self._missed(self._expected, last)

    def _missed(self, expected: Head, last: Head) -> Fault | None:
        """What is wrong where the expected entry was not among those seen. Who writes all entries anew may begin after
        it: so of those that were purged only the last is known, by the digest that the first one left follows.
        """
        if expected.seq > last.seq:
            return Fault(last.seq + 1, f"entry {expected.seq} was there once and is missing")
        removed = self._removed
        if removed is None or expected.seq > removed.seq or expected == removed:
            return None
        if expected.seq == removed.seq:
            return Fault(expected.seq, "it is not what it was when the expected digest was written down")
        return Fault(expected.seq, f"it cannot be confirmed: entries up to {removed.seq} were purged", self._purged_at)

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

    def _vouches(self, entry: Entry) -> bool:
        """Whether this is the purge that removed what is missing at the beginning."""
        if self._removed is None or entry.action != PURGE or entry.actor_kind != ActorKind.NODE:
            return False
        try:
            said = json.loads(entry.after or "")
        except ValueError:
            return False
        return isinstance(said, dict) and Head(said.get("through", 0), said.get("digest", "")) == self._removed


def read_head(text: str) -> Head | None:
    """A head as ``str`` writes it; None if it is none."""
    seq, _, digest = text.strip().partition(":")
    is_digest = len(digest) == len(FIRST) and set(digest) <= set("0123456789abcdef")
    return Head(int(seq), digest) if seq.isascii() and seq.isdigit() and len(seq) < 19 and is_digest else None
