"""Lists of executions, newest first, in time that does not depend on the size of the history.

One question can be answered by an index alone (``_driving``); whatever else is asked is checked row by row. So that a
rare thing in a long history does not take minutes, ``look`` goes through a bounded number of rows and tells how far it
got; the caller goes on from there, now or with the next page. Who may see several groups is given the newest of each,
put together, and so is who asks for several statuses: each is a walk through the index by itself.

Times are turned into ids first, for ids grow with time and every index ends with them. Coordinators' clocks may differ,
so the ids are taken from a little further out, and the times are compared too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, Subquery, and_, case, func, or_, select, union_all

from orth.domain.executions import OUTCOMES, Execution, ListedStatus, Phase, Status
from orth.store.engines import among
from orth.store.execution_filters import Filter, conditions
from orth.store.executions import UnreadableExecution, listed_execution, with_owner
from orth.store.tables import executions

_CLOCKS_DIFFER = 60_000
_FAR_APART = 1_000
"""Rows looked at together where an index leads to them: each may have to be read from the disk."""
_GROUPS_EACH = 100
"""Groups that are looked at one by one; of more, most executions are worth a look."""

Listed = Execution | UnreadableExecution


@dataclass(frozen=True, slots=True)
class Found:
    """Part of a list. Everything down to the id ``reached``, opened at ``reached_at``, was looked at; None: there is
    nothing further.
    """

    items: list[Listed]
    reached: int | None = None
    reached_at: int | None = None


def list_executions(
    connection: Connection, wanted: Filter | None = None, *, before: int | None = None, limit: int
) -> list[Listed]:
    """All that ``wanted`` means, newest first, those with an id below ``before``; however far it must look."""
    return _list(connection, [*conditions(wanted or Filter()), *_below(before)], limit)


def look(connection: Connection, wanted: Filter, *, before: int | None, limit: int, window: int) -> Found:
    """What ``wanted`` means among the next rows below ``before``: as many as an index gives, or as a window has, at
    most.
    """
    span = [*_below(before), *_ids_of_times(connection, wanted)]
    driving = _driving(wanted)
    if replace(driving, since=wanted.since) == wanted:
        rows = _list(connection, [], limit + 1, _next(wanted, span, limit + 1))
        return _cut(rows, limit) if len(rows) > limit else Found(rows)
    if driving != Filter():
        window = min(window, _FAR_APART)
    inside = _next(driving, span, window)
    seen = connection.execute(select(func.count().label("n"), func.min(inside.c.id).label("last"))).one()
    if not seen.n:
        return Found([])
    # The ids again: or PostgreSQL may find what is asked for in the whole history first, and then the window in that.
    rows = _list(connection, [*conditions(wanted), *span, executions.c.id >= seen.last], limit + 1, inside)
    if len(rows) > limit:
        return _cut(rows, limit)
    if seen.n < window:
        return Found(rows)
    opened = select(executions.c.trigger_time).where(executions.c.id == seen.last)
    return Found(rows, seen.last, connection.execute(opened).scalar())


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the history, by the ids at both ends, and how far a list of its longest has been read: down to the
    execution ``at``, which took ``took``; None of both: not begun. What is open has run until ``now``, on every page.
    """

    top: int
    bottom: int
    now: int
    took: int | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Longest:
    """Part of a list by duration. ``whole`` is false where the history goes on below the stretch, which begins at
    ``since``; ``rest`` is what is left of it, None: nothing.
    """

    items: list[Listed]
    whole: bool
    since: int | None
    rest: Stretch | None


def find_longest(
    connection: Connection, wanted: Filter, *, stretch: Stretch | None, limit: int, window: int, now: int
) -> Longest:
    """What ``wanted`` means among the newest ``window`` rows, or those of ``stretch``, the longest first. What has not
    ended counts with the time until ``now``; what has not begun, or never ran, is last. Lists of all history by
    duration would need an index for each question.
    """
    now = now if stretch is None else stretch.now
    span = _ids_of_times(connection, wanted)
    if stretch is not None:
        span += [executions.c.id <= stretch.top, executions.c.id >= stretch.bottom]
    inside = _next(_driving(wanted), span, window)
    counts = (func.count().label("n"), func.max(inside.c.id).label("top"), func.min(inside.c.id).label("bottom"))
    seen = connection.execute(select(*counts)).one()
    if not seen.n:
        return Longest([], True, None, None)
    took = _took(now)
    chosen = select(executions.c.id, took.label("took")).join(inside, inside.c.id == executions.c.id)
    within = (executions.c.id <= seen.top, executions.c.id >= seen.bottom)  # as for a look: nothing else is read
    chosen = chosen.where(*conditions(wanted), *within, *_shorter(stretch, took))
    chosen = chosen.order_by(took.desc(), executions.c.id.desc())
    rows = connection.execute(chosen.limit(limit + 1)).all()
    last = rows[limit - 1] if len(rows) > limit else None
    top, bottom = (seen.top, seen.bottom) if stretch is None else (stretch.top, stretch.bottom)
    opened = connection.execute(select(executions.c.trigger_time).where(executions.c.id == bottom)).scalar()
    return Longest(
        _in_order(connection, [row.id for row in rows[:limit]]),
        seen.n < window,
        opened,
        None if last is None else Stretch(top, bottom, now, last.took, last.id),
    )


