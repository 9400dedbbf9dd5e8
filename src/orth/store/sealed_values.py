"""Everything that is stored as a sealed text of its own, for whoever seals it anew.

The secrets inside alarm channels are not among it: they are parts of a definition. Nor are the work keys of executors:
those are told, and sealed, anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection, Table, select, update

from orth.store.audit_tables import job_secrets
from orth.store.engines import locked
from orth.store.secrets import SealedSecret
from orth.store.tables import secrets
from orth.store.token_tables import token_secrets


@dataclass(frozen=True, slots=True)
class SealedValue:
    """One of them. ``what`` says whose it is, and with ``key`` which; ``put`` stores it in another seal."""

    what: str
    key: str
    sealed: str
    put: Callable[[str], None] = field(repr=False)


def sealed_values(connection: Connection) -> Iterator[SealedValue]:
    """All of them, held until the transaction ends."""
    for row in connection.execute(locked(select(job_secrets), connection)).all():
        put = partial(_put, connection, job_secrets, "id", row.id, "sealed")
        yield SealedValue("job secret", SealedSecret(row.job_group, row.name, "").context, row.sealed, put)
    tokens = select(token_secrets).where(token_secrets.c.sealed.is_not(None))
    for row in connection.execute(locked(tokens, connection)).all():
        put = partial(_put, connection, token_secrets, "digest", row.digest, "sealed")
        yield SealedValue("token", row.digest, row.sealed, put)
    for row in connection.execute(locked(select(secrets), connection)).all():
        put = partial(_put, connection, secrets, "name", row.name, "value")
        yield SealedValue("shared secret", row.name, row.value, put)


def _put(connection: Connection, table: Table, key: str, value: object, column: str, sealed: str) -> None:
    connection.execute(update(table).where(table.c[key] == value).values({column: sealed}))
