"""Executors that said they are there.

One row per ``(registry_group, registry_key, registry_value)``: the app name and the address of one process. A beat is
an upsert; a group's address list is refreshed in the same transaction whenever the set of addresses changes, so
routing never waits for a monitor.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, or_, select

from orth.domain.nodes import ExecutorEntry
from orth.store.engines import upsert
from orth.store.groups import automatic_addresses, hold_automatic_group, set_automatic_addresses
from orth.store.tables import registry

EXECUTOR = "EXECUTOR"
_KEYS = ("registry_group", "registry_key", "registry_value")


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life, as it is stored. A foreign executor has no incarnation and no extensions."""

    app_name: str
    address: str
    incarnation: str | None = None
    extensions: frozenset[str] = frozenset()
    version: str | None = None
    handlers: str | None = None


def record_beat(connection: Connection, beat: Beat, now: int) -> bool:
    """Store a beat; True when this address is new to the app or another incarnation than before."""
    known = connection.execute(
        select(registry.c.incarnation).where(
            registry.c.registry_group == EXECUTOR,
            registry.c.registry_key == beat.app_name,
            registry.c.registry_value == beat.address,
        )
    ).one_or_none()
    row = {
        "registry_group": EXECUTOR,
        "registry_key": beat.app_name,
        "registry_value": beat.address,
        "update_time": now,
        "incarnation": beat.incarnation,
        "extensions": ",".join(sorted(beat.extensions)),
        "version": beat.version,
        "handlers": beat.handlers,
    }
    upsert(connection, registry, row, _KEYS)
    if known is None:
        refresh_addresses(connection, beat.app_name, now)
    return known is None or known.incarnation != beat.incarnation


def remove_executor(
    connection: Connection, app_name: str, address: str, now: int, incarnation: str | None = None
) -> bool:
    """Forget an executor that said good-bye; False when it was not known.

    One that says who it is speaks for itself alone: its successor on the same address stays.
    """
    statement = delete(registry).where(
        registry.c.registry_group == EXECUTOR,
        registry.c.registry_key == app_name,
        registry.c.registry_value == address,
    )
    if incarnation is not None:
        statement = statement.where(or_(registry.c.incarnation.is_(None), registry.c.incarnation == incarnation))
    gone = connection.execute(statement)
    if gone.rowcount:
        refresh_addresses(connection, app_name, now)
    return gone.rowcount > 0


def remove_stale(connection: Connection, before: int, now: int) -> list[ExecutorEntry]:
    """Forget executors whose last beat is older than ``before``; those removed."""
    stale = [entry for entry in list_executors(connection) if entry.last_beat < before]
    removed = [entry for entry in stale if _forget(connection, entry)]
    _mend_addresses(connection, now)
    return removed


def _forget(connection: Connection, entry: ExecutorEntry) -> bool:
    gone = connection.execute(
        delete(registry).where(
            registry.c.registry_group == EXECUTOR,
            registry.c.registry_key == entry.app_name,
            registry.c.registry_value == entry.address,
            registry.c.update_time == entry.last_beat,  # a beat that came meanwhile keeps it
        )
    )
    return gone.rowcount > 0


def _mend_addresses(connection: Connection, now: int) -> None:
    """Refresh every list that differs from the registry: also that of a group which was being created, and therefore
    not to be seen, when its executor came.
    """
    present: dict[str, set[str]] = {}
    for entry in list_executors(connection):
        present.setdefault(entry.app_name, set()).add(entry.address)
    for app_name, addresses in sorted(automatic_addresses(connection).items()):
        if set(addresses) != present.get(app_name, set()):
            refresh_addresses(connection, app_name, now)


def list_executors(connection: Connection, app_name: str | None = None) -> list[ExecutorEntry]:
    """All known executors (of one app), in order of app name and address."""
    statement = select(
        registry.c.registry_key,
        registry.c.registry_value,
        registry.c.update_time,
        registry.c.incarnation,
        registry.c.extensions,
    ).where(registry.c.registry_group == EXECUTOR)
    if app_name is not None:
        statement = statement.where(registry.c.registry_key == app_name)
    rows = connection.execute(statement.order_by(registry.c.registry_key, registry.c.registry_value))
    return [
        ExecutorEntry(
            row.registry_key,
            row.registry_value,
            row.update_time,
            row.incarnation,
            frozenset(part for part in row.extensions.split(",") if part),
        )
        for row in rows
    ]


def announced_handlers(connection: Connection, app_name: str) -> list[str]:
    """What the executors of an app announced about their handlers: one JSON text per process that did."""
    rows = connection.execute(
        select(registry.c.handlers)
        .where(
            registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name, registry.c.handlers.is_not(None)
        )
        .order_by(registry.c.registry_value)
    )
    return [row.handlers for row in rows]


def refresh_addresses(connection: Connection, app_name: str, now: int) -> None:
    """Let the group of ``app_name``, if there is one and it is automatic, list what the registry knows."""
    # Locked before looking: of two executors that come at once, the second to get here sees the first.
    if hold_automatic_group(connection, app_name):
        addresses = sorted(entry.address for entry in list_executors(connection, app_name))
        set_automatic_addresses(connection, app_name, addresses, now)
