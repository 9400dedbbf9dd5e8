"""What executors announced of themselves: their handlers, and app names that have no group yet."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, exists, func, select

from orth.store.executor_entries import EXECUTOR
from orth.store.tables import groups, registry


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Executors whose app name has no group: nobody can give them work."""

    app_name: str
    executors: int
    last_beat: int


def list_unclaimed(connection: Connection, *, after: str = "", limit: int | None = None) -> list[Unclaimed]:
    """App names that have executors and no group, in order: those after ``after``."""
    rows = connection.execute(
        select(registry.c.registry_key, func.count(), func.max(registry.c.update_time))
        .where(
            registry.c.registry_group == EXECUTOR,
            registry.c.registry_key > after,
            ~exists().where(groups.c.app_name == registry.c.registry_key),
        )
        .group_by(registry.c.registry_key)
        .order_by(registry.c.registry_key)
        .limit(limit)
    )
    return [Unclaimed(app_name, count, last_beat) for app_name, count, last_beat in rows]


def announced_handlers(connection: Connection, app_name: str) -> list[list[dict[str, Any]]]:
    """What the executors of an app announced about their handlers, each list once; those that can be read."""
    rows = connection.execute(
        select(registry.c.handlers)
        .where(
            registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name, registry.c.handlers.is_not(None)
        )
        .group_by(registry.c.handlers)
        .order_by(func.min(registry.c.registry_value))
    )
    return [handlers for row in rows if (handlers := _handlers(row.handlers)) is not None]


def offered_handlers(connection: Connection, app_name: str | None = None) -> dict[str, set[str]]:
    """What the executors of each app, or of one, offer; only of apps whose executors have all said it."""
    announced = select(registry.c.registry_key, registry.c.handlers).where(registry.c.registry_group == EXECUTOR)
    if app_name is not None:
        announced = announced.where(registry.c.registry_key == app_name)
    rows = connection.execute(announced.group_by(registry.c.registry_key, registry.c.handlers))
    offered: dict[str, set[str]] = {}
    unsaid = set()
    for name, text in rows:
        said = None if text is None else _handlers(text)
        if said is None:
            unsaid.add(name)
        else:
            offered.setdefault(name, set()).update(one["name"] for one in said)
    return {name: handlers for name, handlers in offered.items() if name not in unsaid}


@lru_cache(maxsize=64)
def _handlers(text: str) -> list[dict[str, Any]] | None:
    try:
        said = json.loads(text)["handlers"]
        return said if all(isinstance(one["name"], str) for one in said) else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
