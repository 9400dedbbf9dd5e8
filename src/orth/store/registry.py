"""Executors that said they are there.

One row per ``(registry_group, registry_key, registry_value)``: the app name and the address of one process. A beat is
an upsert; a group's address list is refreshed in the same transaction whenever the set of addresses changes, so
routing never waits for a monitor.

An address whose process has told a work key is its own: a beat of another one is stored only instead of that very key,
once somebody has found out that its process is there no more, and a good-bye only with that key.

Thousands of executors beat at once, so the verbs take many at a time and touch as little as they can: what a process
announced when it started is written once, and after that a beat writes its time.

An executor that is leaving keeps its row until it says good-bye, so that its logs can be read and its executions
killed. It is out of the address list from its first beat that says so. If executions are open where an executor leaves
the registry, its row is kept in the group ``FORMER``: coordinators go on authenticating to it with its key.

An app has room for so many addresses. Only who is new is counted, so a beat of one that is known is always taken, and
costs nothing more. What executors announce of their handlers is stored once for each app, within limits
(``handler_lists``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, or_, select, update

from orth.domain.nodes import ExecutorEntry, Unavailability, Vitals
from orth.store.engines import among, chunks, locked, update_many, upsert
from orth.store.executor_entries import (
    EXECUTOR,
    FORMER,
    list_executors,
    list_former_executors,
    vitals_columns,
)
from orth.store.groups import (
    automatic_addresses,
    edit_automatic_addresses,
    hold_automatic_group,
    set_automatic_addresses,
)
from orth.store.handler_lists import HandlerLists
from orth.store.routes import processes_with_executions
from orth.store.tables import registry

_KEYS = ("registry_group", "registry_key", "registry_value")
_STAYS = or_(registry.c.unavailable.is_(None), registry.c.unavailable != Unavailability.LEAVING)


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life, as it is stored. A foreign executor has no incarnation and no extensions."""

    app_name: str
    address: str
    incarnation: str | None = None
    extensions: frozenset[str] = frozenset()
    version: str | None = None
    handlers: str | None = None
    labels: str | None = None
    load: int | None = None
    clock_offset: int | None = None
    key_id: str | None = None
    work_key: str | None = None
    """Sealed."""
    vitals: Vitals | None = None
    unavailable: str | None = None
    """Why it takes no new executions; None: it takes some."""
    repeated: bool = False
    """Whether this process has announced the same before: then only what changes from beat to beat is written."""
    row: int | None = None
    """The row of a repeated beat, when it is known: then it need not be looked for."""
    moved: bool = True
    """Whether load, clock offset, vitals or ``unavailable`` differ from what is in that row."""
    instead_of: str | None = None
    """The sealed work key of the process that was there, and is known to be there no more."""


