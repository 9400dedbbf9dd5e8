"""The cluster: who leads, which coordinators there are, and what they own.

Any coordinator answers for all. What it asks another one to do it writes into that one's row, and hints at it; the
other does it at its next beat at the latest.
"""

from collections.abc import Sequence, Set
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from orth.clock import Clock, iso
from orth.cluster.election import LOOK, Standing
from orth.cluster.fellows import Fellow
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.errors import Conflict, NotFound
from orth.settings.sections import ClusterSection
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.leases import Lease, find_lease
from orth.store.nodes import NodeRow, NodeState, OwnedCount, Wish, ask_node, count_owned, list_nodes
from orth.store.ownership import Holding, Owner, owners

router = APIRouter(prefix="/api/v1/cluster", tags=["cluster"])

_ADMINISTRATORS = needs(Permission.ADMINISTER, everywhere=True)

NodeId = Annotated[str, Path(min_length=1, max_length=64, description="The name of a coordinator.")]


class StateShown(StrEnum):
    ACTIVE = "active"
    DRAINING = "draining"
    OFFLINE = "offline"
    DEAD = "dead"


_NOTICED_WITHIN = 2 * LOOK
"""Seconds after which a renewal has been seen, if there was one."""


class LeaseShown(StrEnum):
    RENEWED = "renewed"  # by the coordinator that answers, or seen by it, when it was due
    NOT_SEEN = "not_seen"  # the coordinator that answers has not seen a renewal yet
    LATE = "late"  # a renewal was due and did not come
    EXPIRED = "expired"  # no renewal for the whole lease, or its holder is dead: nobody leads


class RoleShown(StrEnum):
    LEADER = "leader"
    FOLLOWER = "follower"


class NodeShown(BaseModel):
    id: str
    state: StateShown = Field(description="As the coordinator that answers sees it: offline has said good-bye.")
    role: RoleShown
    url: str
    incarnation: str = Field(description="The id of this very process.")
    version: str
    hostname: str
    process_id: int
    joined_at: str
    last_beat: str = Field(description="By its own clock.")
    beat_age: float | None = Field(
        description="Seconds since the coordinator that answers saw a new beat of it, by its clock; null before that. "
        "Of one that is dead or offline, since its last beat by its own clock if that is longer."
    )
    owned: int = Field(
        description="Executions it owns, as the database has it; none when it is dead or offline: those are orphans."
    )
    job_count: int = Field(description="The same, as it said with its last beat.")
    queued_count: int = Field(description="Triggers it still had to send.")
    cpu_millicores: int
    memory_bytes: int
    asked_to: Wish | None = Field(description="What somebody has asked it to do, and it has not done yet.")


class RulesShown(BaseModel):
    """The settings by which coordinators judge each other; seconds."""

    lease: float
    lease_renew: float
    heartbeat: float
    dead_after: float
    orphan_check: float
    rebalance_factor: int | None = Field(description="Null when nothing is evened out.")
    rebalance_difference: int = Field(description="Smaller differences are left alone, whatever the factor.")


class ClusterShown(BaseModel):
    leader: str | None = Field(description="Null while nobody leads, also when the lease has expired.")
    lease_holder: str | None = Field(
        description="The coordinator that took the lease last and has not given it up, even if it has died since."
    )
    lease_state: LeaseShown | None = Field(
        description="As the coordinator that answers sees it; null without a lease. `not_seen`: it has not seen a "
        "renewal yet. `late`: one was due (`lease_renew`, and up to a second) and did not come. `expired`: none for "
        "the whole lease, or the holder is dead; nobody leads until another coordinator is elected."
    )
    term: int = Field(description="The number of the leadership; 0 before the first.")
    lease_age: float | None = Field(
        description="Seconds since the coordinator that answers renewed the lease, or saw it renewed."
    )
    answered_by: str
    nodes: list[NodeShown]
    owned: int = Field(description="Executions that somebody owns.")
    handoffs: int = Field(description="Of these, offered to others, who have not taken them yet.")
    rules: RulesShown
    orphans: int = Field(
        description="Executions that had an owner, or should have one, and wait for another: also those whose owner is "
        "dead, has left or was replaced by a newer process of its name, from then on."
    )


class Asked(BaseModel):
    """A wish that was passed on."""

    node: str
    asked_to: Wish
    term: int | None = Field(None, description="The leadership that is to end.")


