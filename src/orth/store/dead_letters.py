"""Dead letters: executions that failed for good, until somebody has them done again or decides that nothing is to be
done. A letter is settled once, by whoever is first.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select, update

from orth.domain.access import narrowed
from orth.domain.executions import OUTCOMES, Execution, Status
from orth.store.engines import among, insert_new, locked, update_many
from orth.store.group_scopes import in_groups
from orth.store.record_tables import dead_letters
from orth.store.tables import executions

COUNTED = 10_000
"""What is left is counted up to here: nobody waits for a count of millions."""
_IDS_PER_STATEMENT = 500
_SHOWN = 200
_STATUSES = {OUTCOMES[status]: status for status in Status if status.terminal}


class LetterState(StrEnum):
    """What became of a dead letter."""

    WAITING = "waiting"  # nobody has decided about it
    REPLAYED = "replayed"  # another execution does it again
    DROPPED = "dropped"  # somebody decided that nothing is to be done


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An execution that failed for good."""

    execution_id: int
    job_id: int
    job_group: int
    ended_at: int
    status: Status
    reason_code: str | None
    replayed_by: int | None
    dropped_by: str | None
    message: str = ""
    """The first line of what its execution said."""

    @property
    def state(self) -> LetterState:
        if self.replayed_by is not None:
            return LetterState.REPLAYED
        return LetterState.WAITING if self.dropped_by is None else LetterState.DROPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """What a dead letter must be like; None asks for nothing. ``since`` is included and ``until`` excluded."""

    job_id: int | None = None
    job_group: int | None = None
    status: Status | None = None
    reason_code: str | None = None
    since: int | None = None
    until: int | None = None
    groups: frozenset[int] | None = None
    """The groups it may be of, where only some may be seen."""

    def within(self, allowed: frozenset[int] | None) -> "LetterFilter":
        """The same, kept to these groups; None: to none."""
        job_group, groups = narrowed(self.job_group, allowed)
        return replace(self, job_group=job_group, groups=groups)


def add_dead_letters(connection: Connection, ended: Sequence[Execution], now: int) -> None:
    """Keep executions that have failed for good, at ``now``."""
    insert_new(
        connection,
        dead_letters,
        [
            {
                "execution_id": one.id,
                "job_id": one.job_id,
                "job_group": one.job_group,
                "ended_at": now,
                "outcome": OUTCOMES[one.status],
                "reason_code": one.reason_code,
                "replayed_by": None,
                "dropped_by": None,
            }
            for one in ended
        ],
    )


def list_dead_letters(
    connection: Connection,
    wanted: LetterFilter,
    *,
    state: LetterState | None = None,
    before: int | None = None,
    limit: int,
) -> list[DeadLetter]:
    """Dead letters, the newest executions first, those with an id below ``before``."""
    said = dead_letters.outerjoin(executions, executions.c.id == dead_letters.c.execution_id)
    statement = (
        select(dead_letters, executions.c.trigger_msg, executions.c.handle_msg)
        .select_from(said)
        .where(*_conditions(wanted))
    )
    if state is not None:
        statement = statement.where(_STATE_IS[state])
    if before is not None:
        statement = statement.where(dead_letters.c.execution_id < before)
    rows = connection.execute(statement.order_by(dead_letters.c.execution_id.desc()).limit(limit))
    return [_letter(row) for row in rows]


def find_waiting(
    connection: Connection, wanted: LetterFilter, limit: int, ids: Collection[int] | None = None
) -> tuple[list[int], int]:
    """The oldest that wait for a decision and are as ``wanted``, of these ``ids`` where there are some: at most
    ``limit``, and how many more there are.
    """
    found = select(dead_letters.c.execution_id).where(*_conditions(wanted), _WAITING)
    if ids is not None:
        found = found.where(among(connection, dead_letters.c.execution_id, ids))
    ids = list(connection.scalars(found.order_by(dead_letters.c.execution_id).limit(limit + COUNTED)))
    return ids[:limit], len(ids) - len(ids[:limit])


def hold_waiting(connection: Connection, ids: Iterable[int], groups: Collection[int] | None = None) -> list[int]:
    """Which of these executions are dead letters that wait, of these groups, kept so until the transaction ends."""
    held: list[int] = []
    for chunk in _chunks(sorted(set(ids))):
        waiting = select(dead_letters.c.execution_id).where(
            among(connection, dead_letters.c.execution_id, chunk),
            _WAITING,
            *in_groups(dead_letters.c.job_group, groups),
        )
        held += connection.scalars(locked(waiting.order_by(dead_letters.c.execution_id), connection))
    return held


def mark_replayed(connection: Connection, replays: Collection[tuple[int, int]]) -> None:
    """Note which execution does each of these again. A letter that somebody has settled stays as it is."""
    rows = [{"execution_id": letter, "replayed_by": by} for letter, by in sorted(replays)]
    update_many(connection, dead_letters, ("execution_id",), rows, _WAITING)


def drop_letters(
    connection: Connection, ids: Iterable[int], actor: str, groups: Collection[int] | None = None
) -> list[int]:
    """Decide that nothing is to be done about these, of these groups; which of them waited for a decision."""
    held = hold_waiting(connection, ids, groups)
    for chunk in _chunks(held):
        dropped = update(dead_letters).where(among(connection, dead_letters.c.execution_id, chunk), _WAITING)
        connection.execute(dropped.values(dropped_by=actor[:64]))
    return held


_WAITING = and_(dead_letters.c.replayed_by.is_(None), dead_letters.c.dropped_by.is_(None))
_STATE_IS: dict[LetterState, ColumnElement[bool]] = {
    LetterState.WAITING: _WAITING,
    LetterState.REPLAYED: dead_letters.c.replayed_by.is_not(None),
    LetterState.DROPPED: and_(dead_letters.c.replayed_by.is_(None), dead_letters.c.dropped_by.is_not(None)),
}


def _conditions(wanted: LetterFilter) -> list[ColumnElement[bool]]:
    columns = dead_letters.c
    asked: list[ColumnElement[bool]] = []
    if wanted.job_id is not None:
        asked.append(columns.job_id == wanted.job_id)
    if wanted.job_group is not None:
        asked.append(columns.job_group == wanted.job_group)
    if wanted.status is not None:
        asked.append(columns.outcome == OUTCOMES[wanted.status])
    if wanted.reason_code is not None:
        asked.append(columns.reason_code == wanted.reason_code)
    if wanted.since is not None:
        asked.append(columns.ended_at >= wanted.since)
    if wanted.until is not None:
        asked.append(columns.ended_at < wanted.until)
    return asked + in_groups(columns.job_group, wanted.groups)


def _letter(row: Row[Any]) -> DeadLetter:
    return DeadLetter(
        row.execution_id,
        row.job_id,
        row.job_group,
        row.ended_at,
        _STATUSES[row.outcome],
        row.reason_code,
        row.replayed_by,
        row.dropped_by,
        _first_line(row.trigger_msg if row.outcome == OUTCOMES[Status.TRIGGER_FAILED] else row.handle_msg),
    )


def _first_line(message: str | None) -> str:
    return next(iter((message or "").strip().splitlines()), "")[:_SHOWN]


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
