"""The channels by which alarms are told.

They belong to no group: everybody may name them in a job, who may edit everywhere makes them, and only who may see
everything is shown where they lead. What is secret in them is stored sealed and never shown.
"""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from orth.coordinator.alarming.definitions import checked, shown, with_kept_secrets
from orth.coordinator.alarming.outbound import NotDelivered
from orth.coordinator.alarming.sealed import opened, sealed
from orth.coordinator.alarming.texts import trial_alarm
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.problems import coded
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch, check_match
from orth.domain.access import Permission
from orth.domain.alarms import MAIL_CHANNEL, mail_addresses
from orth.domain.audit import Deed
from orth.errors import Invalid
from orth.store.alarm_channels import (
    Channel,
    create_channel,
    delete_channel,
    get_channel,
    hold_channel,
    list_channels,
    replace_channel,
)
from orth.store.audit import record
from orth.store.database import Connection

router = APIRouter(prefix="/api/v1/alarms/channels", tags=["alarms"])

ChannelId = Annotated[int, Path(ge=1, le=2**31 - 1)]

_EDITORS = needs(Permission.EDIT, everywhere=True)


class ChannelBody(BaseModel):
    """A channel as it is written. ``definition`` depends on the kind."""

    model_config = ConfigDict(extra="forbid")

    name: Line = Field(min_length=1, max_length=64)
    kind: Literal["mail", "webhook", "apprise"]
    definition: dict[str, Any] = Field(default_factory=dict, max_length=20)
    enabled: StrictBool = True


class ChannelShown(BaseModel):
    """A channel as it is read: secrets are masked, and an edit that leaves them so keeps them."""

    id: int
    name: str
    kind: str
    definition: dict[str, Any]
    enabled: bool
    version: int


class TrialBody(BaseModel):
    """Whom a mail goes to, for a channel that names nobody itself."""

    model_config = ConfigDict(extra="forbid")

    to: Line = Field("", max_length=255)


class TrialAnswer(BaseModel):
    """What became of the test, in the words of the receiver."""

    ok: bool
    answer: str
    seconds: float
    code: str | None = Field(None, description="Why it was not delivered, for programs, with its facts.")
    facts: dict[str, str | int] | None = None


@router.get("", dependencies=[needs(Permission.VIEW)])
async def channels(
    tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None
) -> Page[ChannelShown]:
    """Channels in order of id; to who may see some groups only, without their definitions."""
    rows = await tools.db.read(list_channels, position(cursor) or 0, limit + 1)
    shown_to = partial(_channel_shown, tools, whole=caller.rights.allows(Permission.VIEW))
    return Page[ChannelShown].model_validate(page(rows, limit, lambda row: row.id, shown_to))


@router.post("", status_code=201, dependencies=[_EDITORS])
async def add_channel(body: ChannelBody, tools: ToolsHere, caller: CallerHere, response: Response) -> ChannelShown:
    channel = _usable(tools, Channel(body.name, body.kind, checked(body.kind, body.definition), body.enabled))
    channel_id = await tools.db.tx(_add, tools, caller, channel)
    response.headers["Location"] = f"/api/v1/alarms/channels/{channel_id}"
    return await _show(tools, caller, channel_id, response)


@router.get("/{channel_id}", dependencies=[needs(Permission.VIEW)])
async def channel(channel_id: ChannelId, tools: ToolsHere, caller: CallerHere, response: Response) -> ChannelShown:
    return await _show(tools, caller, channel_id, response)


@router.put("/{channel_id}", dependencies=[_EDITORS])
async def put_channel(
    channel_id: ChannelId,
    body: ChannelBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
) -> ChannelShown:
    """Write over a channel. Secrets that are left out or sent back masked stay as they are; null removes them."""
    await tools.db.tx(_replace, tools, caller, channel_id, body, if_match)
    return await _show(tools, caller, channel_id, response)


@router.delete("/{channel_id}", status_code=204, dependencies=[_EDITORS])
async def remove_channel(channel_id: ChannelId, tools: ToolsHere, caller: CallerHere, if_match: IfMatch = None) -> None:
    """Remove a channel. What waits to be sent by it is given up after its attempts."""
    await tools.db.tx(_remove, tools, caller, channel_id, if_match)