def _took(now: int) -> ColumnElement[int]:
    """Milliseconds it ran, as its executor measured or by its clock; -1 where that is not known. An open one whose
    start is not told yet has run since its executor took it, but not before its time, unless it is known to wait there.
    """
    one = executions.c
    taken = func.coalesce(one.dispatch_time, one.offered_at)
    due = func.coalesce(one.schedule_time, taken)
    working = and_(one.phase.in_((Phase.DISPATCHED, Phase.RUNNING)), taken <= now, due <= now)
    return case(
        (one.duration_ms.is_not(None), one.duration_ms),
        (one.handle_time >= one.start_time, one.handle_time - one.start_time),
        (one.phase == Phase.ENDED, -1),
        (one.start_time <= now, now - one.start_time),
        (one.start_time > now, 0),  # by a clock that is ahead of this one
        (and_(working, due > taken), now - due),
        (working, now - taken),
        else_=-1,
    )


def _shorter(stretch: Stretch | None, took: ColumnElement[int]) -> list[ColumnElement[bool]]:
    """What comes after the execution that was read last."""
    if stretch is None or stretch.took is None or stretch.at is None:
        return []
    return [or_(took < stretch.took, and_(took == stretch.took, executions.c.id < stretch.at))]


def _in_order(connection: Connection, ids: Sequence[int]) -> list[Listed]:
    found = connection.execute(with_owner().where(among(connection, executions.c.id, ids)))
    rows = {row.id: listed_execution(row) for row in found}
    return [rows[one] for one in ids if one in rows]


def _next(wanted: Filter, span: Sequence[ColumnElement[bool]], count: int) -> Subquery:
    """The ids of the newest ``count`` executions that are as ``wanted``. Only ids, which the index itself has: so the
    database walks the index, and not all executions from the newest on in the hope to meet enough.
    """
    newest = executions.c.id.desc()
    each = [
        select(executions.c.id).where(*conditions(one), *span).order_by(newest).limit(count) for one in _walks(wanted)
    ]
    if len(each) == 1:
        return each[0].subquery("inside")
    together = union_all(*(select(one.subquery().c.id) for one in each)).subquery()
    return select(together.c.id).order_by(together.c.id.desc()).limit(count).subquery("inside")


def _walks(wanted: Filter) -> Sequence[Filter]:
    """``wanted`` in parts that have nothing in common, each of which an index finds in order."""
    if wanted.groups and len(wanted.groups) <= _GROUPS_EACH:
        return [replace(wanted, job_group=group, groups=None) for group in sorted(wanted.groups)]
    if wanted.statuses and wanted.batch_id is None:
        return [replace(wanted, statuses=one) for one in _by_outcome(wanted.statuses)]
    return [wanted]


def _by_outcome(statuses: frozenset[ListedStatus]) -> list[frozenset[ListedStatus]]:
    """Those that share an outcome together: the open ones."""
    outcomes = sorted({OUTCOMES[status] for status in statuses})
    return [frozenset(one for one in statuses if OUTCOMES[one] == outcome) for outcome in outcomes]


def _cut(rows: list[Listed], limit: int) -> Found:
    return Found(rows[:limit], rows[limit - 1].id, rows[limit - 1].trigger_time)


def _driving(wanted: Filter) -> Filter:
    """The part of ``wanted`` that one index answers, and finds in order; the narrowest there is."""
    if wanted.batch_id is not None:
        return replace(wanted, since=None)  # a batch has few enough to look at them all
    # Few are open, and few fail.
    rare = None if wanted.statuses is None or Status.SUCCESS in wanted.statuses else wanted.statuses
    if wanted.job_id is not None:
        return Filter(job_id=wanted.job_id, statuses=rare)
    if rare is not None:
        return Filter(statuses=rare)
    if wanted.executor is not None:
        return Filter(executor=wanted.executor)
    if wanted.job_group is not None:
        return Filter(job_group=wanted.job_group)
    if wanted.groups is not None:
        return Filter(groups=wanted.groups)
    return Filter()


def _list(
    connection: Connection, asked: Sequence[ColumnElement[bool]], limit: int, inside: Subquery | None = None
) -> list[Listed]:
    """Executions for which this holds, newest first; if given, only those ``inside``."""
    statement = with_owner().where(*asked).order_by(executions.c.id.desc()).limit(limit)
    if inside is not None:
        statement = statement.join(inside, inside.c.id == executions.c.id)
    return [listed_execution(row) for row in connection.execute(statement)]


def _below(before: int | None) -> list[ColumnElement[bool]]:
    return [] if before is None else [executions.c.id < before]


def _ids_of_times(connection: Connection, wanted: Filter) -> list[ColumnElement[bool]]:
    """The ids that executions opened between the given times have."""
    opened = executions.c.trigger_time
    bounds: list[ColumnElement[bool]] = []
    if wanted.since is not None:
        earlier = select(executions.c.id).where(opened < wanted.since - _CLOCKS_DIFFER)
        last = connection.execute(earlier.order_by(opened.desc()).limit(1)).scalar()
        if last is not None:
            bounds.append(executions.c.id > last)
    if wanted.until is not None:
        later = select(executions.c.id).where(opened >= wanted.until + _CLOCKS_DIFFER)
        first = connection.execute(later.order_by(opened).limit(1)).scalar()
        if first is not None:
            bounds.append(executions.c.id < first)
    return bounds
