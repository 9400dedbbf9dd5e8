"""The processes that ``orth up`` keeps, seen and asked for from the console. Where nothing of the kind keeps this
process, systemd or a container platform may: then there is nothing to ask, and the answer says so.
"""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.supervisor import Kept, ProcessWish, Supervisor
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.errors import Conflict
from orth.store.audit import record
from orth.store.database import Connection

router = APIRouter(prefix="/api/v1/processes", tags=["processes"])

ProcessName = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]


class ProcessShown(BaseModel):
    name: str
    kind: str = Field(description="registry, coordinator, console or agent.")
    state: str = Field(description="Waiting, Starting, Running (an agent: Idle or Busy), Draining, Stopping, Stopped.")
    detail: str = Field(description="What `orth ps` says beside the state: the next three in words.")
    leader: bool
    beat: float | None = Field(description="Seconds since it was last heard of; null for what does not beat.")
    again_in: float | None = Field(description="Seconds until it is started again; null for one that has not crashed.")
    waits_for: list[str] = Field(description="The processes that have to run before it is started.")
    address: str
    restarts: int
    here: bool = Field(description="Whether it is the process that answers: without it this page is gone.")


class ProcessList(BaseModel):
    supervised: bool = Field(description="Whether there is an orth up that keeps this process.")
    items: list[ProcessShown]


class WishTaken(BaseModel):
    """What is being done."""

    name: str
    asked_to: ProcessWish


@router.get("", dependencies=[needs(Permission.VIEW, everywhere=True)])
async def processes(tools: ToolsHere) -> ProcessList:
    """What ``orth up`` keeps, this process among them; nothing where none does."""
    supervisor = _supervisor(tools)
    if supervisor is None:
        return ProcessList(supervised=False, items=[])
    kept = await supervisor.processes()
    return ProcessList(supervised=True, items=[_shown(tools, one) for one in kept])


@router.post("/{name}/start", status_code=202, dependencies=[needs(Permission.ADMINISTER, everywhere=True)])
async def start(name: ProcessName, tools: ToolsHere, caller: CallerHere) -> WishTaken:
    """Start one that is stopped; one that runs is left alone."""
    return await _ask(tools, caller, ProcessWish.START, name)


@router.post("/{name}/stop", status_code=202, dependencies=[needs(Permission.ADMINISTER, everywhere=True)])
async def stop(name: ProcessName, tools: ToolsHere, caller: CallerHere) -> WishTaken:
    """Stop one in good order; it stays down until somebody starts it."""
    return await _ask(tools, caller, ProcessWish.STOP, name)


@router.post("/{name}/restart", status_code=202, dependencies=[needs(Permission.ADMINISTER, everywhere=True)])
async def restart(name: ProcessName, tools: ToolsHere, caller: CallerHere) -> WishTaken:
    """Stop one in good order and start it again."""
    return await _ask(tools, caller, ProcessWish.RESTART, name)


def _supervisor(tools: Tools) -> Supervisor | None:
    folder = tools.settings.apphost.kept_by
    return None if folder is None else Supervisor(folder)


def _shown(tools: Tools, one: Kept) -> ProcessShown:
    return ProcessShown(
        name=one.name,
        kind=one.kind,
        state=one.state,
        detail=one.detail,
        leader=one.leader,
        beat=one.beat,
        again_in=one.again_in,
        waits_for=list(one.waits_for),
        address=one.address,
        restarts=one.restarts,
        here=one.name == tools.node_id,
    )


async def _ask(tools: Tools, caller: Caller, wish: ProcessWish, name: str) -> WishTaken:
    supervisor = _supervisor(tools)
    if supervisor is None:
        raise Conflict.of("not_supervised")
    await supervisor.carry_out(wish, name)
    await tools.db.tx(_tell, caller, wish, name, tools.clock.now())
    return WishTaken(name=name, asked_to=wish)


def _tell(connection: Connection, caller: Caller, wish: ProcessWish, name: str, now: int) -> None:
    record(connection, caller.actor, Deed(f"process.{wish.value}", "process", name), now)
