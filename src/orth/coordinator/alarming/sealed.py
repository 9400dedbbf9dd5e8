"""Channels as they are stored: what is secret in them is sealed, what is not stays readable.

A channel of an earlier version has its secrets in the open; it is sealed when it is written, or when a coordinator
starts.
"""

import json
from dataclasses import replace
from typing import Any

from orth.coordinator.alarming.definitions import SECRET_FIELDS
from orth.coordinator.sealing import Sealing
from orth.errors import Unreadable
from orth.store.alarm_channels import CHANNELS_LIMIT, Channel, list_channels, set_definition
from orth.store.database import Connection

_SEALED = "sealed"


def sealed(channel: Channel, sealing: Sealing) -> Channel:
    """The channel as it may be stored."""
    secret = {name: channel.definition[name] for name in _names(channel) if channel.definition.get(name)}
    if not secret:
        return channel
    text = sealing.seal(json.dumps(secret).encode(), _context(channel))
    return replace(channel, definition={**_without(channel.definition, secret), _SEALED: text})


def opened(channel: Channel, sealing: Sealing) -> Channel:
    """The channel as it was given. Without its secrets if they cannot be opened: then it cannot be used until they are
    given again.
    """
    text = channel.definition.get(_SEALED)
    if text is None:
        return channel
    try:
        secret: dict[str, Any] = json.loads(sealing.open(str(text), _context(channel)))
    except Unreadable:
        secret = {}
    return replace(channel, definition={**_without(channel.definition, {_SEALED: None}), **secret})


def seal_channels(connection: Connection, sealing: Sealing) -> int:
    """Seal what is in the open, and seal anew what another key has sealed; how many channels were changed."""
    changed = 0
    for channel in list_channels(connection, 0, CHANNELS_LIMIT):
        text = channel.definition.get(_SEALED)
        if text is not None and not sealing.is_stale(str(text)):
            continue
        if text is not None:
            sealing.open(str(text), _context(channel))  # what cannot be opened stays as it is, and is told
        fresh = sealed(opened(channel, sealing), sealing)
        if fresh.definition != channel.definition:
            set_definition(connection, channel.id, fresh.definition)
            changed += 1
    return changed


def _names(channel: Channel) -> tuple[str, ...]:
    return SECRET_FIELDS.get(channel.kind, ())


def _without(definition: dict[str, Any], left_out: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in definition.items() if name not in left_out}


def _context(channel: Channel) -> str:
    return f"alarm-channel:{channel.name}"
