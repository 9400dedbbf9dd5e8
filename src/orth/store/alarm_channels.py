"""Where alarms may be sent: channels as people define them."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from orth.errors import Conflict, NotFound
from orth.store.engines import insert_returning_id, locked
from orth.store.record_tables import alarm_channels

CHANNELS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Channel:
    """One of them. ``definition`` depends on the kind; what is secret in it is stored sealed."""

    name: str
    kind: str
    definition: dict[str, Any]
    enabled: bool = True
    version: int = 1
    id: int = 0


def create_channel(connection: Connection, channel: Channel, now: int) -> int:
    """Store a channel and give its id."""
    count = connection.execute(select(func.count()).select_from(alarm_channels)).scalar_one()
    if count >= CHANNELS_LIMIT:
        raise Conflict.of("channels_full", limit=CHANNELS_LIMIT)
    try:
        with connection.begin_nested():
            return insert_returning_id(connection, alarm_channels, {**_values(channel, now), "version": 1})
    except IntegrityError:
        raise _taken(channel.name) from None


def replace_channel(connection: Connection, channel: Channel, now: int) -> None:
    """Write over a held channel."""
    values = {**_values(channel, now), "version": channel.version + 1}
    try:
        with connection.begin_nested():
            connection.execute(update(alarm_channels).where(alarm_channels.c.id == channel.id).values(**values))
    except IntegrityError:
        raise _taken(channel.name) from None


def set_definition(connection: Connection, channel_id: int, definition: dict[str, Any]) -> None:
    """The same definition in another seal: not a new version."""
    changed = update(alarm_channels).where(alarm_channels.c.id == channel_id)
    connection.execute(changed.values(definition=json.dumps(definition)))


def delete_channel(connection: Connection, channel_id: int) -> None:
    if connection.execute(delete(alarm_channels).where(alarm_channels.c.id == channel_id)).rowcount == 0:
        raise NotFound("alarm channel", channel_id)


def get_channel(connection: Connection, channel_id: int) -> Channel:
    return _one(connection.execute(select(alarm_channels).where(alarm_channels.c.id == channel_id)).all(), channel_id)


def hold_channel(connection: Connection, channel_id: int) -> Channel:
    """The channel as it is, kept so until the transaction ends."""
    found = locked(select(alarm_channels).where(alarm_channels.c.id == channel_id), connection)
    return _one(connection.execute(found).all(), channel_id)


def list_channels(connection: Connection, after: int, limit: int) -> list[Channel]:
    """Channels in order of id, those after ``after``."""
    found = select(alarm_channels).where(alarm_channels.c.id > after).order_by(alarm_channels.c.id).limit(limit)
    return [_channel(row) for row in connection.execute(found)]


def enabled_channels(connection: Connection) -> dict[str, Channel]:
    """All channels that may be used, by name."""
    found = select(alarm_channels).where(alarm_channels.c.enabled == 1).order_by(alarm_channels.c.id)
    return {row.name: _channel(row) for row in connection.execute(found.limit(CHANNELS_LIMIT))}


def _one(rows: Any, channel_id: int) -> Channel:
    if not rows:
        raise NotFound("alarm channel", channel_id)
    return _channel(rows[0])


def _taken(name: str) -> Conflict:
    return Conflict.of("channel_exists", name=name)


def _values(channel: Channel, now: int) -> dict[str, Any]:
    return {
        "name": channel.name,
        "kind": channel.kind,
        "definition": json.dumps(channel.definition),
        "enabled": int(channel.enabled),
        "update_time": now,
    }


def _channel(row: Row[Any]) -> Channel:
    try:
        definition = json.loads(row.definition)
    except ValueError:
        definition = {}
    return Channel(
        name=row.name,
        kind=row.kind,
        definition=definition if isinstance(definition, dict) else {},
        enabled=bool(row.enabled),
        version=row.version,
        id=row.id,
    )
