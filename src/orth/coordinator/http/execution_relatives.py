"""What belongs to an execution: the runs of its job before and after it, the attempts at it, its shards."""

from collections.abc import Mapping, Sequence

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.executions import ExecutionId
from orth.coordinator.http.instants import DURATION, shown_instant
from orth.coordinator.http.object_checks import check_execution
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.executions import Execution, Status, ran_for
from orth.domain.handoffs import PastHandoff, Reason
from orth.errors import NotFound
from orth.store.database import Connection
from orth.store.execution_lists import Listed
from orth.store.executions import find_execution
from orth.store.relatives import Relatives, relatives_of

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])


class HandShown(BaseModel):
    """A coordinator that took an execution over."""

    from_node: str | None = Field(description="Null when it never had an owner.")
    to_node: str
    reason: Reason
    at: str


class RelativeShown(BaseModel):
    """An attempt or a shard, in short."""

    id: int
    cause: str
    status: Status
    trigger_code: int
    handle_code: int
    cancelled: bool = Field(False, description="It was taken back before it began.")
    attempt: int
    shard_index: int
    trigger_time: str | None
    start_time: str | None
    handle_time: str | None
    duration_ms: int | None = Field(description=DURATION)
    executor_address: str | None
    hands: list[HandShown] = Field(description="The coordinators that took it over, in order.")


class RelativesShown(BaseModel):
    """``attempts`` and ``shards`` are in the order they were opened and hold the execution itself; ``shards`` is empty
    where it is the only one.
    """

    previous: int | None = Field(description="The run of the job before this one.")
    next: int | None = Field(description="The run of the job after this one.")
    attempts: list[RelativeShown]
    shards: list[RelativeShown]


@router.get("/{execution_id}/relatives", dependencies=[needs(Permission.VIEW)])
async def relatives(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere) -> RelativesShown:
    """The runs of the job before and after this one, all attempts at it, and its shards."""
    found = await tools.db.read(_find, caller, execution_id)
    return RelativesShown(
        previous=found.previous,
        next=found.next,
        attempts=_shown(found.attempts, found.hands),
        shards=_shown(found.shards, found.hands),
    )


def _find(connection: Connection, caller: Caller, execution_id: int) -> Relatives:
    check_execution(connection, caller, Permission.VIEW, execution_id)
    found = find_execution(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    return relatives_of(connection, found)


def _shown(listed: Sequence[Listed], hands: Mapping[int, Sequence[PastHandoff]]) -> list[RelativeShown]:
    return [_relative(one, hands.get(one.id, ())) for one in listed if isinstance(one, Execution)]


def _relative(one: Execution, hands: Sequence[PastHandoff]) -> RelativeShown:
    return RelativeShown(
        id=one.id,
        cause=one.cause,
        status=one.status,
        trigger_code=one.trigger_code,
        handle_code=one.handle_code,
        cancelled=one.cancelled,
        attempt=one.attempt,
        shard_index=one.shard_index,
        trigger_time=shown_instant(one.trigger_time),
        start_time=shown_instant(one.start_time),
        handle_time=shown_instant(one.handle_time),
        duration_ms=ran_for(one.duration_ms, one.start_time, one.handle_time),
        executor_address=one.executor_address,
        hands=[
            HandShown(from_node=hand.from_node, to_node=hand.to_node, reason=hand.reason, at=iso(hand.at))
            for hand in hands
        ],
    )
