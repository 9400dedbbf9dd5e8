"""Broadcasts under way: how many of their shards have ended for good.

The row is what shards that end at the same time meet at. Whoever counts takes its lock and keeps it until the commit,
so exactly one transaction sees the last shard end, on every database; that one removes the row.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, delete, select, update

from orth.domain.broadcasts import Tally
from orth.store.engines import among, insert_returning_id, locked
from orth.store.tables import broadcasts


def open_broadcast(connection: Connection, job_id: int, total: int) -> int:
    """Begin to count ``total`` shards; the id they carry."""
    return insert_returning_id(connection, broadcasts, {"job_id": job_id, "total": total, "succeeded": 0, "failed": 0})


def count_ended(connection: Connection, ended: Mapping[int, Tally]) -> dict[int, Tally]:
    """Add to the counts of broadcasts; those that are complete by it, each told to one caller ever."""
    # In order of id, so that two such transactions never wait for each other in a ring.
    rows = select(broadcasts).where(among(connection, broadcasts.c.id, ended)).order_by(broadcasts.c.id)
    complete: dict[int, Tally] = {}
    for row in connection.execute(locked(rows, connection)).all():
        tally = Tally(row.succeeded, row.failed) + ended[row.id]
        if tally.ended >= row.total:
            complete[row.id] = tally
        else:
            counted = update(broadcasts).where(broadcasts.c.id == row.id)
            connection.execute(counted.values(succeeded=tally.succeeded, failed=tally.failed))
    if complete:
        connection.execute(delete(broadcasts).where(among(connection, broadcasts.c.id, complete)))
    return complete
