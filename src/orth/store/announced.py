"""What executors announced of themselves: their handlers, and app names that have no group yet.

Executors whose list of handlers is not stored (``handler_lists``) count as executors that announced none.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, and_, exists, func, select

from orth.store.executor_entries import EXECUTOR
from orth.store.tables import groups, handler_lists, registry

_ITS_LIST = and_(
    handler_lists.c.app_name == registry.c.registry_key, handler_lists.c.digest == registry.c.handlers_digest
)


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
        select(handler_lists.c.handlers, func.min(registry.c.registry_value).label("first"))
        .select_from(registry.join(handler_lists, _ITS_LIST))
        .where(registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name)
        .group_by(handler_lists.c.id, handler_lists.c.handlers)
        .order_by("first")
    )
    return [handlers for row in rows if (handlers := _handlers(row.handlers)) is not None]


def offered_handlers(connection: Connection, app_name: str | None = None) -> dict[str, set[str]]:
    """What the executors of each app, or of one, offer; only of apps whose executors have all said it."""
    named = select(registry.c.registry_key, registry.c.handlers_digest).where(registry.c.registry_group == EXECUTOR)
    if app_name is not None:
        named = named.where(registry.c.registry_key == app_name)
    each = named.distinct().subquery()
    its_list = and_(handler_lists.c.app_name == each.c.registry_key, handler_lists.c.digest == each.c.handlers_digest)
    announced = select(each.c.registry_key, handler_lists.c.handlers)
    rows = connection.execute(announced.select_from(each.outerjoin(handler_lists, its_list)))
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
