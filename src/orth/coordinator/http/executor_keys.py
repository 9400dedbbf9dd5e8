"""Keys of executors: who knocks, who is in, and letting one in or out."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Actor, Deed
from orth.domain.enrolments import EnrolledKey, KeyState
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.enrolments import admit_key, get_enrolled, list_enrolled, revoke_key

router = APIRouter(prefix="/api/v1/executor-keys", tags=["executors"])

ExecutorId = Annotated[int, Path(ge=1, le=2**63 - 1)]
_ADMINISTRATORS = needs(Permission.ADMINISTER, everywhere=True)


class ExecutorKeyShown(BaseModel):
    id: int
    app_name: str
    state: KeyState = Field(description="`waiting` executors get no work until they are admitted.")
    address: str = Field(description="Where the executor says that it is.")
    source: str = Field(description="Where its last enrolment came from.")
    token_id: int | None = Field(description="The token it enrolled with; null: the shared one.")
    first_seen: int
    last_seen: int | None = Field(description="When it last proved its key, to within ten minutes.")
    decided_by: str | None = Field(
        description="Who admitted or revoked it; null: its token let it in, and it is good as long as that token is."
    )
    decided_at: int | None


@router.get("", dependencies=[_ADMINISTRATORS])
async def executor_keys(
    tools: ToolsHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    state: Annotated[KeyState | None, Query(description="Only those in this state.")] = None,
) -> Page[ExecutorKeyShown]:
    """Executors by their keys, in order of id."""
    seen = await tools.db.read(list_enrolled, position(cursor) or 0, limit + 1, state=state)
    return Page[ExecutorKeyShown](**page(seen, limit, lambda one: one.id, _shown))


@router.post("/{executor_id}/admit", dependencies=[_ADMINISTRATORS])
async def admit(executor_id: ExecutorId, tools: ToolsHere, caller: CallerHere) -> ExecutorKeyShown:
    """Admit an executor. From then on it is good without its token, until it is revoked."""
    stored = await tools.db.tx(_admit, executor_id, caller.actor, tools.clock.now())
    tools.access.keys.forget(stored.key_id)
    return ExecutorKeyShown(**_shown(stored))


@router.post("/{executor_id}/revoke", dependencies=[_ADMINISTRATORS])
async def revoke(executor_id: ExecutorId, tools: ToolsHere, caller: CallerHere) -> ExecutorKeyShown:
    """Revoke an executor: it is refused at once here and within five seconds on other coordinators, gets nothing new,
    and is taken off the list. Its open executions are treated like those of an executor that left.
    """
    stored, registered = await tools.db.tx(_revoke, executor_id, caller.actor, tools.clock.now())
    tools.access.keys.forget(stored.key_id)
    for app_name, address in registered:
        tools.registrations.taken_off(app_name, address)
    return ExecutorKeyShown(**_shown(stored))


def _admit(connection: Connection, executor_id: int, actor: Actor, now: int) -> EnrolledKey:
    before = admit_key(connection, executor_id, actor.name, now)
    _record(connection, "executor.admit", before, actor, now)
    return get_enrolled(connection, executor_id)


def _revoke(
    connection: Connection, executor_id: int, actor: Actor, now: int
) -> tuple[EnrolledKey, list[tuple[str, str]]]:
    before, registered = revoke_key(connection, executor_id, actor.name, now)
    _record(connection, "executor.revoke", before, actor, now)
    return get_enrolled(connection, executor_id), registered


def _record(connection: Connection, action: str, key: EnrolledKey, actor: Actor, now: int) -> None:
    told = {"app_name": key.app_name, "address": key.address, "state": key.state.value}
    record(connection, actor, Deed(action, "executor key", str(key.id), before=told), now)


def _shown(one: EnrolledKey) -> dict[str, Any]:
    hidden = {"key_id", "sealed", "token_key"}
    return {name: value for name, value in asdict(one).items() if name not in hidden}