@router.get("", dependencies=[needs(Permission.VIEW, everywhere=True)])
async def show(tools: ToolsHere) -> ClusterShown:
    """Show who leads, which coordinators there are, and what they own."""
    lease, rows, counts = await tools.db.read(_all)
    fellows = {one.row.said.node_id: one for one in tools.membership.fellows.all()}
    kept = _kept(counts, {row.said.incarnation for row in rows if _is_there(tools, row)})
    standing = tools.election.standing
    state = _lease_state(tools, lease, rows)
    led = lease if state is not LeaseShown.EXPIRED else None
    return ClusterShown(
        leader=led.node_id if led else None,
        lease_holder=lease.node_id if lease else None,
        lease_state=state,
        term=lease.epoch if lease else 0,
        lease_age=_lease_age(lease, standing),
        answered_by=tools.node_id,
        rules=rules_of(tools.settings.cluster),
        nodes=[_node(row, fellows.get(row.said.node_id), led, kept, tools.clock) for row in rows],
        owned=sum(one.count for one in kept),
        handoffs=sum(one.count for one in kept if one.holding == Holding.OFFERED),
        orphans=sum(one.count for one in counts if one not in kept),
    )


@router.post("/nodes/{node_id}/drain", status_code=202, dependencies=[_ADMINISTRATORS])
async def drain(node_id: NodeId, tools: ToolsHere, caller: CallerHere) -> Asked:
    """Ask a coordinator to hand over what it owns and stop, as by SIGTERM."""
    _lease, rows, _counts = await tools.db.read(_all)
    row = next((one for one in rows if one.said.node_id == node_id), None)
    if row is None:
        raise NotFound("coordinator", node_id)
    if not _is_there(tools, row):
        raise Conflict.of("coordinator_gone", node=node_id)
    await _ask(tools, caller, row, Wish.DRAIN)
    return Asked(node=node_id, asked_to=Wish.DRAIN)


@router.post("/step-down", status_code=202, dependencies=[_ADMINISTRATORS])
async def step_down(tools: ToolsHere, caller: CallerHere) -> Asked:
    """Ask the leader to let another coordinator lead."""
    lease, rows, _counts = await tools.db.read(_all)
    leader = next((one for one in rows if lease and one.said.incarnation == lease.incarnation), None)
    if lease is None or leader is None or _lease_state(tools, lease, rows) is LeaseShown.EXPIRED:
        raise Conflict.of("nobody_leads")
    if not any(_would_lead(tools, row) for row in rows if row is not leader):
        raise Conflict.of("no_other_leader", node=leader.said.node_id)
    await _ask(tools, caller, leader, Wish.STEP_DOWN)
    return Asked(node=leader.said.node_id, asked_to=Wish.STEP_DOWN, term=lease.epoch)


async def _ask(tools: Tools, caller: Caller, row: NodeRow, wish: Wish) -> None:
    if not await tools.db.tx(_store_wish, caller, row, wish, tools.clock.now()):
        raise Conflict.of("coordinator_replaced", node=row.said.node_id)
    await tools.membership.hint(row.said.node_id)


def _store_wish(connection: Connection, caller: Caller, row: NodeRow, wish: Wish, now: int) -> bool:
    asked = ask_node(connection, row.said.node_id, row.said.incarnation, wish)
    if asked:
        record(connection, caller.actor, Deed(f"cluster.{wish.value}", "node", row.said.node_id), now)
    return asked


def _all(connection: Connection) -> tuple[Lease | None, list[NodeRow], list[OwnedCount]]:
    return find_lease(connection), list_nodes(connection), count_owned(connection)


def rules_of(cluster: ClusterSection) -> RulesShown:
    return RulesShown(
        lease=cluster.lease.total_seconds(),
        lease_renew=cluster.lease_renew.total_seconds(),
        heartbeat=cluster.heartbeat.total_seconds(),
        dead_after=cluster.dead_after.total_seconds(),
        orphan_check=cluster.orphan_check.total_seconds(),
        rebalance_factor=cluster.rebalance_factor if cluster.rebalance else None,
        rebalance_difference=cluster.rebalance_difference,
    )


def _lease_age(lease: Lease | None, standing: Standing | None) -> float | None:
    if lease is None or standing is None or standing.epoch != lease.epoch:
        return None
    return round(standing.lease_age, 3)


