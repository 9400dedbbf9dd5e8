"""Who is registered, as it is told to others: entries of executors, and what was stored of them read back."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from orth.domain.nodes import ExecutorEntry, StillWorking, Vitals, host_and_port
from orth.store.engines import among, chunks
from orth.store.tables import executor_drains, registry

EXECUTOR = "EXECUTOR"
QUEUE = "QUEUE"
"""The group of executors that take from queues. They are listed, and nothing is sent to them."""
FORMER = "FORMER"
"""The group of executors that left the registry while executions were open there. They are not listed, and get nothing
new. Coordinators still authenticate to them, to read logs, to kill and to ask what is running.
"""
_DRAINED = and_(
    executor_drains.c.app_name == registry.c.registry_key, executor_drains.c.address == registry.c.registry_value
)


def list_executors(
    connection: Connection,
    app_name: str | None = None,
    *,
    after: tuple[str, str] | None = None,
    limit: int | None = None,
    of_queues: bool = False,
    apps: Collection[str] | None = None,
) -> list[ExecutorEntry]:
    """Known executors (of one app, or of some), in order of app name and address; those ``after`` one, and not more
    than ``limit``. With ``of_queues`` also those that can only be offered something.
    """
    conditions = [] if app_name is None else [registry.c.registry_key == app_name]
    conditions += [] if apps is None else [among(connection, registry.c.registry_key, sorted(apps))]
    if after is not None:
        key, value = registry.c.registry_key, registry.c.registry_value
        conditions.append(or_(key > after[0], and_(key == after[0], value > after[1])))
    return _entries(connection, *conditions, limit=limit, groups=(EXECUTOR, QUEUE) if of_queues else (EXECUTOR,))


def executors_at(connection: Connection, address: str, group: str = EXECUTOR) -> list[ExecutorEntry]:
    """Who is registered at an address, the one heard last first; with the group ``FORMER``, who was."""
    found = _entries(connection, registry.c.registry_value == address, groups=(group,))
    return sorted(found, key=lambda entry: entry.last_beat, reverse=True)


def executor_at_port(connection: Connection, app_name: str, url: str, incarnation: str | None = None) -> bool:
    """Whether an app has an executor at the host and port of ``url``, whatever the path. An executor that takes from
    queues has no address that is called: its ``incarnation`` is compared.
    """
    place = host_and_port(url)
    origins = [f"{scheme}://{place}" for scheme in ("http", "https")]
    origins += [f"{scheme}://{host}" for scheme, host in _without_default_port(place)]
    column = registry.c.registry_value
    here = or_(column.in_(origins), *(column.startswith(f"{origin}/", autoescape=True) for origin in origins))
    of_queue = and_(registry.c.registry_group == QUEUE, registry.c.incarnation == incarnation)
    known = select(registry.c.id).where(
        registry.c.registry_key == app_name, or_(and_(registry.c.registry_group == EXECUTOR, here), of_queue)
    )
    return connection.execute(known.limit(1)).first() is not None


def _without_default_port(place: str) -> Iterator[tuple[str, str]]:
    host, _colon, port = place.rpartition(":")
    if port in ("80", "443"):
        yield ("http" if port == "80" else "https"), host


def list_former_executors(connection: Connection, app_name: str | None = None) -> list[ExecutorEntry]:
    """Executors (of one app) that left the registry while executions were open there."""
    of_app = [] if app_name is None else [registry.c.registry_key == app_name]
    return _entries(connection, *of_app, groups=(FORMER,))


def executors_with_key(connection: Connection, app_name: str, key_id: str) -> list[ExecutorEntry]:
    """Executors of an app that registered with a key of this name."""
    return _entries(connection, registry.c.registry_key == app_name, registry.c.key_id == key_id)


def incarnations_at(connection: Connection, addresses: Iterable[str]) -> dict[str, set[str | None]]:
    """Which processes are registered at each of these addresses; nothing where nobody is."""
    found: dict[str, set[str | None]] = {}
    for chunk in chunks(sorted(addresses)):
        rows = select(registry.c.registry_value, registry.c.incarnation).where(
            registry.c.registry_group == EXECUTOR, among(connection, registry.c.registry_value, chunk)
        )
        for row in connection.execute(rows):
            found.setdefault(row.registry_value, set()).add(row.incarnation)
    return found


def _entries(
    connection: Connection,
    *conditions: ColumnElement[bool],
    limit: int | None = None,
    groups: Sequence[str] = (EXECUTOR,),
) -> list[ExecutorEntry]:
    rows = connection.execute(
        select(
            registry.c.registry_key,
            registry.c.registry_value,
            registry.c.update_time,
            registry.c.incarnation,
            registry.c.extensions,
            registry.c.version,
            registry.c.since,
            registry.c.load,
            registry.c.labels,
            registry.c.clock_offset,
            registry.c.queues,
            registry.c.key_id,
            executor_drains.c.since.label("drained_since"),
            registry.c.work_key,
            registry.c.left_behind,
            registry.c.vitals,
            registry.c.unavailable,
        )
        .outerjoin_from(registry, executor_drains, _DRAINED)
        .where(registry.c.registry_group.in_(groups), *conditions)
        .order_by(registry.c.registry_key, registry.c.registry_value)
        .limit(limit)
    )
    entries = []
    for name, address, at, who, extensions, version, since, load, text, offset, queues, *rest, left, vital, why in rows:
        rest += [_vitals(vital, left), why]
        labels, unreadable = _labels(text)
        known, taken = _extensions(extensions), _queues(queues) if queues else ()
        told = (name, address, at, who, known, version, since, load, labels, offset, unreadable, taken)
        entries.append(ExecutorEntry(*told, *rest))
    return entries


@lru_cache(maxsize=256)  # thousands of executors announce the same few
def _extensions(text: str) -> frozenset[str]:
    return frozenset(part for part in text.split(",") if part)


@lru_cache(maxsize=256)
def _queues(text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def still_working(connection: Connection, execution_id: int, incarnation: str) -> StillWorking | None:
    """Where the handler of an execution works on that could not be ended, as its own process says; None: nowhere."""
    said = select(registry.c.registry_value, registry.c.left_behind).where(
        registry.c.incarnation == incarnation, registry.c.left_behind.is_not(None)
    )
    for row in connection.execute(said):
        for one, since in _left_behind(row.left_behind):
            if one == execution_id:
                return StillWorking(row.registry_value, since)
    return None


def vitals_columns(vitals: Vitals | None) -> dict[str, str | None]:
    """As they are stored; what is as it always is, is left out."""
    if vitals is None:
        return {"vitals": None, "left_behind": None}
    said = {name: value for name, value in asdict(vitals).items() if value != _UNSAID[name]}
    left = said.pop("left_behind", None)
    return {"vitals": _json(said), "left_behind": None if left is None else _json(left)}


def _json(said: object) -> str:
    return json.dumps(said, sort_keys=True, separators=(",", ":"))


_UNSAID = asdict(Vitals())


@lru_cache(maxsize=1024)
def _vitals(text: str | None, left_behind: str | None) -> Vitals | None:
    """What was stored; None where this version cannot read it: it is only for people to look at."""
    try:
        said = Vitals(**json.loads(text or ""), left_behind=_left_behind(left_behind))
    except (ValueError, TypeError, RecursionError):
        return None
    counts = (said.running, said.queued, said.threads, said.abandoned, said.unacknowledged, said.slots or 0)
    return said if set(map(type, counts)) == {int} and isinstance(said.python, str) else None


def _left_behind(text: str | None) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((int(one), int(since)) for one, since in json.loads(text or "[]"))
    except (ValueError, TypeError, RecursionError):
        return ()


@lru_cache(maxsize=1024)
def _labels(text: str | None) -> tuple[Mapping[str, str], str]:
    """The labels of an executor, and what of them cannot be read."""
    try:
        labels = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        labels = None
    if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()):
        return labels, ""
    return {}, f"labels is {str(text)[:40]!r}"


def list_overdue(connection: Connection, before: int) -> list[ExecutorEntry]:
    """Executors whose last beat is older than ``before``."""
    return _entries(connection, registry.c.update_time < before)
