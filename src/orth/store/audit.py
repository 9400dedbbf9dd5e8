"""The audit: what was done, by whom, each entry chained to the one before it.

There is no verb that changes an entry, and only one that removes some: ``purge``, which takes the oldest and says so in
an entry of its own. An entry is part of the transaction of the change it tells of, and the head is locked until that
commits, so the chain has the order of the commits. Call ``record`` last in a transaction: then nobody waits for the
head who holds what its holder wants.

What strangers do is told as well, but not without end: of their entries so many are kept in ten minutes, and the next
one says that more are left out.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from orth.domain.audit import AT_DOOR, TURNED_AWAY, Actor, ActorKind, Deed, told
from orth.domain.audit_chain import FIRST, PURGE, Chain, Entry, Fault, Head, digest_of
from orth.errors import Unreadable
from orth.store.audit_tables import audit, audit_head
from orth.store.engines import insert_new, locked
from orth.store.tables import users

STRANGERS_LIMIT = 100
DOORS_LIMIT = 200
_LIMITS = {"strangers": STRANGERS_LIMIT, "doors": DOORS_LIMIT}
STRANGERS_WINDOW_MS = 600_000
_PAGE = 1000
_THE_HEAD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which entries somebody asks for; ``since`` is included and ``until`` excluded."""

    actor: str | None = None
    action: str | None = None
    actions: tuple[str, ...] = ()
    """One of these, if there are any."""
    object_kind: str | None = None
    object_id: str | None = None
    since: int | None = None
    until: int | None = None


def record(connection: Connection, actor: Actor, deed: Deed, now: int) -> bool:
    """Add an entry, in the transaction of the change it tells of; whether it was, which only strangers' may not be."""
    if actor.kind is ActorKind.STRANGER:
        return _record_stranger(connection, actor, deed, now)
    row = _hold(connection)
    _append(connection, Head(row.seq, row.digest), actor, deed, now, {})
    return True


def _record_stranger(connection: Connection, actor: Actor, deed: Deed, now: int) -> bool:
    kind = "doors" if deed.action in (AT_DOOR, TURNED_AWAY) else "strangers"
    if _is_quiet(connection, now, kind):
        return False
    row = _hold(connection)
    counted = _counted(row, now)
    if counted[kind] > _LIMITS[kind]:
        return False
    if counted[kind] == _LIMITS[kind]:
        until = {"until": counted["strangers_since"] + STRANGERS_WINDOW_MS, "of": kind}
        deed = Deed("audit.quiet", "audit", "", after=until)
    _append(connection, Head(row.seq, row.digest), actor, deed, now, counted | {kind: counted[kind] + 1})
    return True


def head(connection: Connection) -> Head | None:
    """The end of the chain, as it is kept apart from the entries; None before the first, or if it is gone."""
    row = connection.execute(select(audit_head).where(audit_head.c.id == _THE_HEAD)).one_or_none()
    return None if row is None else Head(row.seq, row.digest)


def newest_by_kind(connection: Connection, among: int, without: Sequence[str]) -> dict[str, int]:
    """The number of the newest entry about each kind of object, as far as it is among the newest so many; entries about
    the actions ``without`` do not count.
    """
    columns = (audit.c.object_kind, audit.c.action, audit.c.seq)
    newest = select(*columns).order_by(audit.c.seq.desc()).limit(among).subquery()
    kind = newest.c.object_kind
    counted = select(kind, func.max(newest.c.seq)).where(newest.c.action.not_in(without)).group_by(kind)
    return {row[0]: row[1] for row in connection.execute(counted)}


def newest_entries(connection: Connection, wanted: Wanted, below: int | None, limit: int) -> list[Entry]:
    """Entries newest first, those with a number below ``below``."""
    asked = _conditions(wanted)
    if below is not None:
        asked.append(audit.c.seq < below)
    found = select(audit).where(*asked).order_by(audit.c.seq.desc()).limit(limit)
    return [_entry(row) for row in connection.execute(found)]


def entries_after(connection: Connection, wanted: Wanted, seq: int, limit: int = _PAGE) -> list[Entry]:
    """Entries oldest first, those with a number above ``seq``."""
    found = select(audit).where(audit.c.seq > seq, *_conditions(wanted)).order_by(audit.c.seq).limit(limit)
    return [_entry(row) for row in connection.execute(found)]


