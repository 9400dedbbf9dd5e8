"""Groups: executors that share an app name."""

import json
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, field_validator, model_validator

from orth.coordinator.defining import define_group, edit_group
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import AppName, Line, listed_address
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch, check_match
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.enrolments import Admission
from orth.domain.jobs import AddressType, Group, GroupDialect
from orth.errors import InvalidValue
from orth.store.announced import announced_handlers
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import delete_group, get_group, list_groups

router = APIRouter(prefix="/api/v1/groups", tags=["groups"])

GroupId = Annotated[int, Path(ge=1, le=2**31 - 1)]

_ADDRESSES_LIMIT = 65_535


class GroupBody(BaseModel):
    """A group as it is written. ``address_list`` counts only with ``address_type`` 1 (manual)."""

    model_config = ConfigDict(extra="forbid")

    app_name: AppName
    title: Line = Field("", max_length=64)
    address_type: AddressType = AddressType.AUTO
    address_list: list[str] = Field(default_factory=list, max_length=1000)
    dialect: GroupDialect = Field(GroupDialect.AUTO, description="How its executors are spoken to.")
    scripts_allowed: StrictBool | None = Field(
        None, description="Whether code of jobs may be written and run here; unsaid: as it is, and at first not."
    )
    admission: Admission | None = Field(
        None,
        description="Whom it lets in as an executor: open: whoever has a token of the group; known: who was admitted, "
        "or came with a join token. Unsaid: as it is, and at first open.",
    )

    @field_validator("address_list", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("address_list")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        # In the order in which they were written: FIRST, LAST and FAILOVER go by it.
        addresses = list(dict.fromkeys(listed_address(address) for address in value))
        if len(",".join(addresses)) > _ADDRESSES_LIMIT:
            raise InvalidValue.of("field_too_long_in_all", limit=_ADDRESSES_LIMIT)
        return addresses

    @model_validator(mode="after")
    def _manual_needs_addresses(self) -> "GroupBody":
        if self.address_type is AddressType.MANUAL and not self.address_list:
            raise InvalidValue.of("group_needs_addresses")
        if self.address_type is AddressType.AUTO and self.address_list:
            raise InvalidValue.of("group_addresses_filled")
        return self

    def group(self, stored: Group | None = None) -> Group:
        """The group this describes: a new one, or ``stored`` with this written over it."""
        unsaid = stored is not None and stored.scripts_allowed
        return Group(
            0 if stored is None else stored.id,
            self.app_name,
            self.title or self.app_name,
            self.address_type,
            tuple(self.address_list),
            self.dialect,
            scripts_allowed=unsaid if self.scripts_allowed is None else self.scripts_allowed,
            admission=self.admission or (Admission.OPEN if stored is None else stored.admission),
        )


class GroupShown(BaseModel):
    id: int
    app_name: str
    title: str
    address_type: int
    address_list: list[str]
    dialect: str = Field(description="How its executors are spoken to.")
    scripts_allowed: bool = Field(description="Whether code of jobs may be written and run here.")
    admission: Admission = Field(description="Whom it lets in as an executor.")
    unreadable: str | None = Field(
        None, description="What of it this version does not know. Nothing is sent to its executors until it is written."
    )


class HandlerShown(BaseModel):
    """A handler as its executor describes it. All but name and parameters are suggestions; the job decides."""

    name: str
    description: str
    schedule: str | None
    timezone: str | None
    params_schema: dict[str, Any] | None
    timeout: int | None = None
    block: str | None = None
    concurrency: int | None = None
    overlap: str | None = None
    retry: dict[str, Any] | None = None


class HandlerList(BaseModel):
    items: list[HandlerShown]
    next_cursor: str | None = None


_ADMINISTRATORS = needs(Permission.ADMINISTER, everywhere=True)
"""Whoever writes addresses decides where the executor token is sent, so a role in the group itself is not enough."""


@router.get("", dependencies=[needs(Permission.VIEW)])
async def groups(tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None) -> Page[GroupShown]:
    """The groups the caller may see, in order of id."""
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(list_groups, position(cursor) or 0, limit + 1, among=seen)
    return Page[GroupShown].model_validate(page(rows, limit, lambda group: group.id, _shown))


@router.post("", status_code=201, dependencies=[_ADMINISTRATORS])
async def create(body: GroupBody, tools: ToolsHere, caller: CallerHere, response: Response) -> GroupShown:
    group_id = await tools.db.tx(_create, caller, body, tools.clock.now())
    response.headers["Location"] = f"/api/v1/groups/{group_id}"
    return await show_group(tools, group_id, response)


@router.get("/{group_id}", dependencies=[needs(Permission.VIEW)])
async def group(group_id: GroupId, tools: ToolsHere, caller: CallerHere, response: Response) -> GroupShown:
    caller.check(Permission.VIEW, group_id, "group", group_id)
    return await show_group(tools, group_id, response)


@router.get("/{group_id}/handlers", dependencies=[needs(Permission.VIEW)])
async def handlers(group_id: GroupId, tools: ToolsHere, caller: CallerHere) -> HandlerList:
    """The handlers the group's executors announced, with their parameters and suggested schedules."""
    caller.check(Permission.VIEW, group_id, "group", group_id)
    found = await tools.db.read(_handlers, group_id)
    return HandlerList(items=[found[name] for name in sorted(found)])


@router.put("/{group_id}", dependencies=[_ADMINISTRATORS])
async def replace(
    group_id: GroupId,
    body: GroupBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
) -> GroupShown:
    await tools.db.tx(_edit, caller, group_id, body, if_match, tools.clock.now())
    return await show_group(tools, group_id, response)


@router.delete("/{group_id}", status_code=204, dependencies=[_ADMINISTRATORS])
async def delete(group_id: GroupId, tools: ToolsHere, caller: CallerHere, if_match: IfMatch = None) -> None:
    await tools.db.tx(_delete, caller, group_id, if_match, tools.clock.now())


async def show_group(tools: Tools, group_id: int, response: Response) -> GroupShown:
    """The group as it is stored, with its tag."""
    stored = await tools.db.read(get_group, group_id)
    response.headers["ETag"] = _etag(stored)
    return GroupShown(**_shown(stored))


def _etag(group: Group) -> str:
    """A tag of what people write: the addresses an automatic group follows are not an edit."""
    written = [group.title, int(group.address_type), group.dialect, group.scripts_allowed, group.admission]
    written += [str(value) for _column, value in group.unknown]
    if group.address_type is AddressType.MANUAL:
        written += group.addresses
    return f'"{sha256(json.dumps(written).encode()).hexdigest()[:16]}"'


def _create(connection: Connection, caller: Caller, body: GroupBody, now: int) -> int:
    group_id = define_group(connection, body.group(), now)
    tell_of_group(connection, caller, "group.create", get_group(connection, group_id), now)
    return group_id


def _edit(
    connection: Connection, caller: Caller, group_id: int, body: GroupBody, if_match: str | None, now: int
) -> None:
    stored = get_group(connection, group_id)
    check_match(if_match, _etag(stored), what="group", key=str(group_id))
    edit_group(connection, body.group(stored), now)
    before, after = _written(stored), _written(get_group(connection, group_id))
    record(connection, caller.actor, Deed("group.update", "group", str(group_id), group_id, before, after), now)


def _delete(connection: Connection, caller: Caller, group_id: int, if_match: str | None, now: int) -> None:
    stored = get_group(connection, group_id)
    check_match(if_match, _etag(stored), what="group", key=str(group_id))
    delete_group(connection, group_id)
    record(connection, caller.actor, Deed("group.delete", "group", str(group_id), group_id, _written(stored)), now)


def tell_of_group(connection: Connection, caller: Caller, action: str, group: Group, now: int) -> None:
    """Tell the audit of a group that is new."""
    record(connection, caller.actor, Deed(action, "group", str(group.id), group.id, after=_written(group)), now)


def _written(group: Group) -> dict[str, Any]:
    """What people write: the addresses an automatic group follows are not an edit."""
    shown = _shown(group)
    if group.address_type is AddressType.AUTO:
        del shown["address_list"]
    return shown


def _handlers(connection: Connection, group_id: int) -> dict[str, HandlerShown]:
    group = get_group(connection, group_id)
    said = (handler for handlers in announced_handlers(connection, group.app_name) for handler in handlers)
    return {shown.name: shown for handler in said if (shown := _handler(handler)) is not None}


def _handler(said: dict[str, Any]) -> HandlerShown | None:
    try:
        return HandlerShown(**said)
    except (TypeError, ValidationError):  # written by hand: whoever announces is checked
        return None


def _shown(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "app_name": group.app_name,
        "title": group.title,
        "address_type": int(group.address_type),
        "address_list": list(group.addresses),
        "dialect": group.dialect,
        "scripts_allowed": group.scripts_allowed,
        "admission": group.admission.value,
        "unreadable": group.unreadable or None,
        **{column: value for column, value in group.unknown if column == "dialect" or isinstance(value, int)},
    }
