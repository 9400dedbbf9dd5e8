"""Boxes in the database: what is said about one execution, in order.

A reader goes on from the last position that it saw, so no position may become visible after a higher one. Therefore
whoever appends first locks the head of the box, and numbers what it appends from there. A new head begins at the
present instant, so that positions grow even when a box is removed and made again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from orth.errors import StoreUnavailable
from orth.store.channel_tables import box_entries, boxes
from orth.store.engines import among, insert_all, insert_new, locked

_PER_STATEMENT = 500
_TRIES = 5
_SMALL = 32
"""Boxes with so few entries are read whole, many in one statement, and what was asked for is picked out."""


@dataclass(slots=True)
class _Head:
    id: int
    last_position: int
    entries: int


@dataclass(frozen=True, slots=True)
class BoxEntry:
    """Something in a box."""

    box: str
    position: int
    payload: str


def append_to_boxes(
    connection: Connection, posts: Sequence[Mapping[str, Sequence[str]]], *, limit: int, now: int
) -> list[list[str]]:
    """Append, for each post and box whole or not at all; for each post the boxes that had no room for it."""
    heads = _hold_heads(connection, {box for post in posts for box in post}, now)
    refused: list[list[str]] = []
    rows: list[dict[str, Any]] = []
    for post in posts:
        refused.append([box for box, payloads in post.items() if heads[box].entries + len(payloads) > limit])
        for box, payloads in post.items():
            if box not in refused[-1]:
                rows += _placed(heads[box], payloads)
    if rows:
        insert_all(connection, box_entries, rows)
        _write_heads(connection, Counter(row["box_id"] for row in rows), now)
    return refused


def _placed(head: _Head, payloads: Sequence[str]) -> list[dict[str, Any]]:
    first = head.last_position + 1
    head.last_position += len(payloads)
    head.entries += len(payloads)
    return [
        {"box_id": head.id, "position": position, "payload": payload}
        for position, payload in enumerate(payloads, start=first)
    ]


def _hold_heads(connection: Connection, names: Iterable[str], now: int) -> dict[str, _Head]:
    """The heads of boxes, made where they are missing, locked in the order of their names."""
    held: dict[str, _Head] = {}
    missing = sorted(names)
    for _ in range(_TRIES):
        for some in _chunks(missing):
            held |= _locked_heads(connection, some)
        missing = [name for name in missing if name not in held]
        if not missing:
            return held
        new = {"last_position": now * 1000, "entries": 0, "grown_at": now}
        insert_new(connection, boxes, [{"name": name, **new} for name in missing])
    raise StoreUnavailable("Boxes were removed as fast as they were made.")


def _locked_heads(connection: Connection, names: Sequence[str]) -> dict[str, _Head]:
    wanted = select(boxes.c.name, boxes.c.id, boxes.c.last_position, boxes.c.entries)
    wanted = wanted.where(among(connection, boxes.c.name, names)).order_by(boxes.c.name)
    rows = connection.execute(locked(wanted, connection))
    return {row.name: _Head(row.id, row.last_position, row.entries) for row in rows}


def _write_heads(connection: Connection, grown: Mapping[int, int], now: int) -> None:
    """Say by how much boxes, by their ids, have grown; those that grew alike in one statement."""
    alike: dict[int, list[int]] = {}
    for box_id, count in grown.items():
        alike.setdefault(count, []).append(box_id)
    for count, ids in alike.items():
        longer = {"last_position": boxes.c.last_position + count, "entries": boxes.c.entries + count, "grown_at": now}
        for some in _chunks(ids):
            connection.execute(update(boxes).where(among(connection, boxes.c.id, some)).values(longer))


def read_boxes(connection: Connection, after: Mapping[str, int], limit: int) -> list[BoxEntry]:
    """What each box has after a position, in order, up to ``limit`` for each box."""
    grown: dict[int, str] = {}
    small: list[int] = []
    for some in _chunks(list(after)):
        heads = select(boxes.c.id, boxes.c.name, boxes.c.last_position, boxes.c.entries)
        for head in connection.execute(heads.where(among(connection, boxes.c.name, some))):
            if head.last_position > after[head.name]:
                grown[head.id] = head.name
                if head.entries <= limit and (head.entries <= _SMALL or not after[head.name]):
                    small.append(head.id)
    found: list[BoxEntry] = []
    for some in _chunks(small):
        rows = connection.execute(select(box_entries).where(among(connection, box_entries.c.box_id, some)))
        found += [_entry(grown, row) for row in rows if row.position > after[grown[row.box_id]]]
    for box_id in grown.keys() - small:
        later = box_entries.c.box_id == box_id, box_entries.c.position > after[grown[box_id]]
        rows = connection.execute(select(box_entries).where(*later).order_by(box_entries.c.position).limit(limit))
        found += [_entry(grown, row) for row in rows]
    return sorted(found, key=lambda entry: (entry.box, entry.position))


def _entry(names: Mapping[int, str], row: Row[Any]) -> BoxEntry:
    return BoxEntry(names[row.box_id], row.position, row.payload)


def remove_boxes(connection: Connection, names: Sequence[str]) -> None:
    """Forget boxes and all that is in them."""
    for some in _chunks(sorted(set(names))):
        _remove(connection, [head.id for head in _locked_heads(connection, some).values()])


def forget_boxes(connection: Connection, before: int, limit: int) -> int:
    """Remove boxes that have not grown since ``before``; how many, at most ``limit``."""
    old = select(boxes.c.id).where(boxes.c.grown_at < before).order_by(boxes.c.grown_at).limit(limit)
    # Locked by id: whoever appends meanwhile makes the box young again, and it stays.
    ids = list(connection.scalars(locked(old, connection, skip=True)))
    for some in _chunks(ids):
        _remove(connection, some)
    return len(ids)


def _remove(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(delete(box_entries).where(among(connection, box_entries.c.box_id, ids)))
    connection.execute(delete(boxes).where(among(connection, boxes.c.id, ids)))


def _chunks(items: Sequence[Any]) -> list[Any]:
    return [items[start : start + _PER_STATEMENT] for start in range(0, len(items), _PER_STATEMENT)]
