"""The lists of handlers that executors announce, each stored once for each app.

Thousands of executors announce the same list, and a list may have a megabyte. A row of the registry names its list by
a digest. The lists of one app are limited in bytes, so that the token of one group cannot fill the database.
A list that no executor has named for a while is removed by the registry monitor of the leader.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection, delete, exists, select, update

from orth.store.engines import among, insert_new
from orth.store.tables import handler_lists, registry

LISTS_LIMIT = 4 * 1024 * 1024
"""Bytes of all lists of one app, as they are stored."""
SMALL_LIST = 64 * 1024
"""Bytes of a list up to which an executor is registered without its list where the lists of its app are full."""
UNUSED_KEPT = 600_000
"""Milliseconds a list is kept that no executor has named in a beat with all it announces."""
_columns = handler_lists.c


class Announcing(Protocol):
    """A beat, as far as it announces handlers."""

    @property
    def app_name(self) -> str: ...

    @property
    def handlers(self) -> str | None: ...


@dataclass(slots=True)
class HandlerLists:
    """The lists of some apps within one transaction: which are stored, and which are to be."""

    used: dict[str, int] = field(default_factory=dict)
    """Bytes of the stored lists of each app."""
    known: dict[tuple[str, str], int] = field(default_factory=dict)
    """The rows of lists that are stored, by app and digest."""
    new: dict[tuple[str, str], str] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, connection: Connection, beats: Iterable[Announcing]) -> "HandlerLists":
        """What is stored for the apps of ``beats``, of which at least one announces handlers."""
        lists = cls()
        apps = sorted({beat.app_name for beat in beats if beat.handlers is not None})
        if apps:
            found = select(_columns.id, _columns.app_name, _columns.digest, _columns.size)
            for row in connection.execute(found.where(among(connection, _columns.app_name, apps))):
                lists.known[row.app_name, row.digest] = row.id
                lists.used[row.app_name] = lists.used.get(row.app_name, 0) + row.size
        return lists

    def take(self, beat: Announcing) -> tuple[bool, str | None]:
        """Whether a beat can be stored, and the digest that its row has."""
        if beat.handlers is None:
            return True, None
        data = beat.handlers.encode()
        key = (beat.app_name, hashlib.sha256(data).hexdigest())
        if key in self.known:
            self.named.add(self.known[key])
            return True, key[1]
        if key not in self.new:
            used = self.used.get(beat.app_name, 0) + len(data)
            if used > LISTS_LIMIT:
                return len(data) <= SMALL_LIST, None
            self.used[beat.app_name] = used
            self.new[key] = beat.handlers
        return True, key[1]

    def write(self, connection: Connection, now: int) -> None:
        """Store the new lists, and that the others are still named."""
        rows = [
            {"app_name": app, "digest": digest, "size": len(text.encode()), "handlers": text, "named_at": now}
            for (app, digest), text in sorted(self.new.items())
        ]
        insert_new(connection, handler_lists, rows)
        if self.named:
            named = among(connection, _columns.id, sorted(self.named))
            connection.execute(update(handler_lists).where(named).values(named_at=now))


def remove_unused_lists(connection: Connection, before: int) -> int:
    """Remove lists that no executor was registered with since ``before``, and none has; how many they were."""
    in_use = exists().where(registry.c.registry_key == _columns.app_name, registry.c.handlers_digest == _columns.digest)
    return connection.execute(delete(handler_lists).where(_columns.named_at < before, ~in_use)).rowcount
