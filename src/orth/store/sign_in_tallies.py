"""What was tried in vain at signing in, counted for all nodes together, and one-time links.

Whoever tries is counted before the password is looked at, in a transaction of its own: however many try at the same
moment, each sees those before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, func, select, update

from orth.store.engines import among, insert_new, locked
from orth.store.sign_in_tables import sign_in_links, sign_in_tallies

MOST_TALLIES = 100_000
_STEP = 1_000


@dataclass(frozen=True, slots=True)
class Tally:
    """So many tries that were not made good by a success, and when the last one was."""

    tries: int
    last_at: int


def hold_tallies(connection: Connection, digests: Sequence[str], now: int) -> dict[str, Tally]:
    """The tallies of these digests, new ones at zero, nobody else's to change until the transaction ends."""
    ordered = sorted(set(digests))  # in one order, so that two never wait for each other
    insert_new(connection, sign_in_tallies, [{"digest": one, "tries": 0, "last_at": now} for one in ordered])
    wanted = select(sign_in_tallies).where(among(connection, sign_in_tallies.c.digest, ordered))
    rows = connection.execute(locked(wanted.order_by(sign_in_tallies.c.digest), connection))
    return {row.digest: Tally(row.tries, row.last_at) for row in rows}


def set_tally(connection: Connection, digest: str, tally: Tally) -> None:
    """Write a tally that is held."""
    values = {"tries": tally.tries, "last_at": tally.last_at}
    connection.execute(update(sign_in_tallies).where(sign_in_tallies.c.digest == digest).values(**values))


def make_good(connection: Connection, cleared: str | None, reduced: Sequence[str]) -> None:
    """Forget one tally, and take a try back from the others."""
    if cleared is not None:
        connection.execute(delete(sign_in_tallies).where(sign_in_tallies.c.digest == cleared))
    columns = sign_in_tallies.c
    less = update(sign_in_tallies).where(among(connection, columns.digest, sorted(reduced)), columns.tries > 0)
    connection.execute(less.values(tries=columns.tries - 1))


def drop_stale_tallies(connection: Connection, before: int, most: int = MOST_TALLIES) -> None:
    """Remove some that nobody added to since ``before``; when there are too many, the oldest."""
    columns = sign_in_tallies.c
    oldest = select(columns.digest).order_by(columns.last_at).limit(_STEP)
    count = connection.execute(select(func.count()).select_from(sign_in_tallies)).scalar_one()
    if count <= most:
        oldest = oldest.where(columns.last_at < before)
    _remove(connection, sign_in_tallies, connection.execute(oldest).scalars().all())


def add_link(connection: Connection, digest: str, user_id: int, expires_at: int) -> None:
    row = {"digest": digest, "user_id": user_id, "expires_at": expires_at}
    insert_new(connection, sign_in_links, [row])


def take_link(connection: Connection, digest: str, now: int) -> int | None:
    """Use a link up; whose it is. None: there is none, it is too late, or somebody was quicker."""
    mine = sign_in_links.c.digest == digest
    row = connection.execute(locked(select(sign_in_links).where(mine), connection)).one_or_none()
    if row is None or connection.execute(delete(sign_in_links).where(mine)).rowcount != 1:
        return None
    return int(row.user_id) if row.expires_at > now else None


def drop_stale_links(connection: Connection, now: int) -> None:
    old = select(sign_in_links.c.digest).where(sign_in_links.c.expires_at <= now).limit(_STEP)
    _remove(connection, sign_in_links, connection.execute(old).scalars().all())


def _remove(connection: Connection, table: Table, digests: Sequence[str]) -> None:
    if digests:
        connection.execute(delete(table).where(among(connection, table.c.digest, digests)))