@router.post("/{channel_id}/test", dependencies=[_EDITORS])
async def try_channel(channel_id: ChannelId, tools: ToolsHere, body: TrialBody | None = None) -> TrialAnswer:
    """Send one message by the channel, now and once, and tell what its receiver says."""
    found = await tools.db.read(get_channel, channel_id)
    recipients = mail_addresses(body.to) if body else ()
    began = tools.clock.monotonic()
    refused: NotDelivered | None = None
    try:
        answer = await tools.senders.send(found, trial_alarm(found.name, tools.clock.now()), recipients)
    except NotDelivered as error:
        answer, refused = error.message, error
    took = round(tools.clock.monotonic() - began, 3)
    return TrialAnswer(ok=refused is None, answer=answer, seconds=took, **(coded(refused) if refused else {}))


def _usable(tools: Tools, channel: Channel) -> Channel:
    if channel.name == MAIL_CHANNEL:
        raise Invalid.of("channel_of_settings", name=MAIL_CHANNEL, field="name")
    tools.senders.check(channel)
    return channel


def _add(connection: Connection, tools: Tools, caller: Caller, channel: Channel) -> int:
    now = tools.clock.now()
    channel_id = create_channel(connection, sealed(channel, tools.sealing), now)
    _tell(connection, caller, "channel.create", channel_id, now, after=_told(channel))
    return channel_id


def _replace(
    connection: Connection, tools: Tools, caller: Caller, channel_id: int, body: ChannelBody, if_match: str | None
) -> None:
    held = opened(hold_channel(connection, channel_id), tools.sealing)
    check_match(if_match, _etag(held), what="alarm channel", key=str(channel_id))
    given = body.definition
    if body.kind == held.kind:
        given = with_kept_secrets(body.kind, held.definition, given)
    written = Channel(body.name, body.kind, checked(body.kind, given), body.enabled, held.version, channel_id)
    now = tools.clock.now()
    replace_channel(connection, sealed(_usable(tools, written), tools.sealing), now)
    after = _told(written)
    if written.definition != held.definition and after == _told(held):
        after["definition"] = {**after["definition"], "written": "a secret in it"}
    _tell(connection, caller, "channel.update", channel_id, now, before=_told(held), after=after)


def _remove(connection: Connection, tools: Tools, caller: Caller, channel_id: int, if_match: str | None) -> None:
    held = hold_channel(connection, channel_id)
    check_match(if_match, _etag(held), what="alarm channel", key=str(channel_id))
    delete_channel(connection, channel_id)
    before = _told(opened(held, tools.sealing))
    _tell(connection, caller, "channel.delete", channel_id, tools.clock.now(), before=before)


def _told(channel: Channel) -> dict[str, Any]:
    """What the audit may know of a channel."""
    definition = shown(channel.kind, channel.definition)
    return {"name": channel.name, "kind": channel.kind, "enabled": channel.enabled, "definition": definition}


def _tell(
    connection: Connection, caller: Caller, action: str, channel_id: int, now: int, **told: Mapping[str, object]
) -> None:
    record(connection, caller.actor, Deed(action, "channel", str(channel_id), None, **told), now)


async def _show(tools: Tools, caller: Caller, channel_id: int, response: Response) -> ChannelShown:
    stored = await tools.db.read(get_channel, channel_id)
    response.headers["ETag"] = _etag(stored)
    return ChannelShown(**_channel_shown(tools, stored, whole=caller.rights.allows(Permission.VIEW)))


def _etag(stored: Channel) -> str:
    return f'"{sha256(f"{stored.id}:{stored.version}".encode()).hexdigest()[:16]}"'


def _channel_shown(tools: Tools, stored: Channel, *, whole: bool) -> dict[str, Any]:
    stored = opened(stored, tools.sealing)
    return {
        "id": stored.id,
        "name": stored.name,
        "kind": stored.kind,
        "definition": shown(stored.kind, stored.definition) if whole else {},
        "enabled": stored.enabled,
        "version": stored.version,
    }
