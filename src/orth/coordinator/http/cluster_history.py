"""What became of the cluster's executions: who led, which changed hands, and which wait for somebody."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import needs
from orth.coordinator.http.cluster import gone_owners
from orth.coordinator.http.instants import shown_instant
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.handoffs import Case, PastHandoff, Reason, case_of, times_asked
from orth.store.cluster_history import list_handoffs, list_terms
from orth.store.database import Connection
from orth.store.ownership import Adoptable, Holding, adoptable, left_by

router = APIRouter(prefix="/api/v1/cluster", tags=["cluster"])

_EVERYWHERE = needs(Permission.VIEW, everywhere=True)


class TermShown(BaseModel):
    """One leadership."""

    term: int
    node: str
    incarnation: str
    began_at: str
    ended_at: str | None = Field(
        description="When it gave the lead up, or was last heard of if it did not; null of the one that leads, of one "
        "that is gone while nobody else leads, and of terms of earlier versions."
    )


class TermList(BaseModel):
    items: list[TermShown]
    next_cursor: str | None = None


class HandoffShown(BaseModel):
    id: int
    execution_id: int
    job_id: int
    from_node: str | None = Field(description="Null when it never had an owner.")
    to_node: str
    reason: Reason
    case: Case | None = Field(description="A to D of a handover; null when nobody handed it over.")
    waited_ms: int = Field(
        description="From the offer, or from when it was nobody's, until it was taken; after a crash from its "
        "owner's last beat on."
    )
    tries: int | None = Field(description="How often the others were asked; null when nobody asked.")
    at: str


class WaitingState(StrEnum):
    OFFERED = "offered"
    ORPHAN_PENDING = "orphan_pending"


class WaitingShown(BaseModel):
    """An execution that any coordinator may take."""

    execution_id: int
    job_id: int
    from_node: str | None = Field(description="Null when it never had an owner.")
    state: WaitingState = Field(description="An offered one still has its owner, who goes on with it.")
    since: str = Field(description="When it was offered or given up, or its owner was last heard of.")


@router.get("/terms", dependencies=[_EVERYWHERE])
async def terms(tools: ToolsHere, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> TermList:
    """Who led, the newest term first."""
    found = await tools.db.read(list_terms, limit)
    return TermList(
        items=[
            TermShown(
                term=one.epoch,
                node=one.node_id,
                incarnation=one.incarnation,
                began_at=iso(one.began_at),
                ended_at=shown_instant(one.ended_at),
            )
            for one in found
        ]
    )


@router.get("/handoffs", dependencies=[_EVERYWHERE])
async def handoffs(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[HandoffShown]:
    """Executions that changed hands, the last one first."""
    rows = await tools.db.read(list_handoffs, position(cursor), limit + 1)
    return Page[HandoffShown].model_validate(page(rows, limit, lambda one: one.id, lambda one: _handoff(tools, one)))


@router.get("/waiting", dependencies=[_EVERYWHERE])
async def waiting(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[WaitingShown]:
    """Executions that any coordinator may take: offered by their owner, or nobody's."""
    rows = await tools.db.read(_waiting_rows, tools, position(cursor) or 0, limit + 1)
    return Page[WaitingShown].model_validate(page(rows, limit, lambda one: one.execution_id, _waiting))


def _waiting_rows(connection: Connection, tools: Tools, after: int, limit: int) -> list[Adoptable]:
    """What is written down as waiting, and what the orphan check has not come to yet."""
    gone = gone_owners(tools, connection)
    rows = {one.execution_id: one for one in adoptable(connection, limit, after=after)}
    for owner in gone:
        lost_at = tools.membership.fellows.last_heard(owner.node_id, owner.incarnation) or 0
        for one in left_by(connection, owner, limit, after=after):
            rows[one.execution_id] = replace(one, holding=Holding.ORPHAN_PENDING, since=max(one.since, lost_at))
    return sorted(rows.values(), key=lambda one: one.execution_id)[:limit]


def _handoff(tools: Tools, one: PastHandoff) -> HandoffShown:
    cluster, waited = tools.settings.cluster, one.waited_ms / 1000
    patience = cluster.handoff_ack_timeout.total_seconds()
    later = one.taker_came_later
    case = case_of(one.reason, offered=one.offered, waited=waited, ack_timeout=patience, taker_came_later=later)
    tries = times_asked(offered=one.offered, waited=waited, ack_timeout=patience, tries=cluster.handoff_tries)
    return HandoffShown(
        id=one.id,
        execution_id=one.execution_id,
        job_id=one.job_id,
        from_node=one.from_node,
        to_node=one.to_node,
        reason=one.reason,
        case=case,
        waited_ms=one.waited_ms,
        tries=None if case in (None, Case.NOBODY_THERE) else tries,
        at=iso(one.at),
    )


def _waiting(one: Adoptable) -> WaitingShown:
    state = WaitingState.OFFERED if one.holding is Holding.OFFERED else WaitingState.ORPHAN_PENDING
    return WaitingShown(
        execution_id=one.execution_id, job_id=one.job_id, from_node=one.node_id, state=state, since=iso(one.since)
    )
