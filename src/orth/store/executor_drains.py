"""Executors that are drained: they live, and nothing new is sent to them until somebody resumes them.

A row is kept apart from the registration, so that it outlasts beats, and the restart people drain an executor for. One
whose executor has not come back for ``KEPT`` is forgotten by the leader.
"""

from datetime import timedelta

from sqlalchemy import Connection, and_, delete, exists

from orth.store.engines import insert_new
from orth.store.executor_entries import FORMER
from orth.store.tables import executor_drains, registry

KEPT = timedelta(days=30)


def drain_executor(connection: Connection, app_name: str, address: str, now: int) -> None:
    """Send it nothing from now on."""
    insert_new(connection, executor_drains, [{"app_name": app_name, "address": address, "since": now}])


def resume_executor(connection: Connection, app_name: str, address: str) -> bool:
    """Let it have work again; whether it was drained."""
    gone = delete(executor_drains).where(executor_drains.c.app_name == app_name, executor_drains.c.address == address)
    return connection.execute(gone).rowcount > 0


def drop_old_drains(connection: Connection, now: int) -> None:
    """Forget those that were drained long ago and are not registered."""
    there = exists().where(
        registry.c.registry_group != FORMER,
        registry.c.registry_key == executor_drains.c.app_name,
        registry.c.registry_value == executor_drains.c.address,
    )
    old = executor_drains.c.since < now - KEPT // timedelta(milliseconds=1)
    connection.execute(delete(executor_drains).where(and_(old, ~there)))
