"""Users: who may sign in and what they may; and, for everybody, what they may themselves.

Only people let others in, and give them rights and passwords: what a stolen API token gave would be there when it is
revoked. To take away, a program may.
"""

import asyncio
import json
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, field_validator

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.groups import GroupId
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch, check_match
from orth.coordinator.people import (
    SHORTEST_PASSWORD,
    Standing,
    add_person,
    change_person,
    check_password,
    new_password,
    remove_person,
    reset_password,
)
from orth.coordinator.signing import hash_password
from orth.coordinator.signing_in.gate import SignInPriority
from orth.domain.access import Permission, Role, granted
from orth.domain.audit import ActorKind
from orth.errors import InvalidValue
from orth.store.database import Connection
from orth.store.users import User, get_user, hold_admins, hold_user, list_users

router = APIRouter(prefix="/api/v1/users", tags=["users"])

UserId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Password = Annotated[str, Field(min_length=SHORTEST_PASSWORD, max_length=1000)]

_ADMINISTRATORS = needs(Permission.ADMINISTER, everywhere=True)
_GRANTS = 1000


class Grant(BaseModel):
    """A role in one group."""

    model_config = ConfigDict(extra="forbid")

    group_id: StrictInt = Field(ge=1, le=2**31 - 1)
    role: Role


Grants = Annotated[list[Grant], Field(max_length=_GRANTS)]


def _each_once(grants: list[Grant] | None) -> list[Grant] | None:
    if grants is not None and len({grant.group_id for grant in grants}) < len(grants):
        raise InvalidValue.of("grant_twice")
    return grants


