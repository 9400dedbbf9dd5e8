"""What has been told about services, numbered without gaps and in the order of the commits.

A number is taken from one row that whoever tells something holds until its transaction ends. So once somebody has
seen event 7, no event below 7 can appear any more, on any database: who reads on from the last number it saw misses
nothing. The newest are kept, so that who was away for a while can catch up.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from orth.clock import iso
from orth.domain.services import Happening, Service, ServiceKind
from orth.store.engines import insert_all, insert_new
from orth.store.service_tables import service_events, service_heads

_HEAD = 1
_REMOVED_AT_ONCE = 5_000
_of_head = service_heads.c.id == _HEAD


@dataclass(frozen=True, slots=True)
class Told:
    """Something that happened to a service, which is shown as it was afterwards."""

    happening: Happening
    service: Service


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An event as it is kept. ``data`` is JSON."""

    seq: int
    type: str
    data: str
    at: int


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events after a number, and what is there besides."""

    events: list[ServiceEvent]
    head: int
    """The number of the newest event; 0 before the first."""
    complete: bool
    """Whether all events after that number are still there, or will come; if not, only a snapshot helps."""


def tell(connection: Connection, told: Sequence[Told], now: int) -> None:
    """Write events with the changes they tell of. Comes last in a transaction: the next who tells waits for it."""
    if not told:
        return
    last = _count(connection, len(told))
    rows = [
        {
            "seq": last - len(told) + number,
            "type": one.service.told(one.happening),
            "data": json.dumps(as_shown(one.service), ensure_ascii=False, separators=(",", ":")),
            "at": now,
        }
        for number, one in enumerate(told, start=1)
    ]
    insert_all(connection, service_events, rows)


def _count(connection: Connection, events: int) -> int:
    """The number of the last of so many new events."""
    further = update(service_heads).where(_of_head).values(seq=service_heads.c.seq + events)
    if connection.execute(further).rowcount == 0:
        insert_new(connection, service_heads, [{"id": _HEAD, "seq": 0}])
        connection.execute(further)
    return last_seq(connection)


def last_seq(connection: Connection) -> int:
    """The number of the newest event; 0 before the first."""
    return connection.execute(select(service_heads.c.seq).where(_of_head)).scalar() or 0


def events_after(connection: Connection, seq: int, limit: int) -> EventPage:
    """The events after ``seq``, in their order."""
    head = last_seq(connection)
    found = select(service_events).where(service_events.c.seq > seq).order_by(service_events.c.seq).limit(limit)
    events = [ServiceEvent(row.seq, row.type, row.data, row.at) for row in connection.execute(found)]
    begins_next = events[0].seq == seq + 1 if events else head <= seq
    return EventPage(events, head, complete=seq <= head and begins_next)


def surplus_events(connection: Connection, kept: int) -> int:
    """How many events there are besides the newest ``kept``."""
    oldest = connection.execute(select(func.min(service_events.c.seq))).scalar()
    return 0 if oldest is None else max(0, last_seq(connection) - kept - oldest + 1)


def trim_events(connection: Connection, kept: int) -> int:
    """Remove all but the newest ``kept`` events, as far as one pass goes; how many."""
    surplus = min(surplus_events(connection, kept), _REMOVED_AT_ONCE)
    oldest = select(func.min(service_events.c.seq))
    bound = (connection.execute(oldest).scalar() or 0) + surplus
    return connection.execute(delete(service_events).where(service_events.c.seq < bound)).rowcount


def as_shown(service: Service) -> Mapping[str, Any]:
    """A service as everybody is shown it, in the lists and in events."""
    shown: dict[str, Any] = {"id": service.id}
    if service.kind is ServiceKind.AGENT:
        shown["orchestratorId"] = service.orchestrator_id
    return shown | {
        "url": service.url,
        "registeredAt": iso(service.registered_at),
        "lastHeartbeat": iso(service.last_heartbeat),
        "status": str(service.status),
        "name": service.name,
        "incarnation": service.incarnation,
        "failing": None if service.standing.failing is None else str(service.standing.failing),
    }
