"""The audit: what was done, by whom, each entry chained to the one before it."""

from sqlalchemy import Connection

from orth.domain.audit import Actor, Deed


def record(connection: Connection, actor: Actor, deed: Deed, now: int) -> None:
    """Add an entry, in the transaction of the change it tells of."""