class UserBody(BaseModel):
    """Somebody new. Without a password one is made, and told once."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(max_length=50, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]*$")
    password: Password | None = None
    role: Role | None = Field(None, description="What holds in every group; null: nothing does.")
    grants: Grants = Field(default_factory=list, description="What holds in single groups.")

    _groups_once = field_validator("grants")(_each_once)


class UserChange(BaseModel):
    """What is to be another way; what is not named stays. ``grants`` are all there are from then on."""

    model_config = ConfigDict(extra="forbid")

    role: Role | None = Field(None, description="Null: nothing holds everywhere.")
    grants: Grants | None = None
    disabled: StrictBool | None = Field(None, description="Whether nobody is let in under this name.")

    _groups_once = field_validator("grants")(_each_once)

    @property
    def only_locks_out(self) -> bool:
        """Whether nothing can be given by it."""
        return self.model_fields_set <= {"disabled"} and self.disabled is not False

    def standing(self, user: User) -> Standing:
        """What the user may once this is written over it."""
        before = Standing.of(user)
        return Standing(
            self.role if "role" in self.model_fields_set else before.role,
            before.grants if self.grants is None else _by_group(self.grants),
            before.disabled if self.disabled is None else self.disabled,
        )


class GrantBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role


class PasswordBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: Password | None = None


class PasswordShown(BaseModel):
    """The password that was made, which nobody can look up again; null when one was given."""

    password: str | None


class UserShown(BaseModel):
    id: int
    username: str
    role: str | None = Field(description="What holds in every group; null: nothing does.")
    grants: list[Grant]
    disabled: bool
    created_at: str


class UserCreated(UserShown):
    password: str | None = Field(description="The password that was made, told this once; null when one was given.")


class GroupRights(BaseModel):
    group_id: int
    role: Role
    permissions: list[Permission]


class MeShown(BaseModel):
    """The caller. ``permissions`` hold in every group and for what belongs to none; ``groups`` add to them."""

    name: str
    kind: ActorKind
    role: Role | None
    permissions: list[Permission]
    groups: list[GroupRights]


@router.get("/me", dependencies=[needs(None)])
async def me(caller: CallerHere) -> MeShown:
    """Who the caller is and what they may."""
    everywhere = caller.rights.everywhere
    return MeShown(
        name=caller.name,
        kind=caller.kind,
        role=everywhere,
        permissions=[] if everywhere is None else _permissions(everywhere),
        groups=[
            GroupRights(group_id=group, role=role, permissions=_permissions(role))
            for group, role in sorted(caller.rights.in_groups.items())
        ],
    )


@router.get("", dependencies=[_ADMINISTRATORS])
async def users(
    tools: ToolsHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    username: Annotated[Line | None, Query(max_length=50, description="Only the one of this name.")] = None,
) -> Page[UserShown]:
    """Users in order of id."""
    rows = await tools.db.read(list_users, position(cursor) or 0, limit + 1, username)
    return Page[UserShown].model_validate(page(rows, limit, lambda user: user.id, _shown))


@router.post("", status_code=201, dependencies=[_ADMINISTRATORS])
async def create(body: UserBody, tools: ToolsHere, caller: CallerHere, response: Response) -> UserCreated:
    """Add somebody. Only people may."""
    caller.check_person()
    made, hashed = await _password(tools, body.password, body.username)
    standing = Standing(body.role, _by_group(body.grants))
    now = tools.clock.now()
    user_id = await tools.db.tx(add_person, caller.actor, body.username, hashed, standing, now)
    response.headers["Location"] = f"/api/v1/users/{user_id}"
    return UserCreated(**(await _show(tools, user_id, response)).model_dump(), password=made)


@router.get("/{user_id}", dependencies=[_ADMINISTRATORS])
async def user(user_id: UserId, tools: ToolsHere, response: Response) -> UserShown:
    return await _show(tools, user_id, response)


@router.patch("/{user_id}", dependencies=[_ADMINISTRATORS])
async def change(
    user_id: UserId,
    body: UserChange,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
) -> UserShown:
    """Change what somebody may, or whether they are let in. The last administrator stays one: 409. Only people may;
    programs only disable.
    """
    if not body.only_locks_out:
        caller.check_person()
    _sessions_over(tools, await tools.db.tx(_change, caller, user_id, body, if_match, tools.clock.now()))
    return await _show(tools, user_id, response)


@router.put("/{user_id}/grants/{group_id}", dependencies=[_ADMINISTRATORS])
async def grant(
    user_id: UserId, group_id: GroupId, body: GrantBody, tools: ToolsHere, caller: CallerHere, response: Response
) -> UserShown:
    """Give somebody a role in a group, in the place of the one they had there. Only people may."""
    caller.check_person()
    await tools.db.tx(_grant, caller, user_id, group_id, body.role, tools.clock.now())
    return await _show(tools, user_id, response)


@router.delete("/{user_id}/grants/{group_id}", dependencies=[_ADMINISTRATORS])
async def revoke(
    user_id: UserId, group_id: GroupId, tools: ToolsHere, caller: CallerHere, response: Response
) -> UserShown:
    """Take away the role somebody has in a group. Without one, nothing changes."""
    await tools.db.tx(_grant, caller, user_id, group_id, None, tools.clock.now())
    return await _show(tools, user_id, response)


@router.post("/{user_id}/password", dependencies=[_ADMINISTRATORS])
async def password(
    user_id: UserId, tools: ToolsHere, caller: CallerHere, body: PasswordBody | None = None
) -> PasswordShown:
    """Give somebody another password, which ends their sessions. Without one in the body it is made, and told once.
    Only people may.
    """
    caller.check_person()
    user = await tools.db.read(get_user, user_id)
    made, hashed = await _password(tools, body.password if body else None, user.username)
    _sessions_over(tools, await tools.db.tx(reset_password, caller.actor, user_id, hashed, tools.clock.now()))
    return PasswordShown(password=made)


@router.delete("/{user_id}", status_code=204, dependencies=[_ADMINISTRATORS])
async def remove(user_id: UserId, tools: ToolsHere, caller: CallerHere, if_match: IfMatch = None) -> None:
    """Remove somebody, which ends their sessions. The last administrator stays: 409."""
    _sessions_over(tools, await tools.db.tx(_remove, caller, user_id, if_match, tools.clock.now()))


def _change(
    connection: Connection, caller: Caller, user_id: int, body: UserChange, if_match: str | None, now: int
) -> list[str]:
    held = _hold(connection, user_id, if_match)
    return change_person(connection, caller.actor, held, body.standing(held), now)


def _grant(connection: Connection, caller: Caller, user_id: int, group_id: int, role: Role | None, now: int) -> None:
    held = hold_user(connection, user_id)
    grants = {group: known for group, known in held.grants.items() if group != group_id}
    if role is not None:
        grants[group_id] = role
    change_person(connection, caller.actor, held, replace(Standing.of(held), grants=grants), now)


def _remove(connection: Connection, caller: Caller, user_id: int, if_match: str | None, now: int) -> list[str]:
    return remove_person(connection, caller.actor, _hold(connection, user_id, if_match), now)


def _hold(connection: Connection, user_id: int, if_match: str | None) -> User:
    """The user, kept as it is; the administrators first, so that two who change each other wait and do not block."""
    hold_admins(connection)
    held = hold_user(connection, user_id)
    check_match(if_match, _etag(held), what="user", key=str(user_id))
    return held


async def _password(tools: Tools, given: str | None, username: str) -> tuple[str | None, str]:
    """The password that was made, if none was given, and the hash of the one that counts."""
    if given is not None:
        check_password(given, username)
    made = new_password() if given is None else None
    async with tools.sign_in_gate.turn("", "", SignInPriority.KNOWN_CALLER):  # the user is signed in
        return made, await asyncio.to_thread(hash_password, given or made or "")


async def _show(tools: Tools, user_id: int, response: Response) -> UserShown:
    stored = await tools.db.read(get_user, user_id)
    response.headers["ETag"] = _etag(stored)
    return UserShown(**_shown(stored))


def _etag(user: User) -> str:
    written = [user.role, sorted(user.grants.items()), user.disabled_at is not None]
    return f'"{sha256(json.dumps(written).encode()).hexdigest()[:16]}"'


def _shown(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "username": user.username,
        "role": user.rights.everywhere,
        "grants": [{"group_id": group, "role": role} for group, role in sorted(user.grants.items())],
        "disabled": user.disabled_at is not None,
        "created_at": iso(user.created_at),
    }


def _by_group(grants: list[Grant]) -> dict[int, Role]:
    return {grant.group_id: grant.role for grant in grants}


def _permissions(role: Role) -> list[Permission]:
    return [permission for permission in Permission if permission in granted(role)]


def _sessions_over(tools: Tools, ended: list[str]) -> None:
    tools.remembered.forget(ended)
    tools.held.tell_over(ended)
