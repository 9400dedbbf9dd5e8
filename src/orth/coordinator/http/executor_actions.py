"""What people do to one executor: call it, drain it and let it have work again, take it off the list."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.problems import coded
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.jobs import AddressType
from orth.errors import Hidden, NotFound, OrthError, Unavailable
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.executor_drains import drain_executor, resume_executor
from orth.store.executor_entries import list_executors
from orth.store.groups import find_group
from orth.store.registry import take_off
from orth.wire.fields import ADDRESS_LIMIT

router = APIRouter(prefix="/api/v1/executors", tags=["executors"])


class ExecutorNamed(BaseModel):
    """A registered executor."""

    model_config = ConfigDict(extra="forbid")

    app_name: Line = Field(min_length=1, max_length=64)
    address: Line = Field(min_length=1, max_length=ADDRESS_LIMIT)


class Pinged(BaseModel):
    node: str = Field(description="The coordinator that called it.")
    answered: bool
    took_ms: int
    reason: str = Field("", description="Why it was not reached.")
    code: str | None = Field(None, description="The same for programs, with its facts.")
    facts: dict[str, str | int] | None = None


@router.post("/ping", dependencies=[needs(Permission.OPERATE)])
async def ping(named: ExecutorNamed, tools: ToolsHere, caller: CallerHere) -> Pinged:
    """Call an executor from the coordinator that answers, now."""
    await tools.db.read(_check_callable, caller, named)
    began = tools.clock.monotonic()
    failed: OrthError | None = None
    try:
        reply = await tools.link.beat(named.address, token=tools.access_token, app_name=named.app_name)
    except OrthError as error:
        failed = error
        tools.reach.failed(named.address, error, probed=True)
    else:
        if reply.ok:
            tools.reach.answered(named.address)
        else:
            said = reply.msg or str(reply.code)
            failed = Unavailable.of("executor_not_answered", address=named.address, said=said)
            tools.reach.spoke(named.address)
    took = round((tools.clock.monotonic() - began) * 1000)
    if failed is None:
        return Pinged(node=tools.node_id, answered=True, took_ms=took)
    return Pinged(node=tools.node_id, answered=False, took_ms=took, reason=failed.message, **coded(failed))


@router.post("/drain", status_code=204, dependencies=[needs(Permission.OPERATE)])
async def drain(named: ExecutorNamed, tools: ToolsHere, caller: CallerHere) -> None:
    """Send nothing new to an executor, by whatever coordinator, until it is resumed; also not after its restart. What
    it has goes on. Only a trigger that names its address still gets there.
    """
    await tools.db.tx(_drain, caller, named, tools.clock.now())


@router.post("/resume", status_code=204, dependencies=[needs(Permission.OPERATE)])
async def resume(named: ExecutorNamed, tools: ToolsHere, caller: CallerHere) -> None:
    """Let a drained executor have work again."""
    await tools.db.tx(_resume, caller, named, tools.clock.now())


@router.post("/remove", status_code=204, dependencies=[needs(Permission.ADMINISTER, everywhere=True)])
async def remove(named: ExecutorNamed, tools: ToolsHere, caller: CallerHere) -> None:
    """Take an executor off the list, as if it had said good-bye. One that lives is back with its next beat."""
    await tools.db.tx(_remove, caller, named, tools.clock.now())
    tools.registrations.taken_off(named.app_name, named.address)


def _check_callable(connection: Connection, caller: Caller, named: ExecutorNamed) -> None:
    """Who is registered may be called, and who was written down for a group by hand."""
    group = find_group(connection, named.app_name)
    if group is not None and group.address_type is AddressType.MANUAL and named.address in group.addresses:
        caller.check(Permission.OPERATE, group.id, "executor", named.address)
    else:
        _check(connection, caller, Permission.OPERATE, named)


def _check(connection: Connection, caller: Caller, permission: Permission, named: ExecutorNamed) -> int | None:
    """It has to be registered, in a group where the caller may do this; the group. Any other address is not called.

    An app without a group is of no group in particular: who sees only some of them is told what is told of an app that
    they may not see, for it may not be known which of both it is.
    """
    group = find_group(connection, named.app_name)
    group_id = None if group is None else group.id
    if group_id is None and not caller.rights.allows(Permission.VIEW):
        raise Hidden("executor", named.address)
    caller.check(permission, group_id, "executor", named.address)
    if all(one.address != named.address for one in list_executors(connection, named.app_name)):
        raise NotFound("executor", named.address)
    return group_id


def _remove(connection: Connection, caller: Caller, named: ExecutorNamed, now: int) -> None:
    group_id = _check(connection, caller, Permission.ADMINISTER, named)
    if not take_off(connection, named.app_name, named.address, now):
        raise NotFound("executor", named.address)
    record(connection, caller.actor, Deed("executor.remove", "executor", named.address, group_id, _told(named)), now)


def _drain(connection: Connection, caller: Caller, named: ExecutorNamed, now: int) -> None:
    group_id = _check(connection, caller, Permission.OPERATE, named)
    drain_executor(connection, named.app_name, named.address, now)
    deed = Deed("executor.drain", "executor", named.address, group_id, after=_told(named))
    record(connection, caller.actor, deed, now)


def _resume(connection: Connection, caller: Caller, named: ExecutorNamed, now: int) -> None:
    group_id = _check(connection, caller, Permission.OPERATE, named)
    if resume_executor(connection, named.app_name, named.address):
        deed = Deed("executor.resume", "executor", named.address, group_id, after=_told(named))
        record(connection, caller.actor, deed, now)


def _told(named: ExecutorNamed) -> dict[str, str]:
    return {"app_name": named.app_name, "address": named.address}
