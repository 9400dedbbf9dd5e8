"""Secrets of jobs: stored, replaced and removed by those who administer the group; never shown to anybody.

A secret belongs to a group, or without ``job_group`` to all of them.
"""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.job_secrets import EVERY_GROUP, SECRET_LONGEST, SECRET_NAME, SECRET_SHORTEST, check_name, check_value
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import get_group
from orth.store.secrets import SealedSecret, delete_secret, list_secrets, put_secret

router = APIRouter(prefix="/api/v1/secrets", tags=["secrets"], dependencies=[needs(Permission.ADMINISTER)])

Name = Annotated[str, Path(pattern=f"^{SECRET_NAME}$")]
GroupAsked = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="The group it belongs to; unsaid: to all of them.")
]


class SecretBody(BaseModel):
    """A value to store. It can be replaced, and never read."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    value: SecretStr = Field(min_length=SECRET_SHORTEST, max_length=SECRET_LONGEST)


class SecretShown(BaseModel):
    """All that can be read of a secret."""

    id: int
    name: str
    job_group: int | None = Field(description="null: jobs of every group may name it.")
    version: int = Field(description="How often its value was written.")
    updated_at: str
    updated_by: str


@router.get("")
async def secrets(
    tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None, job_group: GroupAsked = None
) -> Page[SecretShown]:
    """Secrets in order of id: of the groups the caller administers, or of one of them."""
    groups = caller.rights.groups(Permission.ADMINISTER)
    if job_group is not None:
        groups = frozenset({job_group}) if groups is None or job_group in groups else frozenset()
    rows = await tools.db.read(list_secrets, position(cursor) or 0, limit + 1, groups)
    return Page[SecretShown].model_validate(page(rows, limit, lambda secret: secret.id, _shown))


@router.put("/{name}", responses={201: {"model": SecretShown, "description": "There was none of that name."}})
async def put(
    name: Name,
    body: SecretBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    job_group: GroupAsked = None,
) -> SecretShown:
    """Store a value. Executions that begin from now on get it."""
    value = body.value.get_secret_value()
    check_name(name)
    check_value(value)
    secret = SealedSecret(job_group or EVERY_GROUP, name, "", updated_by=caller.name, update_time=tools.clock.now())
    secret = replace(secret, sealed=tools.sealing.seal(value.encode(), secret.context))
    stored = await tools.db.tx(_put, caller, secret)
    response.status_code = 201 if stored.version == 1 else 200
    return SecretShown(**_shown(stored))


@router.delete("/{name}", status_code=204)
async def delete(name: Name, tools: ToolsHere, caller: CallerHere, job_group: GroupAsked = None) -> None:
    """Remove a secret that no job names."""
    await tools.db.tx(_delete, caller, job_group or EVERY_GROUP, name, tools.clock.now())


def _put(connection: Connection, caller: Caller, secret: SealedSecret) -> SealedSecret:
    _check(connection, caller, secret.job_group, secret.name)
    stored = put_secret(connection, secret)
    _record(connection, caller, "secret.set", stored.job_group, stored.name, secret.update_time, version=stored.version)
    return stored


def _delete(connection: Connection, caller: Caller, group: int, name: str, now: int) -> None:
    _check(connection, caller, group, name)
    delete_secret(connection, group, name)
    _record(connection, caller, "secret.delete", group, name, now)


def _check(connection: Connection, caller: Caller, group: int, name: str) -> None:
    if group == EVERY_GROUP:
        caller.check(Permission.ADMINISTER, None, "secret", name)
        return
    caller.check(Permission.ADMINISTER, group, "group", group)
    get_group(connection, group)


def _record(
    connection: Connection, caller: Caller, action: str, group: int, name: str, now: int, **after: object
) -> None:
    """What the audit tells: that it was written, never what."""
    deed = Deed(action, "secret", name, None if group == EVERY_GROUP else group, after=after or None)
    record(connection, caller.actor, deed, now)


def _shown(secret: SealedSecret) -> dict[str, Any]:
    return {
        "id": secret.id,
        "name": secret.name,
        "job_group": None if secret.job_group == EVERY_GROUP else secret.job_group,
        "version": secret.version,
        "updated_at": iso(secret.update_time),
        "updated_by": secret.updated_by,
    }
