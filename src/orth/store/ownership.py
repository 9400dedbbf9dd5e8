"""Which coordinator looks after an execution: the truth that messages only hint at.

A row says who, and its *generation* grows with every change of hands, so an owner that was away finds out that it is
not one any more. Nothing moves without the generation the mover has seen: of two who adopt the same execution one wins,
and whoever repeats a step after a lost answer finds it done. A row stands in one of three states:

* ``owned``: somebody's, and nobody else may touch it;
* ``offered``: still its owner's, who goes on with it, until somebody adopts it;
* ``orphan_pending``: nobody's; the next one to come may have it.

An owner is named by the incarnation of its process, not by its node: one that was restarted owns nothing. Rows exist
only while they matter: an execution that ends before anybody claims it never has one, and rows of ended executions are
removed many at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, case, delete, exists, func, select, update

from orth.domain.executions import OPEN_PHASES, Phase
from orth.store.cluster_history import Change, note_handoffs
from orth.store.engines import among, insert_new, locked
from orth.store.tables import executions, ownership

_IDS_PER_STATEMENT = 500
_WANT_OWNERS = tuple(phase for phase in OPEN_PHASES if phase is not Phase.OPENED)
"""Phases in which an executor may have something to say."""


class Holding(StrEnum):
    """What a row says of its owner's right."""

    OWNED = "owned"
    OFFERED = "offered"
    ORPHAN_PENDING = "orphan_pending"


_ADOPTABLE = (Holding.OFFERED, Holding.ORPHAN_PENDING)
_KEPT = (Holding.OWNED, Holding.OFFERED)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that owns executions."""

    node_id: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Owned:
    """An execution in somebody's hands. Generation 0: no row says so yet."""

    execution_id: int
    job_id: int
    generation: int


@dataclass(frozen=True, slots=True)
class Adoptable:
    """An execution that may change hands, and from whom; ``node_id`` is None when it never had an owner."""

    execution_id: int
    job_id: int
    generation: int
    node_id: str | None
    incarnation: str | None
    holding: Holding
    since: int = 0
    """When it was offered or became nobody's."""


@dataclass(frozen=True, slots=True)
class OwnerCount:
    """How many rows a process has in one state; ``node_id`` is None for those that never had an owner."""

    node_id: str | None
    incarnation: str | None
    holding: Holding
    count: int


# --- taking


def claim(connection: Connection, owner: Owner, ids: Iterable[int], now: int) -> list[Owned]:
    """Own those of these executions that are open and never had an owner; which are ``owner``'s now, also by an earlier
    claim. What has ended meanwhile costs a look and no write.
    """
    mine: list[Owned] = []
    for chunk in _chunks(sorted(set(ids))):
        jobs = _open_jobs(connection, chunk)
        insert_new(connection, ownership, [_row(one, 1, Holding.OWNED, owner, now) for one in jobs])
        mine += _held(connection, owner, jobs)
    return mine


def adopt(connection: Connection, owner: Owner, seen: Mapping[int, int], now: int) -> list[Owned]:
    """Own those of these executions, each with the generation it was seen in, that nobody else has adopted since and
    that are open; which are ``owner``'s now.
    """
    mine: list[Owned] = []
    for chunk in _chunks(sorted(seen)):
        rows = connection.execute(
            locked(_rows(connection, chunk).order_by(ownership.c.execution_id), connection)
        ).all()  # locked in one order, whoever adopts
        jobs = _open_jobs(connection, [row.execution_id for row in rows])
        won = [
            row
            for row in rows
            if row.execution_id in jobs
            and row.state in _ADOPTABLE
            and row.generation == seen[row.execution_id]
            and not (row.state == Holding.OFFERED and row.incarnation == owner.incarnation)
        ]
        if won:
            connection.execute(
                update(ownership)
                .where(among(connection, ownership.c.execution_id, [row.execution_id for row in won]))
                .values(
                    node_id=owner.node_id,
                    incarnation=owner.incarnation,
                    generation=ownership.c.generation + 1,
                    state=Holding.OWNED,
                    changed_at=now,
                )
            )
            changes = [_change_of(row, jobs[row.execution_id]) for row in won]
            note_handoffs(connection, (owner.node_id, owner.incarnation), changes, now)
        mine += _held(connection, owner, jobs)
    return mine


def adoptable(connection: Connection, limit: int, *, after: int = 0) -> list[Adoptable]:
    """Open executions that may change hands, in order of id."""
    return _open_rows(connection, (ownership.c.state.in_(_ADOPTABLE),), limit, after)


