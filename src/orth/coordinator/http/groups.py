"""Groups: executors that share an app name."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orth.coordinator.defining import define_group, edit_group
from orth.coordinator.http.auth import ToolsHere
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import AppName, Line
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import normal_address
from orth.store.database import Connection
from orth.store.groups import delete_group, get_group, list_groups
from orth.store.registry import announced_handlers
from orth.wire.messages import checked_address

router = APIRouter(prefix="/api/v1/groups", tags=["groups"])

GroupId = Annotated[int, Path(ge=1, le=2**31 - 1)]


class GroupBody(BaseModel):
    """A group as it is written. ``address_list`` counts only with ``address_type`` 1 (manual)."""

    model_config = ConfigDict(extra="forbid")

    app_name: AppName
    title: Line = Field("", max_length=64)
    address_type: AddressType = AddressType.AUTO
    address_list: list[str] = Field(default_factory=list, max_length=1000)

    @field_validator("address_list", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("address_list")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        return sorted({normal_address(checked_address(address.strip())) for address in value})

    @model_validator(mode="after")
    def _manual_needs_addresses(self) -> "GroupBody":
        if self.address_type is AddressType.MANUAL and not self.address_list:
            raise ValueError("address_list must name at least one address when address_type is 1 (manual)")
        if self.address_type is AddressType.AUTO and self.address_list:
            raise ValueError("address_list is filled by the registry when address_type is 0; set address_type to 1")
        return self

    def group(self, group_id: int = 0) -> Group:
        return Group(group_id, self.app_name, self.title or self.app_name, self.address_type, tuple(self.address_list))


class GroupShown(BaseModel):
    id: int
    app_name: str
    title: str
    address_type: int
    address_list: list[str]


class HandlerShown(BaseModel):
    """A handler as its executor describes it. ``schedule`` is its author's suggestion; the job decides."""

    name: str
    description: str
    schedule: str | None
    timezone: str | None
    params_schema: dict[str, Any] | None


class HandlerList(BaseModel):
    items: list[HandlerShown]
    next_cursor: str | None = None


@router.get("")
async def groups(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[GroupShown]:
    rows = await tools.db.read(list_groups, position(cursor) or 0, limit + 1)
    return Page[GroupShown].model_validate(page(rows, limit, lambda group: group.id, _shown))


@router.post("", status_code=201)
async def create(body: GroupBody, tools: ToolsHere, response: Response) -> GroupShown:
    group_id = await tools.db.tx(define_group, body.group(), tools.clock.now())
    response.headers["Location"] = f"/api/v1/groups/{group_id}"
    return await group(group_id, tools)


@router.get("/{group_id}")
async def group(group_id: GroupId, tools: ToolsHere) -> GroupShown:
    return GroupShown(**_shown(await tools.db.read(get_group, group_id)))


@router.get("/{group_id}/handlers")
async def handlers(group_id: GroupId, tools: ToolsHere) -> HandlerList:
    """The handlers the group's executors announced, with their parameters and suggested schedules."""
    found = await tools.db.read(_handlers, group_id)
    return HandlerList(items=[HandlerShown(**handler) for _name, handler in sorted(found.items())])


@router.put("/{group_id}")
async def replace(group_id: GroupId, body: GroupBody, tools: ToolsHere) -> GroupShown:
    await tools.db.tx(edit_group, body.group(group_id), tools.clock.now())
    return await group(group_id, tools)


@router.delete("/{group_id}", status_code=204)
async def delete(group_id: GroupId, tools: ToolsHere) -> None:
    await tools.db.tx(delete_group, group_id)


def _handlers(connection: Connection, group_id: int) -> dict[str, dict[str, Any]]:
    group = get_group(connection, group_id)
    said = (json.loads(text)["handlers"] for text in announced_handlers(connection, group.app_name))
    return {handler["name"]: handler for handlers in said for handler in handlers}


def _shown(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "app_name": group.app_name,
        "title": group.title,
        "address_type": int(group.address_type),
        "address_list": list(group.addresses),
    }
