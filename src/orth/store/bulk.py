"""Finding the executions that something is done to by filter: as many as may be done at once, and how many are left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Select, exists, select, union_all

from orth.domain import reasons
from orth.domain.executions import OPEN_PHASES, TEST_KEY, Execution, Status
from orth.store.dead_letters import COUNTED
from orth.store.engines import among, locked
from orth.store.execution_filters import Filter, conditions
from orth.store.executions import READABLE, execution_of, opened_keys
from orth.store.notes import Note, add_notes, last_noted
from orth.store.record_tables import dead_letters
from orth.store.tables import executions

_IDS_PER_STATEMENT = 500
_LOOKED_AT = 50_000
_FAILED = frozenset(status for status in Status if status.terminal and status is not Status.SUCCESS)


def find_open(connection: Connection, wanted: Filter, limit: int) -> tuple[list[int], list[int]]:
    """The oldest open executions that are as ``wanted``, at most ``limit``, and the others, counted so far."""
    asked = [*conditions(wanted), executions.c.phase.in_(OPEN_PHASES)]
    found = select(executions.c.id).where(*asked).order_by(executions.c.id).limit(limit + COUNTED)
    ids = list(connection.scalars(found))
    return ids[:limit], ids[limit:]


@dataclass(frozen=True, slots=True)
class Failed:
    """What was found of what failed, how many more were seen, and after which execution to go on; None: nowhere."""

    ids: list[int]
    left: int
    next_after: int | None


def find_failed(connection: Connection, wanted: Filter, limit: int, after: int = 0) -> Failed:
    """The oldest executions after one that are as ``wanted``, failed, and were neither tried nor done again since; at
    most ``limit``. Of a long history one part is looked at, ``_LOOKED_AT``.
    """
    statuses = _FAILED if wanted.statuses is None else _FAILED & wanted.statuses
    if not statuses:
        return Failed([], 0, None)
    found: list[int] = []
    seen_all = False
    for _ in range(0, _LOOKED_AT, _IDS_PER_STATEMENT):
        rows = connection.execute(_failed_after(wanted, statuses, after)).all()
        done = _done_again(connection, [(row.job_id, row.id) for row in rows])
        found += [row.id for row in rows if row.id not in done]
        seen_all = len(rows) < _IDS_PER_STATEMENT
        if seen_all or len(found) >= limit + COUNTED:
            break
        after = rows[-1].id
    left = max(0, len(found) - limit)
    if left:
        return Failed(found[:limit], left, found[limit - 1])
    return Failed(found, 0, None if seen_all else after)


def _failed_after(wanted: Filter, statuses: frozenset[Status], after: int) -> Select[tuple[int, int]]:
    """The next part of what failed, the oldest first. The first of each status put together: so each is a walk through
    an index that has them in this order.
    """
    columns = (executions.c.id, executions.c.job_id)
    others = (~_BY_HAND, ~_TEST)
    each = [
        select(*columns)
        .where(*conditions(replace(wanted, statuses=frozenset({status}))), *others, executions.c.id > after)
        .order_by(executions.c.id)
        .limit(_IDS_PER_STATEMENT)
        .subquery()
        for status in sorted(statuses)
    ]
    together = union_all(*(select(one.c.id, one.c.job_id) for one in each)).subquery()
    return select(together.c.id, together.c.job_id).order_by(together.c.id).limit(_IDS_PER_STATEMENT)


def hold_failed(connection: Connection, ids: Iterable[int]) -> list[Execution]:
    """Which of these failed and were neither tried nor done again; kept as they are until the transaction ends."""
    # Of two who do the same again at once, the second waits here for the first, and then sees what it opened.
    held = [one for one in hold_ended(connection, ids) if one.status in _FAILED and not (one.is_test or one.cancelled)]
    left: list[Execution] = []
    for start in range(0, len(held), _IDS_PER_STATEMENT):
        some = held[start : start + _IDS_PER_STATEMENT]
        done = _done_again(connection, [(one.job_id, one.id) for one in some])
        by_hand = select(executions.c.id).where(among(connection, executions.c.id, [one.id for one in some]), _BY_HAND)
        done |= set(connection.scalars(by_hand))
        left += [one for one in some if one.id not in done]
    return left


def hold_ended(connection: Connection, ids: Iterable[int]) -> list[Execution]:
    """Those of these that have ended, kept as they are until the transaction ends."""
    held: list[Execution] = []
    for chunk in _chunks(sorted(set(ids))):
        rows = select(executions).where(among(connection, executions.c.id, chunk), READABLE, executions.c.outcome != 0)
        held += [execution_of(row) for row in connection.execute(locked(rows.order_by(executions.c.id), connection))]
    return held


def _done_again(connection: Connection, failed: Sequence[tuple[int, int]]) -> set[int]:
    """Which of these, each a job and an execution, were tried or done again. Asked by their keys: joined to itself by a
    computed key, MariaDB would read the table once for each.
    """
    keys = {(job_id, f"{kind}:{one}"): one for job_id, one in failed for kind in ("retry", "again")}
    if not keys:
        return set()
    by_name = last_noted(connection, [one for _job_id, one in failed], reasons.DONE_AGAIN)
    return {keys[key] for key in opened_keys(connection, list(keys))} | by_name.keys()


def note_done_again(connection: Connection, execution_id: int, opened: int, now: int) -> None:
    """Remember that somebody who named this execution had it done again: the key of the new one does not tell."""
    if not last_noted(connection, [execution_id], reasons.DONE_AGAIN):
        told = Note(execution_id, reasons.DONE_AGAIN, f"It was done again as execution {opened}.")
        add_notes(connection, [told], "", now, beyond_limit=True)


_TEST = executions.c.trigger_key.startswith(TEST_KEY)
"""What they tried is not their job's, so the job cannot do it again."""
_BY_HAND = exists().where(dead_letters.c.execution_id == executions.c.id, dead_letters.c.replayed_by.is_not(None))


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
