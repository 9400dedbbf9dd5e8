"""The ring of CONSISTENT_HASH: every address has a hundred points on it, and a job belongs to the next one.

What a ring answers depends on its addresses alone, and is what every implementation of this ring answers. Only its
making remembers: it happens while the leader routes, in its transaction, and the list of a large group changes often
and by little. So a ring is made from one that is nearly the same, of which all but the points of those who came and
left is copied as it is; and where none is near, from the points of each address, which were hashed once.

A ring is one array of numbers in order, each a point and the slot of its address. Where several addresses have the same
point, the smallest of them has it.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock

_VIRTUAL_NODES = 100
_RINGS = 64
_ENTRIES_LIMIT = 4_000_000
"""Of all rings that are kept, 8 bytes each: 400 groups of a hundred addresses, or four of ten thousand."""
_ADDRESSES_LIMIT = 20_000
"""Addresses whose points are remembered, half a kilobyte each."""
_NEARLY = 16
"""A ring is made from another if at most one in so many of its addresses came or left: more is slower than to sort."""
_SLOT_BITS = 32
_SLOT = (1 << _SLOT_BITS) - 1


def ring_hash(key: str) -> int:
    """The first four bytes of the MD5, little endian: what every implementation of this ring uses."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest()[:4], "little")


@lru_cache(maxsize=_ADDRESSES_LIMIT)
def _points(address: str) -> "array[int]":
    """The points of an address, in order. Executors of this family register with a final slash, which our registry does
    not keep; the ring counts it, or their jobs would move when we take over.
    """
    key = f"SHARD-{address.rstrip('/')}/-NODE-"
    return array("I", sorted(ring_hash(f"{key}{node}") for node in range(_VIRTUAL_NODES)))


class Ring:
    """The points of some addresses; it is never changed."""

    __slots__ = ("_addresses", "_entries", "slots")

    def __init__(self, entries: "array[int]", slots: dict[str, int], addresses: Sequence[str]) -> None:
        self._entries = entries
        self._addresses = addresses  # by their slots; those of free slots are stale
        self.slots = slots

    def __len__(self) -> int:
        return len(self._entries)

    @classmethod
    def of(cls, addresses: Iterable[str]) -> "Ring":
        slots = {address: slot for slot, address in enumerate(dict.fromkeys(addresses))}
        return cls(array("Q", sorted(_entries_of(slots))), slots, tuple(slots))

    def changed(self, came: Iterable[str], left: Iterable[str]) -> "Ring":
        """The ring with those who came and without those who left."""
        slots, addresses = dict(self.slots), list(self._addresses)
        gone = {address: slots.pop(address) for address in left}
        used = set(slots.values())
        free = [slot for slot in range(len(addresses)) if slot not in used]
        new: dict[str, int] = {}
        for address in came:
            if free:
                new[address] = free.pop()
                addresses[new[address]] = address
            else:
                new[address] = len(addresses)
                addresses.append(address)
        return Ring(_merged(self._entries, _entries_of(new), _entries_of(gone)), slots | new, addresses)

    def owner(self, point: int) -> str:
        """Whose point is the next one from here on."""
        entries = self._entries
        place = bisect_left(entries, point << _SLOT_BITS) % len(entries)
        found = entries[place] >> _SLOT_BITS
        owner = self._addresses[entries[place] & _SLOT]
        for other in range(place + 1, len(entries)):
            if entries[other] >> _SLOT_BITS != found:
                break
            owner = min(owner, self._addresses[entries[other] & _SLOT])
        return owner


def _entries_of(slots: dict[str, int]) -> list[int]:
    return [point << _SLOT_BITS | slot for address, slot in slots.items() for point in _points(address)]


def _merged(entries: "array[int]", new: list[int], gone: list[int]) -> "array[int]":
    """``entries`` with ``new`` and without ``gone``: what is between two of these is copied in one piece."""
    changes = sorted([(entry, True) for entry in new] + [(entry, False) for entry in gone])  # a slot's old owner first
    merged, copied = array("Q"), 0
    for entry, comes in changes:
        place = bisect_left(entries, entry, copied)
        merged += entries[copied:place]
        if comes:
            merged.append(entry)
        copied = place if comes else place + 1
    merged += entries[copied:]
    return merged


class Rings:
    """The rings that were used last, at most so many and so much of them. Threads may share it."""

    def __init__(self, entries_limit: int = _ENTRIES_LIMIT) -> None:
        self._entries_limit = entries_limit
        self._kept: OrderedDict[tuple[str, ...], Ring] = OrderedDict()
        self._entries = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def ring(self, addresses: tuple[str, ...]) -> Ring:
        with self._lock:
            if (found := self._kept.get(addresses)) is not None:
                self._kept.move_to_end(addresses)
                return found
            others = list(reversed(self._kept.values()))
        made = _nearest_changed(others, set(addresses)) or Ring.of(addresses)
        with self._lock:
            if addresses not in self._kept:
                self._kept[addresses] = made
                self._entries += len(made)
            while len(self._kept) > 1 and (self._entries > self._entries_limit or len(self._kept) > _RINGS):
                self._entries -= len(self._kept.popitem(last=False)[1])
        return made


def _nearest_changed(rings: Sequence[Ring], wanted: set[str]) -> Ring | None:
    """The ring of ``wanted``, made from the nearest of ``rings`` if that is nearly the same."""
    best: Ring | None = None
    fewest = len(wanted) // _NEARLY + 1
    for ring in rings:
        if abs(len(ring.slots) - len(wanted)) >= fewest:
            continue
        changes = len(ring.slots.keys() ^ wanted)
        if changes < fewest:
            best, fewest = ring, changes
        if fewest <= 1:
            break
    return None if best is None else best.changed(sorted(wanted - best.slots.keys()), best.slots.keys() - wanted)