def _lease_state(tools: Tools, lease: Lease | None, rows: Sequence[NodeRow]) -> LeaseShown | None:
    if lease is None or lease.node_id is None:
        return None
    holder = next((row for row in rows if row.said.incarnation == lease.incarnation), None)
    if holder is not None and not _is_there(tools, holder):
        return LeaseShown.EXPIRED
    return judge_lease(lease, tools.election.standing, rules_of(tools.settings.cluster))


def judge_lease(lease: Lease, standing: Standing | None, rules: RulesShown) -> LeaseShown:
    """What the age of a lease says: its holder may have died, and no other leader may have been elected yet."""
    age = _lease_age(lease, standing)
    if age is None or standing is None:
        return LeaseShown.NOT_SEEN
    if age >= rules.lease:
        return LeaseShown.EXPIRED
    if age > rules.lease_renew + min(rules.lease_renew, _NOTICED_WITHIN):
        return LeaseShown.LATE
    return LeaseShown.RENEWED if standing.renewed else LeaseShown.NOT_SEEN


def _is_there(tools: Tools, row: NodeRow) -> bool:
    fellow = tools.membership.fellows.find(row.said.node_id)
    return row.said.state in (NodeState.ACTIVE, NodeState.DRAINING) and not _is_dead(row, fellow)


def _would_lead(tools: Tools, row: NodeRow) -> bool:
    return row.said.state is NodeState.ACTIVE and row.wish is not Wish.DRAIN and _is_there(tools, row)


def _is_dead(row: NodeRow, fellow: Fellow | None) -> bool:
    """What the leader wrote, or what we see ourselves and nobody has written yet."""
    same = fellow is not None and fellow.row.said.incarnation == row.said.incarnation and fellow.row.beats == row.beats
    return row.said.state is NodeState.DEAD or (same and fellow is not None and fellow.dead)


def _node(
    row: NodeRow, fellow: Fellow | None, lease: Lease | None, kept: Sequence[OwnedCount], clock: Clock
) -> NodeShown:
    said = row.said
    state = NodeState.DEAD if _is_dead(row, fellow) and said.state is not NodeState.OFFLINE else said.state
    leads = lease is not None and lease.incarnation == said.incarnation
    return NodeShown(
        id=said.node_id,
        state=StateShown(state.lower()),
        role=RoleShown.LEADER if leads else RoleShown.FOLLOWER,
        url=said.url,
        incarnation=said.incarnation,
        version=said.version,
        hostname=said.hostname,
        process_id=said.process_id,
        joined_at=iso(row.joined_at),
        last_beat=iso(row.last_beat),
        beat_age=_beat_age(row, state, fellow, clock),
        owned=sum(one.count for one in kept if one.incarnation == said.incarnation),
        job_count=said.load.job_count,
        queued_count=said.load.queued_count,
        cpu_millicores=said.load.cpu_millicores,
        memory_bytes=said.load.memory_bytes,
        asked_to=row.wish,
    )


def _beat_age(row: NodeRow, state: NodeState, fellow: Fellow | None, clock: Clock) -> float | None:
    """Seconds since its last beat was seen here. Who is gone may have been so before anybody here looked: as its own
    clock said it then.
    """
    watched = fellow is not None and fellow.row.said.incarnation == row.said.incarnation
    seen = clock.monotonic() - fellow.seen_at if fellow is not None and watched else None
    if state in (NodeState.DEAD, NodeState.OFFLINE):
        seen = max(seen or 0.0, (clock.now() - row.last_beat) / 1000)
    return None if seen is None else round(seen, 3)


def _kept(counts: Sequence[OwnedCount], there: Set[str]) -> list[OwnedCount]:
    """What is in the hands of processes that are there; the rest is nobody's, written down as such or not."""
    return [one for one in counts if one.incarnation in there and one.holding != Holding.ORPHAN_PENDING]


def gone_owners(tools: Tools, connection: Connection) -> list[Owner]:
    """Processes that are not there any more and have executions that nobody has written down as orphans yet."""
    there = {row.said.incarnation for row in list_nodes(connection) if _is_there(tools, row)}
    return [
        Owner(one.node_id, one.incarnation)
        for one in owners(connection)
        if one.node_id is not None
        and one.incarnation is not None
        and one.holding is not Holding.ORPHAN_PENDING
        and one.incarnation not in there
    ]