def left_by(connection: Connection, gone: Owner, limit: int, *, after: int = 0) -> list[Adoptable]:
    """Open executions of a process that is gone, which nobody has written down as such yet, in order of id."""
    found: list[Adoptable] = []
    for state in _KEPT:  # one at a time: an index has each of them in order
        found += _open_rows(connection, (*_of(gone), ownership.c.state == state), limit, after)
    return sorted(found, key=lambda one: one.execution_id)[:limit]


def open_among(connection: Connection, ids: Iterable[int]) -> set[int]:
    """Which of these executions have not ended."""
    return {one for chunk in _chunks(sorted(set(ids))) for one in _open_jobs(connection, chunk)}


# --- keeping


def owned_by(connection: Connection, owner: Owner) -> tuple[list[Owned], list[int]]:
    """What a process owns: open executions, and the ids of those that have ended."""
    rows = connection.execute(
        select(ownership.c.execution_id, ownership.c.generation, executions.c.job_id, executions.c.phase)
        .join(executions, executions.c.id == ownership.c.execution_id)
        .where(*_of(owner), ownership.c.state.in_(_KEPT))
    ).all()
    ended = [row.execution_id for row in rows if row.phase == Phase.ENDED]
    return [Owned(row.execution_id, row.job_id, row.generation) for row in rows if row.phase != Phase.ENDED], ended


def still_given_by(connection: Connection, giver: Owner, seen: Mapping[int, int]) -> set[int]:
    """Which of these, each with its generation, are open and nobody else's yet, offered or abandoned as they are."""
    left: set[int] = set()
    for chunk in _chunks(sorted(seen)):
        rows = connection.execute(_rows(connection, chunk).where(*_of(giver)))
        same = [row.execution_id for row in rows if row.generation == seen[row.execution_id]]
        left |= _open_jobs(connection, same).keys()
    return left


def release(connection: Connection, ids: Iterable[int]) -> None:
    """Remove the rows of executions that have ended; others stay."""
    for chunk in _chunks(sorted(set(ids))):
        found = select(executions.c.id).where(
            among(connection, executions.c.id, chunk), executions.c.phase == Phase.ENDED
        )
        ended = list(connection.scalars(found))
        if ended:
            connection.execute(delete(ownership).where(among(connection, ownership.c.execution_id, ended)))


# --- giving


def offer(connection: Connection, owner: Owner, seen: Mapping[int, int], now: int) -> set[int]:
    """Let others adopt these; which of them are offered now."""
    return _change(connection, owner, seen, Holding.OFFERED, now)


def keep(connection: Connection, owner: Owner, seen: Mapping[int, int], now: int) -> set[int]:
    """Take back an offer that nobody took; which of them are still ``owner``'s."""
    return _change(connection, owner, seen, Holding.OWNED, now)


def abandon(connection: Connection, owner: Owner, seen: Mapping[int, int], now: int) -> set[int]:
    """Own these no longer, though nobody has adopted them; which of them are nobody's by this."""
    return _change(connection, owner, seen, Holding.ORPHAN_PENDING, now)


# --- finding what nobody looks after


def owners(connection: Connection) -> list[OwnerCount]:
    """Who owns how much, in which state."""
    names = (ownership.c.node_id, ownership.c.incarnation, ownership.c.state)
    rows = connection.execute(select(*names, func.count()).group_by(*names).order_by(*names))
    return [OwnerCount(node_id, incarnation, Holding(state), count) for node_id, incarnation, state, count in rows]


def orphan(connection: Connection, gone: Owner, lost_at: int, limit: int) -> int:
    """Let others adopt what a process that is gone owned, at most ``limit`` at a time; how many. It is nobody's since
    ``lost_at``, when its owner was last heard of, unless that came by it later.
    """
    found = select(ownership.c.execution_id).where(*_of(gone), ownership.c.state.in_(_KEPT))
    ids = list(connection.scalars(found.order_by(ownership.c.execution_id).limit(limit)))
    for chunk in _chunks(ids):
        connection.execute(
            update(ownership)
            .where(among(connection, ownership.c.execution_id, chunk), *_of(gone), ownership.c.state.in_(_KEPT))
            .values(state=Holding.ORPHAN_PENDING, changed_at=_later(ownership.c.changed_at, lost_at))
        )
    return len(ids)


