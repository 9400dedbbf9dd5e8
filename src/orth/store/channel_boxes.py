"""Boxes in the database: what is said about one execution, in order.

A reader goes on from the last position that it saw, so no position may become visible after a higher one. Therefore
whoever appends first locks the head of the box, and numbers what it appends from there. A new head begins at the
present instant, so that positions grow even when a box is removed and made again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import CompoundSelect, Connection, bindparam, delete, insert, select, union_all

from orth.errors import StoreUnavailable
from orth.store.channel_tables import box_entries, boxes
from orth.store.engines import among, insert_new, locked, update_many

_PER_STATEMENT = 500
_TRIES = 5
_SIZES = (64, 16, 4, 1)  # few forms of one statement: each is compiled once


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
        connection.execute(insert(box_entries), rows)
        grown = {row["box_id"] for row in rows}
        _write_heads(connection, [head for head in heads.values() if head.id in grown], now)
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


def _write_heads(connection: Connection, heads: Iterable[_Head], now: int) -> None:
    rows = [
        {"id": head.id, "last_position": head.last_position, "entries": head.entries, "grown_at": now} for head in heads
    ]
    update_many(connection, boxes, ["id"], rows)


def read_boxes(connection: Connection, after: Mapping[str, int], limit: int) -> list[BoxEntry]:
    """What each box has after a position, in order, up to ``limit`` for each box."""
    asked: list[tuple[int, int]] = []
    names: dict[int, str] = {}
    for some in _chunks(list(after)):
        heads = select(boxes.c.id, boxes.c.name, boxes.c.last_position).where(among(connection, boxes.c.name, some))
        for head in connection.execute(heads):
            if head.last_position > after[head.name]:
                names[head.id] = head.name
                asked.append((head.id, after[head.name]))
    found: list[BoxEntry] = []
    for part in _parts(asked):
        places = {
            f"{key}{number}": value for number, pair in enumerate(part) for key, value in zip("bp", pair, strict=True)
        }
        rows = connection.execute(_entries_of(len(part)), {**places, "limit": limit})
        found += [BoxEntry(names[row.box_id], row.position, row.payload) for row in rows]
    return sorted(found, key=lambda entry: (entry.box, entry.position))


@lru_cache
def _entries_of(count: int) -> CompoundSelect[Any]:
    """What ``count`` boxes (``b0``, ``b1`` …) have after their positions (``p0``, ``p1`` …)."""
    each = [
        select(
            select(box_entries)
            .where(box_entries.c.box_id == bindparam(f"b{number}"), box_entries.c.position > bindparam(f"p{number}"))
            .order_by(box_entries.c.position)
            .limit(bindparam("limit"))
            .subquery()
        )
        for number in range(count)
    ]
    return union_all(*each)


def _parts(asked: Sequence[tuple[int, int]]) -> Iterable[Sequence[tuple[int, int]]]:
    start = 0
    for size in _SIZES:
        while len(asked) - start >= size:
            yield asked[start : start + size]
            start += size


def trim_boxes(connection: Connection, up_to: Mapping[str, int]) -> None:
    """Forget what boxes hold up to a position, that one included."""
    heads: dict[str, _Head] = {}
    for some in _chunks(sorted(up_to)):
        heads |= _locked_heads(connection, some)
    gone: Counter[int] = Counter()
    for box, head in heads.items():
        old = delete(box_entries).where(box_entries.c.box_id == head.id, box_entries.c.position <= up_to[box])
        gone[head.id] = connection.execute(old).rowcount
    rows = [{"id": head.id, "entries": head.entries - gone[head.id]} for head in heads.values() if gone[head.id]]
    update_many(connection, boxes, ["id"], rows)


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