def verify(connection: Connection, chain: Chain) -> Fault | None:
    """Go through all entries up to the head, a page at a time; what is wrong first."""
    last = connection.execute(select(func.max(audit.c.seq))).scalar() or 0
    end = head(connection)  # later than the last entry: what is added from now on is not looked at
    until, seq = max(last, end.seq if end else 0), -1
    while page := entries_after(connection, Wanted(), seq):
        for entry in page:
            if entry.seq > until:
                break
            if (fault := chain.add(entry)) is not None:
                return fault
        seq = page[-1].seq
    if end is None and chain.last is None and connection.execute(select(users.c.id).limit(1)).first() is not None:
        return Fault(1, "all entries are missing, and the head: there are users, and the first of them was told of")
    return chain.end(end)


def purge(connection: Connection, before: int, *, limit: int, node_id: str, now: int) -> int:
    """Remove the oldest entries, of those written before ``before`` at most ``limit``, and say so in a new one; how
    many were removed. The youngest of the old ones stays: it shows that those that are gone were old as well.
    """
    row = _hold(connection)
    old = list(takewhile(lambda entry: entry.at < before, _oldest(connection, limit + 1)))[:-1]
    if all(entry.action == PURGE for entry in old):  # else each pass would write about the pass before
        return 0
    last = old[-1]
    connection.execute(delete(audit).where(audit.c.seq <= last.seq))
    told_of = {"through": last.seq, "digest": last.digest, "entries": len(old), "before": before}
    deed = Deed(PURGE, "audit", "", after=told_of)
    _append(connection, Head(row.seq, row.digest), Actor(ActorKind.NODE, node_id), deed, now, {})
    return len(old)


def _append(connection: Connection, end: Head, actor: Actor, deed: Deed, now: int, counted: dict[str, int]) -> None:
    before, after = told(deed)
    entry = Entry(
        seq=end.seq + 1,
        at=now,
        actor_kind=actor.kind.value,
        actor=_text(actor.name, 128),
        address=_text(actor.address, 64),
        action=_text(deed.action, 64),
        object_kind=_text(deed.object_kind, 32),
        object_id=_text(deed.object_id, 128),
        group_id=deed.group_id,
        before=before,
        after=after,
        previous_digest=end.digest,
    )
    entry = replace(entry, digest=digest_of(entry))
    connection.execute(insert(audit).values(**asdict(entry)))
    moved = update(audit_head).where(audit_head.c.id == _THE_HEAD)
    connection.execute(moved.values(seq=entry.seq, digest=entry.digest, **counted))


def _hold(connection: Connection) -> Row[Any]:
    """The head, kept as it is until the transaction ends; made when the first entry is."""
    wanted = locked(select(audit_head).where(audit_head.c.id == _THE_HEAD), connection)
    row = connection.execute(wanted).one_or_none()
    if row is not None:
        return row
    new = {"id": _THE_HEAD, "seq": 0, "digest": FIRST, "strangers_since": 0, "strangers": 0, "doors": 0}
    insert_new(connection, audit_head, [new])  # waits for others who write the first entry as well
    row = connection.execute(wanted).one()
    if row.seq == 0 and connection.execute(select(audit.c.seq).limit(1)).first() is not None:
        raise Unreadable.of("audit_head_gone")
    return row


def _counted(row: Row[Any], now: int) -> dict[str, int]:
    """Since when strangers' entries are counted, and how many there are: at the doors of executors, and elsewhere."""
    fresh = not 0 <= now - row.strangers_since < STRANGERS_WINDOW_MS
    if fresh:
        return {"strangers_since": now, "strangers": 0, "doors": 0}
    return {"strangers_since": row.strangers_since, "strangers": row.strangers, "doors": row.doors}


def _is_quiet(connection: Connection, now: int, kind: str) -> bool:
    """Whether no more strangers' entries are taken now; looked up without making anybody wait."""
    row = connection.execute(select(audit_head).where(audit_head.c.id == _THE_HEAD)).one_or_none()
    return row is not None and _counted(row, now)[kind] > _LIMITS[kind]


def _oldest(connection: Connection, limit: int) -> Sequence[Entry]:
    return [_entry(row) for row in connection.execute(select(audit).order_by(audit.c.seq).limit(limit))]


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    names = ("actor", "action", "object_kind", "object_id")
    asked = [audit.c[name] == value for name in names if (value := getattr(wanted, name)) is not None]
    if wanted.actions:
        asked.append(audit.c.action.in_(wanted.actions))
    if wanted.since is not None:
        asked.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        asked.append(audit.c.at < wanted.until)
    return asked


def _entry(row: Row[Any]) -> Entry:
    return Entry(**row._mapping)


def _text(text: str, limit: int) -> str:
    """As every database stores it, so that the digest is over what will be read."""
    clean = text.replace("\x00", "").encode("utf-8", "backslashreplace").decode()
    return clean[:limit]