@dataclass(frozen=True, slots=True)
class Goodbye:
    """An executor leaves. One that says who it is speaks for itself alone: its successor on the same address stays."""

    app_name: str
    address: str
    incarnation: str | None = None
    proved: str | None = None
    """The sealed work key that it has shown to have."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a beat was to the registry."""

    at: int
    """The time that was stored for it."""
    joined: bool
    """Nobody was known at this address of the app."""
    row: int | None = None
    """Where it is stored, if that was seen."""
    earlier: str | None = None
    """The incarnation that was known there and is another one."""
    held_by: ExecutorEntry | None = None
    """The process that has the address, as far as anybody knows: then nothing was stored."""
    lacks_room: bool = False
    """The app has as many addresses as it may have, and this would be another: then nothing was stored."""
    lacks_room_for_handlers: bool = False
    """The app's lists of handlers take as much as they may, and this is another large one: nothing was stored."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """What a good-bye was to the registry."""

    left: bool
    """It was known, and is no more."""
    held_by: ExecutorEntry | None = None
    """The process with a work key that has the address, and stays."""


# --- beats and good-byes ----------------------------------------------------------------------------------------------


def record_beats(
    connection: Connection, beats: Sequence[Beat], now: int, *, per_app: int | None = None
) -> list[Arrival]:
    """Store beats, the last of an address that may have it being the one that counts; what each was, in their order.

    ``per_app`` is how many addresses an app may have. Coordinators that look at the same time do not see each other's
    newcomers, so it may become a few more.
    """
    found = {beat.row: beat for beat in beats if beat.row is not None}
    if not _write_found(connection, list(found.values()), now):
        found = {}
    sought = [beat for beat in beats if beat.row not in found]
    rows = {_key(row): row for row in _held(connection, {(beat.app_name, beat.address) for beat in sought})}
    room = _room(connection, {beat.app_name for beat in sought if (beat.app_name, beat.address) not in rows}, per_app)
    lists = HandlerLists.of(
        connection, [beat for beat in sought if not _is_repetition(beat, rows.get((beat.app_name, beat.address)))]
    )
    taken, digests, arrivals = _settled(sought, rows, room, lists, now)
    lists.write(connection, now)
    whole = [beat for key, beat in taken.items() if not _is_repetition(beat, rows.get(key))]
    again = [(rows[key], beat) for key, beat in taken.items() if _is_repetition(beat, rows.get(key))]
    _write_whole(connection, whole, rows, digests, now)
    _write_again(connection, again, now)
    was_listed = {key for key, row in rows.items() if row.unavailable != Unavailability.LEAVING}
    leaving = {key for key, beat in taken.items() if beat.unavailable == Unavailability.LEAVING}
    for app_name, addresses in _by_app(taken.keys() - was_listed - leaving):
        edit_automatic_addresses(connection, app_name, now, added=addresses)
    for app_name, addresses in _by_app(was_listed & leaving):
        edit_automatic_addresses(connection, app_name, now, removed=addresses)
    of_sought = iter(arrivals)
    return [Arrival(now, joined=False, row=beat.row) if beat.row in found else next(of_sought) for beat in beats]


def _room(connection: Connection, app_names: Iterable[str], per_app: int | None) -> dict[str, int]:
    """How many more addresses these apps may have; none is named where there is no bound."""
    if per_app is None:
        return {}
    room = {}
    for app_name in sorted(app_names):
        theirs = (registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name)
        room[app_name] = per_app - (connection.scalar(select(func.count()).select_from(registry).where(*theirs)) or 0)
    return room


def _settled(
    beats: Sequence[Beat],
    rows: Mapping[tuple[str, str], Row[Any]],
    room: dict[str, int],
    lists: HandlerLists,
    now: int,
) -> tuple[dict[tuple[str, str], Beat], dict[tuple[str, str], str | None], list[Arrival]]:
    """The beat that is stored for each address, the digests of their handlers, and what each beat was: they are taken
    one after the other, and use up the ``room``.
    """
    holders = {key: _holder(row) for key, row in rows.items()}
    taken: dict[tuple[str, str], Beat] = {}
    digests: dict[tuple[str, str], str | None] = {}
    arrivals = []
    for beat in beats:
        key = (beat.app_name, beat.address)
        holder, row = holders.get(key), rows.get(key)
        if holder is not None and not _is_repetition(beat, row) and not _may_have(beat, holder):
            arrivals.append(Arrival(now, joined=False, held_by=holder))
            continue
        is_new = row is None and key not in taken and beat.app_name in room
        if is_new and room[beat.app_name] <= 0:
            arrivals.append(Arrival(now, joined=False, lacks_room=True))
            continue
        if not _is_repetition(beat, row):
            has_room, digest = lists.take(beat)
            if not has_room:
                arrivals.append(Arrival(now, joined=False, lacks_room_for_handlers=True))
                continue
            digests[key] = digest
        if is_new:
            room[beat.app_name] -= 1
        arrivals.append(_arrival(beat, row, now))
        taken[key] = beat
        holders[key] = ExecutorEntry(*key, now, beat.incarnation, key_id=beat.key_id, work_key=beat.work_key)
    return taken, digests, arrivals


def _may_have(beat: Beat, holder: ExecutorEntry) -> bool:
    if holder.work_key is None or beat.instead_of == holder.work_key:
        return True
    return (beat.incarnation, beat.work_key) == (holder.incarnation, holder.work_key)


def _holder(row: Row[Any]) -> ExecutorEntry:
    return ExecutorEntry(*_key(row), row.update_time, row.incarnation, key_id=row.key_id, work_key=row.work_key)


def _key(row: Row[Any]) -> tuple[str, str]:
    return row.registry_key, row.registry_value


def remove_executors(connection: Connection, goodbyes: Sequence[Goodbye], now: int) -> list[Farewell]:
    """Forget executors that said good-bye; what became of each, in their order."""
    by_key = {(goodbye.app_name, goodbye.address): goodbye for goodbye in goodbyes}
    rows = {_key(row): row for row in _held(connection, by_key)}
    holders = {key: _holder(row) for key, row in rows.items()}
    gone = {key: row for key, row in rows.items() if _speaks_for(by_key[key], holders[key])}
    _delete(connection, gone.values())
    for app_name, addresses in _by_app(gone):
        edit_automatic_addresses(connection, app_name, now, removed=addresses)
    return [
        Farewell(left=key in gone, held_by=None if key in gone or holder is None or not holder.work_key else holder)
        for key, holder in (((one.app_name, one.address), holders.get((one.app_name, one.address))) for one in goodbyes)
    ]


def take_off(connection: Connection, app_name: str, address: str, now: int) -> bool:
    """Forget an executor because somebody who may say so wants it gone; whether there was one."""
    proved = [row.work_key for row in _held(connection, [(app_name, address)])]
    return bool(proved) and remove_executors(connection, [Goodbye(app_name, address, proved=proved[0])], now)[0].left


def _held(connection: Connection, keys: Iterable[tuple[str, str]]) -> Iterator[Row[Any]]:
    """The rows of ``keys`` that exist, locked in an order that is the same for everybody."""
    columns = (
        "id",
        *_KEYS[1:],
        "update_time",
        "incarnation",
        "since",
        "load",
        "clock_offset",
        "key_id",
        "work_key",
        "vitals",
        "left_behind",
        "unavailable",
    )
    for app_name, addresses in _by_app(keys):
        for chunk in chunks(addresses):
            rows = select(*(registry.c[name] for name in columns)).where(
                registry.c.registry_group == EXECUTOR,
                registry.c.registry_key == app_name,
                among(connection, registry.c.registry_value, chunk),
            )
            yield from connection.execute(locked(rows.order_by(registry.c.registry_value), connection))


def _by_app(keys: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    by_app: dict[str, list[str]] = {}
    for app_name, address in sorted(keys):
        by_app.setdefault(app_name, []).append(address)
    return list(by_app.items())


def _is_repetition(beat: Beat, row: Row[Any] | None) -> bool:
    return beat.repeated and row is not None and row.incarnation == beat.incarnation


def _speaks_for(goodbye: Goodbye, holder: ExecutorEntry) -> bool:
    itself = goodbye.incarnation is None or holder.incarnation in (None, goodbye.incarnation)
    return itself and holder.work_key in (None, goodbye.proved)


def _arrival(beat: Beat, row: Row[Any] | None, now: int) -> Arrival:
    if row is None:
        return Arrival(now, joined=True)
    replaced = row.incarnation is not None and row.incarnation != beat.incarnation
    return Arrival(now, joined=False, row=row.id, earlier=row.incarnation if replaced else None)


def _write_whole(
    connection: Connection,
    beats: Sequence[Beat],
    known: Mapping[tuple[str, str], Row[Any]],
    digests: Mapping[tuple[str, str], str | None],
    now: int,
) -> None:
    rows = []
    for beat in beats:
        row = known.get((beat.app_name, beat.address))
        goes_on = row is not None and row.incarnation == beat.incarnation and row.since
        rows.append(
            {
                "registry_group": EXECUTOR,
                "registry_key": beat.app_name,
                "registry_value": beat.address,
                "update_time": now,
                "incarnation": beat.incarnation,
                "extensions": ",".join(sorted(beat.extensions)),
                "version": beat.version,
                "handlers_digest": digests[beat.app_name, beat.address],
                "since": row.since if row is not None and goes_on else now,
                "load": beat.load,
                "labels": beat.labels,
                "clock_offset": beat.clock_offset,
                "key_id": beat.key_id,
                "work_key": beat.work_key,
                "unavailable": beat.unavailable,
                **vitals_columns(beat.vitals),
            }
        )
    upsert(connection, registry, rows, _KEYS)


def _write_found(connection: Connection, beats: Sequence[Beat], now: int) -> bool:
    """Write beats whose rows are known; False when one of those rows is there no more, so that all must be sought."""
    complete = _write_times(connection, sorted({beat.row for beat in beats if beat.row is not None}), now)
    if complete:
        _write_signs(connection, [(beat.row, beat) for beat in beats if beat.moved])
    return complete


def _write_again(connection: Connection, again: Sequence[tuple[Row[Any], Beat]], now: int) -> None:
    _write_times(connection, [row.id for row, _beat in again], now)
    moved = [
        (row.id, beat)
        for row, beat in again
        if (row.load, row.clock_offset, row.unavailable) != (beat.load, beat.clock_offset, beat.unavailable)
        or {"vitals": row.vitals, "left_behind": row.left_behind} != vitals_columns(beat.vitals)
    ]
    _write_signs(connection, moved)


def _write_times(connection: Connection, rows: Sequence[int], now: int) -> bool:
    """Write the time into ``rows``; whether all of them were there."""
    written = 0
    for chunk in chunks(rows):
        here = among(connection, registry.c.id, chunk)
        written += connection.execute(update(registry).where(here).values(update_time=now)).rowcount
    return written == len(rows)


def _write_signs(connection: Connection, beats: Sequence[tuple[int | None, Beat]]) -> None:
    rows = [
        {
            "id": row,
            "load": beat.load,
            "clock_offset": beat.clock_offset,
            "unavailable": beat.unavailable,
            **vitals_columns(beat.vitals),
        }
        for row, beat in beats
    ]
    update_many(connection, registry, ("id",), rows)


# --- silence ----------------------------------------------------------------------------------------------------------


def remove_silent(connection: Connection, silent: Sequence[ExecutorEntry], now: int) -> list[ExecutorEntry]:
    """Forget those of ``silent`` that have not beaten since; those removed. Afterwards every list is right again."""
    by_key = {(entry.app_name, entry.address): entry for entry in silent}
    gone = [
        row
        for row in _held(connection, by_key)
        if row.update_time == by_key[_key(row)].last_beat  # a beat that came meanwhile keeps it
    ]
    _delete(connection, gone)
    _mend_addresses(connection, now)
    return [by_key[_key(row)] for row in gone]


def drop_former(connection: Connection) -> None:
    """Forget executors that left the registry and have no open executions any more, or are registered again."""
    former = list_former_executors(connection)
    if not former:
        return
    opened = processes_with_executions(connection, {entry.address for entry in former})
    back = {(entry.app_name, entry.address, entry.incarnation) for entry in list_executors(connection)}
    for entry in former:
        is_back = (entry.app_name, entry.address, entry.incarnation) in back
        if is_back or (entry.address, entry.incarnation) not in opened:
            _delete_former(connection, [(entry.app_name, entry.address)])


def _delete(connection: Connection, rows: Iterable[Row[Any]]) -> None:
    """Take rows out of the registry. One whose process has open executions moves to the group ``FORMER``."""
    gone = list(rows)
    opened = processes_with_executions(connection, {row.registry_value for row in gone})
    kept = [row for row in gone if (row.registry_value, row.incarnation) in opened]
    _delete_former(connection, map(_key, kept))
    for chunk in chunks(row.id for row in kept):
        moved = update(registry).where(among(connection, registry.c.id, chunk))
        connection.execute(moved.values(registry_group=FORMER, unavailable=None, handlers_digest=None))
    keeps = {row.id for row in kept}
    for chunk in chunks(row.id for row in gone if row.id not in keeps):
        connection.execute(delete(registry).where(among(connection, registry.c.id, chunk)))


def _delete_former(connection: Connection, keys: Iterable[tuple[str, str]]) -> None:
    for app_name, addresses in _by_app(keys):
        for chunk in chunks(addresses):
            connection.execute(
                delete(registry).where(
                    registry.c.registry_group == FORMER,
                    registry.c.registry_key == app_name,
                    among(connection, registry.c.registry_value, chunk),
                )
            )


def _mend_addresses(connection: Connection, now: int) -> None:
    """Refresh every list that differs from the registry: also that of a group which was being created, and therefore
    not to be seen, when its executor came.
    """
    present: dict[str, set[str]] = {}
    rows = select(registry.c.registry_key, registry.c.registry_value).where(
        registry.c.registry_group == EXECUTOR, _STAYS
    )
    for app_name, address in connection.execute(rows):
        present.setdefault(app_name, set()).add(address)
    for app_name, addresses in sorted(automatic_addresses(connection).items()):
        if set(addresses) != present.get(app_name, set()):
            refresh_addresses(connection, app_name, now)


def refresh_addresses(connection: Connection, app_name: str, now: int) -> None:
    """Let the group of ``app_name``, if there is one and it is automatic, list what the registry knows."""
    # Locked before looking: of two executors that come at once, the second to get here sees the first.
    if hold_automatic_group(connection, app_name):
        rows = select(registry.c.registry_value).where(
            registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name, _STAYS
        )
        set_automatic_addresses(connection, app_name, sorted(connection.scalars(rows)), now)