def unowned(connection: Connection, limit: int, *, after: int = 0) -> list[int]:
    """Executions that an executor may have and no row says a word about, in order of id."""
    known = exists().where(ownership.c.execution_id == executions.c.id)
    found: list[int] = []
    for phase in _WANT_OWNERS:  # one at a time: asked for all in order of id, MariaDB would walk the whole history
        of_phase = select(executions.c.id).where(executions.c.phase == phase, executions.c.id > after, ~known)
        found += connection.scalars(of_phase.order_by(executions.c.id).limit(limit))
    return sorted(found)[:limit]


def orphan_unowned(connection: Connection, ids: Iterable[int], now: int) -> int:
    """Let others adopt executions that never had an owner, as far as they are open; how many were."""
    count = 0
    for chunk in _chunks(sorted(set(ids))):
        jobs = _open_jobs(connection, chunk)
        insert_new(connection, ownership, [_row(one, 0, Holding.ORPHAN_PENDING, None, now) for one in jobs])
        count += len(jobs)
    return count


def release_orphans(connection: Connection, limit: int) -> int:
    """Remove rows of executions that ended with nobody looking after them; how many."""
    found = (
        select(ownership.c.execution_id)
        .join(executions, executions.c.id == ownership.c.execution_id)
        .where(ownership.c.state == Holding.ORPHAN_PENDING, executions.c.phase == Phase.ENDED)
        .limit(limit)
    )
    ids = list(connection.scalars(found))
    for chunk in _chunks(ids):
        connection.execute(delete(ownership).where(among(connection, ownership.c.execution_id, chunk)))
    return len(ids)


def _change(connection: Connection, owner: Owner, seen: Mapping[int, int], to: Holding, now: int) -> set[int]:
    changed: set[int] = set()
    for chunk in _chunks(sorted(seen)):
        mine = _rows(connection, chunk).where(*_of(owner)).order_by(ownership.c.execution_id)
        ids = [
            row.execution_id
            for row in connection.execute(locked(mine, connection))
            if row.state in _KEPT and row.generation == seen[row.execution_id]
        ]
        if ids:
            connection.execute(
                update(ownership)
                .where(among(connection, ownership.c.execution_id, ids))
                .values(state=to, changed_at=now)
            )
        changed |= set(ids)
    return changed


def _open_rows(
    connection: Connection, wanted: Iterable[ColumnElement[bool]], limit: int, after: int
) -> list[Adoptable]:
    rows = connection.execute(
        select(ownership, executions.c.job_id)
        .join(executions, executions.c.id == ownership.c.execution_id)
        .where(*wanted, ownership.c.execution_id > after, executions.c.phase.in_(OPEN_PHASES))
        .order_by(ownership.c.execution_id)
        .limit(limit)
    )
    return [
        Adoptable(
            row.execution_id,
            row.job_id,
            row.generation,
            row.node_id,
            row.incarnation,
            Holding(row.state),
            row.changed_at,
        )
        for row in rows
    ]


def _later(column: ColumnElement[int], instant: int) -> ColumnElement[int]:
    return case((column < instant, instant), else_=column)


def _change_of(row: Row[Any], job_id: int) -> Change:
    offered = row.state == Holding.OFFERED
    return Change(row.execution_id, job_id, row.node_id, row.incarnation, offered, row.changed_at)


def _open_jobs(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    """Of these executions the open ones, each with its job."""
    if not ids:
        return {}
    columns = executions.c
    found = select(columns.id, columns.job_id).where(among(connection, columns.id, ids), columns.phase.in_(OPEN_PHASES))
    return {row.id: row.job_id for row in connection.execute(found)}


def _held(connection: Connection, owner: Owner, jobs: Mapping[int, int]) -> list[Owned]:
    if not jobs:
        return []
    mine = _rows(connection, sorted(jobs)).where(*_of(owner), ownership.c.state == Holding.OWNED)
    return [Owned(row.execution_id, jobs[row.execution_id], row.generation) for row in connection.execute(mine)]


def _rows(connection: Connection, ids: Sequence[int]) -> Select[Any]:
    return select(ownership).where(among(connection, ownership.c.execution_id, ids))


def _of(owner: Owner) -> tuple[ColumnElement[bool], ...]:
    return ownership.c.node_id == owner.node_id, ownership.c.incarnation == owner.incarnation


def _row(execution_id: int, generation: int, holding: Holding, owner: Owner | None, now: int) -> dict[str, Any]:
    return {
        "execution_id": execution_id,
        "node_id": owner.node_id if owner else None,
        "incarnation": owner.incarnation if owner else None,
        "generation": generation,
        "state": holding,
        "changed_at": now,
    }


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
