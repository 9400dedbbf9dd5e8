"""Which addresses each coordinator cannot reach. A row is a doubt: where there is none, there is no doubt.

Written when an opinion changes, and renewed now and then while it lasts, so that the doubts of a coordinator that is
gone can be told from those of one that still has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from orth.domain.nodes import Reachability
from orth.store.engines import among, upsert
from orth.store.tables import reachability

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Doubt:
    """What one coordinator found at an address, and since when."""

    node_id: str
    address: str
    state: Reachability
    since: int
    checked_at: int
    reason: str


def save_doubts(connection: Connection, doubts: Sequence[Doubt]) -> None:
    """Write doubts over earlier ones of the same coordinator and address."""
    rows = [
        {
            "node_id": doubt.node_id,
            "address": doubt.address,
            "state": doubt.state,
            "since": doubt.since,
            "checked_at": doubt.checked_at,
            "reason": doubt.reason,
        }
        for doubt in doubts
    ]
    upsert(connection, reachability, rows, ("node_id", "address"))


def clear_doubts(connection: Connection, node_id: str, addresses: Sequence[str] | None = None) -> None:
    """Take back what ``node_id`` said about ``addresses``, or about all."""
    mine = delete(reachability).where(reachability.c.node_id == node_id)
    if addresses is None:
        connection.execute(mine)
        return
    for start in range(0, len(addresses), _CHUNK):
        connection.execute(mine.where(among(connection, reachability.c.address, addresses[start : start + _CHUNK])))


def drop_old_doubts(connection: Connection, before: int) -> None:
    """Forget what nobody has renewed since ``before``."""
    connection.execute(delete(reachability).where(reachability.c.checked_at < before))


def list_doubts(connection: Connection) -> list[Doubt]:
    """Every doubt, in order of address and coordinator."""
    rows = connection.execute(select(reachability).order_by(reachability.c.address, reachability.c.node_id))
    return [
        Doubt(row.node_id, row.address, Reachability(row.state), row.since, row.checked_at, row.reason) for row in rows
    ]
