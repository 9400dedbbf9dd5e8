"""Executors that take from queues, as the leader heard them: rows of the registry with a group of their own, so that
nothing is ever sent to them.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select

from orth.domain.nodes import Vitals
from orth.store.engines import among, upsert
from orth.store.executor_entries import QUEUE, list_executors, vitals_columns
from orth.store.tables import registry

_KEYS = ("registry_group", "registry_key", "registry_value")


@dataclass(frozen=True, slots=True)
class QueueBeat:
    """A sign of life, as it is stored. ``address`` begins with queue://, for nobody can call it."""

    app_name: str
    address: str
    incarnation: str
    queues: tuple[str, ...]
    load: int
    version: str
    labels: str | None
    since: int
    vitals: Vitals | None = None
    unavailable: str | None = None


def record_queue_beats(connection: Connection, beats: Sequence[QueueBeat], now: int) -> None:
    rows: list[dict[str, Any]] = [
        {
            "registry_group": QUEUE,
            "registry_key": beat.app_name,
            "registry_value": beat.address,
            "update_time": now,
            "incarnation": beat.incarnation,
            "extensions": "",
            "version": beat.version,
            "since": beat.since,
            "load": beat.load,
            "labels": beat.labels,
            "queues": json.dumps(beat.queues),
            "unavailable": beat.unavailable,
            **vitals_columns(beat.vitals),
        }
        for beat in beats
    ]
    upsert(connection, registry, rows, _KEYS)


def remove_queue_executors(connection: Connection, incarnations: Collection[str]) -> None:
    """Forget processes that left or fell silent; a successor under the same name stays."""
    if incarnations:
        gone = among(connection, registry.c.incarnation, sorted(incarnations))
        connection.execute(delete(registry).where(registry.c.registry_group == QUEUE, gone))


def app_of_process(connection: Connection, incarnation: str) -> str | None:
    """For which app an executor process of queues was first heard of."""
    named = select(registry.c.registry_key).where(
        registry.c.registry_group == QUEUE, registry.c.incarnation == incarnation
    )
    return connection.execute(named.order_by(registry.c.since, registry.c.id).limit(1)).scalar()


def drop_silent(connection: Connection, before: int) -> None:
    """Forget those whose last beat is older than ``before``: nobody has heard them since."""
    connection.execute(delete(registry).where(registry.c.registry_group == QUEUE, registry.c.update_time < before))


def count_takers(connection: Connection, queue: str) -> int:
    """How many executors take from a queue, as it is called on the wire."""
    return sum(queue in entry.queues for entry in list_executors(connection, of_queues=True))
