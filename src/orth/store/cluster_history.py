"""Who led, and which executions changed hands: written with the change itself, and read by people only.

Both are kept short: the newest ``TERMS_KEPT`` terms, trimmed by whoever begins one, and the newest ``HANDOFFS_KEPT``
changes of hands, trimmed by the leader.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from orth.domain.handoffs import PastHandoff, Reason, reason_of
from orth.store.engines import among, insert_all
from orth.store.history_tables import handoffs, terms
from orth.store.nodes import NodeState
from orth.store.tables import nodes

TERMS_KEPT = 500
HANDOFFS_KEPT = 10_000
_LEFT = (str(NodeState.DRAINING), str(NodeState.OFFLINE))


@dataclass(frozen=True, slots=True)
class PastTerm:
    """One leadership. ``ended_at`` is None while it goes on, or while nobody has noticed that it does not."""

    epoch: int
    node_id: str
    incarnation: str
    began_at: int
    ended_at: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An execution that somebody adopts. ``offered``: its owner, if it had one, still went on with it."""

    execution_id: int
    job_id: int
    from_node: str | None
    from_incarnation: str | None
    offered: bool
    since: int
    """When it was offered or abandoned."""


def note_term(connection: Connection, epoch: int, node_id: str, incarnation: str, now: int) -> None:
    """Remember who leads from now on and when the last one ended, and forget what is long ago."""
    _end_silent(connection, now)
    connection.execute(insert(terms).values(epoch=epoch, node_id=node_id, incarnation=incarnation, began_at=now))
    connection.execute(delete(terms).where(terms.c.epoch <= epoch - TERMS_KEPT))


def note_end_of_term(connection: Connection, epoch: int, now: int) -> None:
    """Remember that who led has given the lead up."""
    connection.execute(update(terms).where(terms.c.epoch == epoch, terms.c.ended_at.is_(None)).values(ended_at=now))


def _end_silent(connection: Connection, now: int) -> None:
    """Let the newest term end that nobody gave up: it may have been over long before somebody else led, and what is
    known of that is the last beat of its process, on that one's own clock.
    """
    last = connection.execute(select(terms).order_by(terms.c.epoch.desc()).limit(1)).one_or_none()
    if last is None or last.ended_at is not None:
        return
    beat = connection.scalar(select(nodes.c.last_beat).where(nodes.c.incarnation == last.incarnation))
    note_end_of_term(connection, last.epoch, max(last.began_at, min(now, now if beat is None else beat)))


def list_terms(connection: Connection, limit: int) -> list[PastTerm]:
    """The newest terms, the newest first."""
    rows = connection.execute(select(terms).order_by(terms.c.epoch.desc()).limit(limit))
    return [PastTerm(row.epoch, row.node_id, row.incarnation, row.began_at, row.ended_at) for row in rows]


def note_handoffs(connection: Connection, taker: tuple[str, str], changes: Sequence[Change], now: int) -> None:
    """Remember that ``taker``, a node and its incarnation, adopted these."""
    if not changes:
        return
    givers = {one.from_node for one in changes if one.from_node is not None}
    known = _known_nodes(connection, givers | {taker[0]})
    incarnation, _state, joined_at = known.get(taker[0], ("", "", 0))
    came_at = joined_at if incarnation == taker[1] else 0
    insert_all(
        connection,
        handoffs,
        [
            {
                "execution_id": one.execution_id,
                "job_id": one.job_id,
                "from_node": one.from_node,
                "to_node": taker[0],
                "reason": str(_reason(one, known)),
                "offered": int(one.offered),
                "waited_ms": max(0, now - one.since),
                "taker_came_later": int(came_at > one.since),
                "at": now,
            }
            for one in changes
        ],
    )


def list_handoffs(connection: Connection, before: int | None, limit: int) -> list[PastHandoff]:
    """Changes of hands, the newest first, from the one before ``before`` on."""
    asked = select(handoffs).order_by(handoffs.c.id.desc()).limit(limit)
    rows = connection.execute(asked if before is None else asked.where(handoffs.c.id < before))
    return [_past(row) for row in rows]


def hands_of(connection: Connection, execution_ids: Collection[int]) -> dict[int, list[PastHandoff]]:
    """Through whose hands these executions went, the oldest change first; those that stayed in one are left out."""
    found: dict[int, list[PastHandoff]] = {}
    mine = among(connection, handoffs.c.execution_id, execution_ids)
    for row in connection.execute(select(handoffs).where(mine).order_by(handoffs.c.id)):
        found.setdefault(row.execution_id, []).append(_past(row))
    return found


def _past(row: Row[Any]) -> PastHandoff:
    return PastHandoff(
        row.id,
        row.execution_id,
        row.job_id,
        row.from_node,
        row.to_node,
        Reason(row.reason),
        bool(row.offered),
        row.waited_ms,
        bool(row.taker_came_later),
        row.at,
    )


def newest_handoff(connection: Connection) -> int:
    """The number of the newest change of hands; 0 before the first."""
    return connection.execute(select(func.max(handoffs.c.id))).scalar() or 0


def trim_handoffs(connection: Connection, limit: int, kept: int = HANDOFFS_KEPT) -> int:
    """Forget all but the newest ``kept``, at most ``limit`` at a time; how many."""
    old = select(handoffs.c.id).where(handoffs.c.id <= newest_handoff(connection) - kept)
    ids = list(connection.scalars(old.order_by(handoffs.c.id).limit(limit)))
    if ids:
        connection.execute(delete(handoffs).where(among(connection, handoffs.c.id, ids)))
    return len(ids)


def _known_nodes(connection: Connection, names: set[str]) -> dict[str, tuple[str, str, int]]:
    columns = (nodes.c.node_id, nodes.c.incarnation, nodes.c.state, nodes.c.joined_at)
    rows = connection.execute(select(*columns).where(among(connection, nodes.c.node_id, sorted(names))))
    return {row.node_id: (row.incarnation, row.state, row.joined_at) for row in rows}


def _reason(one: Change, known: Mapping[str, tuple[str, str, int]]) -> Reason:
    incarnation, state, _joined_at = known.get(one.from_node or "", ("", "", 0))
    left = incarnation == one.from_incarnation and state in _LEFT
    return reason_of(had_owner=one.from_node is not None, offered=one.offered, giver_left=left)
