"""Who leads, and the number that proves it.

The *lease* row is renewed often; the *epoch* row changes only at an election. Every leader transaction share-locks
the epoch row with its own term (``hold_term``); an election updates that row, so it waits for the transactions of
the old term that are about to commit, and every later one of them is refused. No clock of any machine is compared: a
contender judges by how long *it* saw the same ``(epoch, renewals)``.

A term is its number *and* the process that has it. Numbers alone are not enough: a database that went back in time (a
standby that lagged was promoted, a backup was restored) gives a number out a second time, and two would hold it.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select, update

from orth.errors import TermEnded
from orth.store.engines import insert_new, locked, share_locked
from orth.store.tables import epochs, leases

LEADER = "orchestrix:coordinator:leader"
_SHARD = 0  # one leadership for the whole cluster; the column leaves room for several


@dataclass(frozen=True, slots=True)
class Term:
    """A leadership of one process; ``epoch`` is its number."""

    epoch: int
    incarnation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease row as somebody saw it. ``node_id`` is None when it was given up."""

    node_id: str | None
    incarnation: str | None
    epoch: int
    renewals: int


def find_lease(connection: Connection) -> Lease | None:
    """The lease as it stands; None when nobody has ever looked for it."""
    row = connection.execute(_lease_row()).one_or_none()
    return None if row is None else Lease(row.node_id, row.incarnation, row.epoch, row.renewals)


def read_lease(connection: Connection) -> Lease:
    """The lease as it stands; made on first sight."""
    found = find_lease(connection)
    if found is None:
        insert_new(
            connection, leases, [{"name": LEADER, "node_id": None, "incarnation": None, "epoch": 0, "renewals": 0}]
        )
        insert_new(connection, epochs, [{"shard_id": _SHARD, "epoch": 0}])
        found = find_lease(connection)
        assert found is not None
    return found


def take_lease(connection: Connection, seen: Lease, node_id: str, incarnation: str) -> Term | None:
    """Begin a new term if the lease is still exactly as ``seen``; None when somebody was first."""
    row = connection.execute(locked(_lease_row(), connection)).one()
    if (row.epoch, row.renewals, row.incarnation) != (seen.epoch, seen.renewals, seen.incarnation):
        return None
    epoch: int = (
        connection.execute(locked(select(epochs.c.epoch).where(epochs.c.shard_id == _SHARD), connection)).scalar_one()
        + 1
    )
    connection.execute(update(epochs).where(epochs.c.shard_id == _SHARD).values(epoch=epoch, incarnation=incarnation))
    connection.execute(
        update(leases)
        .where(leases.c.name == LEADER)
        .values(node_id=node_id, incarnation=incarnation, epoch=epoch, renewals=0)
    )
    return Term(epoch, incarnation)


def renew_lease(connection: Connection, term: Term) -> bool:
    """Say that ``term`` goes on; False when it does not."""
    done = connection.execute(update(leases).where(*_is_of(term)).values(renewals=leases.c.renewals + 1))
    return done.rowcount == 1


def resign_lease(connection: Connection, term: Term) -> bool:
    """Give the lease up so that another may take it at once."""
    done = connection.execute(
        update(leases).where(*_is_of(term)).values(node_id=None, incarnation=None, renewals=leases.c.renewals + 1)
    )
    return done.rowcount == 1


def hold_term(connection: Connection, term: Term) -> None:
    """Share-lock the epoch row until the transaction ends; ``TermEnded`` unless it is of ``term``."""
    newest = select(epochs.c.epoch, epochs.c.incarnation).where(epochs.c.shard_id == _SHARD)
    row = connection.execute(share_locked(newest, connection)).one_or_none()
    if row is None or (row.epoch, row.incarnation) != (term.epoch, term.incarnation):
        raise TermEnded(term.epoch)


def _lease_row() -> Select[Any]:
    return select(leases).where(leases.c.name == LEADER)


def _is_of(term: Term) -> tuple[ColumnElement[bool], ...]:
    return leases.c.name == LEADER, leases.c.epoch == term.epoch, leases.c.incarnation == term.incarnation
