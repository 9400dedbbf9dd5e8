"""Sealing again what is stored: in the open since an earlier version, or with a key that is to go.

After a key was put in front of the others on every node, ``reseal`` brings all values to it; then the old one can be
taken away.
"""

from orth.coordinator.alarming.sealed import seal_channels
from orth.coordinator.executor_keys import seal_context
from orth.coordinator.sealing import KEY_NAME, Sealing, is_sealed
from orth.domain.audit import Actor, Deed
from orth.errors import Unreadable
from orth.store.audit import record
from orth.store.database import Connection, Database
from orth.store.sealed_values import SealedValue, sealed_values
from orth.store.users import replace_secret, shared_secret


async def seal_the_open(db: Database, sealing: Sealing) -> None:
    """At the start of a node: secrets of alarm channels that an earlier version has stored as they were."""
    try:
        await db.tx(seal_channels, sealing)
    except Unreadable:  # its key is gone: whoever uses that channel is told
        return


def reseal(connection: Connection, sealing: Sealing, actor: Actor, now: int) -> int:
    """Seal everything with the newest key, in one transaction, and let the cluster agree on that key; how many values
    were sealed anew. ``Unreadable`` when one cannot be opened: then nothing is changed.
    """
    count = seal_channels(connection, sealing)
    for value in sealed_values(connection):
        if is_sealed(value.sealed) and sealing.is_stale(value.sealed):
            context = _context(value)
            value.put(sealing.seal(sealing.open(value.sealed, context), context))
            count += 1
    replace_secret(connection, KEY_NAME, shared_secret(connection, KEY_NAME, sealing.newest, now), sealing.newest)
    deed = Deed("store.reseal", "store", "", after={"values": count, "key": sealing.newest})
    record(connection, actor, deed, now)
    return count


def _context(value: SealedValue) -> str:
    return seal_context(value.key) if value.what == "token" else value.key
