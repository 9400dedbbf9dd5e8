"""Who led, and which executions changed hands: written with the change itself, and read by people only.

Both are kept short: the newest ``TERMS_KEPT`` terms, trimmed by whoever begins one, and the newest ``HANDOFFS_KEPT``
changes of hands, trimmed by the leader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from orth.domain.handoffs import Reason, reason_of
from orth.store.engines import among, insert_all
from orth.store.history_tables import handoffs, terms
from orth.store.nodes import NodeState
from orth.store.tables import nodes

TERMS_KEPT = 500
HANDOFFS_KEPT = 10_000
_LEFT = (str(NodeState.DRAINING), str(NodeState.OFFLINE))


@dataclass(frozen=True, slots=True)
class PastTerm:
    """One leadership; it ended when the next one began, or before."""

    epoch: int
    node_id: str
    incarnation: str
    began_at: int


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


@dataclass(frozen=True, slots=True)
class PastHandoff:
    """A change of hands, as it is remembered."""

    id: int
    execution_id: int
    job_id: int
    from_node: str | None
    to_node: str
    reason: Reason
    offered: bool
    waited_ms: int
    taker_came_later: bool
    at: int


def note_term(connection: Connection, epoch: int, node_id: str, incarnation: str, now: int) -> None:
    """Remember who leads from now on, and forget what is long ago."""
    connection.execute(insert(terms).values(epoch=epoch, node_id=node_id, incarnation=incarnation, began_at=now))
    connection.execute(delete(terms).where(terms.c.epoch <= epoch - TERMS_KEPT))


def list_terms(connection: Connection, limit: int) -> list[PastTerm]:
    """The newest terms, the newest first."""
    rows = connection.execute(select(terms).order_by(terms.c.epoch.desc()).limit(limit))
    return [PastTerm(row.epoch, row.node_id, row.incarnation, row.began_at) for row in rows]


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
    return [
        PastHandoff(
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
        for row in rows
    ]


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
