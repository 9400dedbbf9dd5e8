"""Executors as the registry knows them, and as each coordinator reaches them.

While the database is away the list comes from the memory of this coordinator, and says so; to those who may see all of
it, for whose apps are whose is not in there. Executors without a group are nobody's: they are for who may see all, and
who administers gives them a group.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from orth.clock import iso
from orth.coordinator.defining import define_group
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.groups import GroupShown, show_group, tell_of_group
from orth.coordinator.http.paging import Limit, LongCursor, after_text, cursor_of
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.app_names import LONGEST, trouble_with
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import ExecutorEntry, Liveness, Reachability, Vitals, liveness, normal_address
from orth.errors import Conflict, Invalid, NotFound, StoreUnavailable, quotable
from orth.store.announced import list_unclaimed
from orth.store.database import Connection
from orth.store.executor_entries import list_executors
from orth.store.group_scopes import app_names
from orth.store.groups import find_group, get_group
from orth.store.nodes import NodeState, list_nodes
from orth.store.reachability import Doubt, list_doubts

router = APIRouter(prefix="/api/v1/executors", tags=["executors"])

_AT_WORK = (NodeState.ACTIVE, NodeState.DRAINING)


class ReachShown(BaseModel):
    """What one coordinator finds when it calls this executor. Of another than the one that answers only its doubts are
    known: without one it is ``undoubted``.
    """

    node: str
    state: Reachability | Literal["undoubted"]
    since: str | None = None
    checked_at: str | None = None
    reason: str = ""


class VitalsShown(BaseModel):
    """What an executor says of itself."""

    running: int
    queued: int = Field(description="What waits there for a thread of its job.")
    threads: int
    abandoned: int = Field(description="Handlers past their time limit that could not be ended.")
    unacknowledged: int = Field(description="Results that no coordinator has answered for: its backlog.")
    slots: int | None = Field(description="How many it takes at once; null: as many as jobs ask for.")
    python: str | None = Field(description="Of its interpreter; null: it does not say.")


class ExecutorShown(BaseModel):
    app_name: str
    address: str
    state: Liveness = Field(description="What the age of its last beat says.")
    last_beat: str
    beat_age: float = Field(description="Seconds since then.")
    since: str | None = Field(description="When this process was first heard of.")
    incarnation: str | None = Field(description="Null for a foreign executor, which does not say.")
    version: str | None
    extensions: list[str]
    labels: dict[str, str]
    unreadable: str | None = Field(
        None, description="What of it cannot be read. No job that asks for labels is sent to it."
    )
    load: int | None = Field(description="What runs and waits there, as it said with its last beat.")
    vitals: VitalsShown | None = Field(description="What its last beat said besides; null: nothing.")
    clock_offset: int | None = Field(description="Milliseconds its clock is ahead of its coordinator's.")
    queues: list[str] = Field(description="What it takes from; empty for one that is sent to.")
    drained_since: str | None = Field(description="Since when nothing new is sent to it because somebody said so.")
    unavailable: str | None = Field(
        description="Why it takes no new executions, as its last beat said: `leaving` (it stops when what it has is "
        "done), `cannot_record` (its disk does not keep results), `full` (no room for more executions and results), "
        "`no_threads`; null: it takes some."
    )
    reachability: list[ReachShown] = Field(
        description="As the coordinator that answers finds it, and then as each other one does."
    )


class BeatRules(BaseModel):
    """The settings by which the age of a beat is judged; seconds."""

    heartbeat: float
    dead_after: float


class ExecutorList(BaseModel):
    items: list[ExecutorShown]
    next_cursor: str | None = None
    rules: BeatRules
    from_memory: bool = Field(False, description="Whether the database was away, so that this may be out of date.")


class UnclaimedShown(BaseModel):
    """Executors that no group has: nobody can give them work."""

    app_name: str
    executors: int
    last_beat: str
    adoptable: bool = Field(description="Whether a group may bear this name.")
    trouble: str | None = Field(description="Why it may not.")
    code: str | None = Field(description="The same for programs, with its facts.")
    facts: dict[str, str | int] | None


class UnclaimedList(BaseModel):
    items: list[UnclaimedShown]
    next_cursor: str | None = None


class Adoption(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Line = Field("", max_length=64)


@dataclass(frozen=True, slots=True)
class _Others:
    """Coordinators at work beside the one that answers, and what they doubt."""

    nodes: Sequence[str] = ()
    doubts: Mapping[str, Mapping[str, Doubt]] = field(default_factory=dict)
    """By address and coordinator."""

    def see(self, address: str) -> list[ReachShown]:
        """What each of them finds at an address."""
        doubts = self.doubts.get(normal_address(address), {})
        seen = {node: ReachShown(node=node, state="undoubted") for node in self.nodes}
        return list((seen | {node: _seen_by(doubt) for node, doubt in doubts.items()}).values())


@router.get("", dependencies=[needs(Permission.VIEW)])
async def executors(
    tools: ToolsHere,
    caller: CallerHere,
    app_name: Annotated[Line | None, Query(max_length=64)] = None,
    removed: Annotated[bool, Query(description="Those that were removed for their silence lately instead.")] = False,
    limit: Limit = 50,
    cursor: LongCursor = None,
) -> ExecutorList:
    """Every executor that beats, with what its beats say and who reaches it."""
    after = after_text(cursor, 2)
    place = (after[0], after[1]) if after else None
    groups = caller.rights.groups(Permission.VIEW)
    if removed:
        seen = None if groups is None else await tools.db.read(app_names, groups)
        known = [entry for entry in tools.roster.removed() if seen is None or entry.app_name in seen]
        return _list(tools, _page_of(known, app_name, place, limit), _Others(), limit, removed=True)
    try:
        rows, others = await tools.db.read(_executors, groups, app_name, place, limit + 1, tools.node_id)
    except StoreUnavailable:
        if groups is not None:
            raise
        remembered = _page_of(tools.roster.remembered(), app_name, place, limit)
        return _list(tools, remembered, _Others(), limit, from_memory=True)
    return _list(tools, rows, others, limit)


@router.get("/unclaimed", dependencies=[needs(Permission.VIEW, everywhere=True)])
async def unclaimed(tools: ToolsHere, limit: Limit = 50, cursor: LongCursor = None) -> UnclaimedList:
    """App names under which executors registered, and which no group has."""
    (after,) = after_text(cursor, 1) or ("",)
    rows = await tools.db.read(list_unclaimed, after=after, limit=limit + 1)
    return UnclaimedList(
        items=[
            UnclaimedShown(
                app_name=row.app_name,
                executors=row.executors,
                last_beat=iso(row.last_beat),
                adoptable=trouble is None,
                trouble=trouble and trouble.message,
                code=trouble and trouble.code,
                facts=trouble and dict(trouble.facts),
            )
            for row, trouble in ((row, trouble_with(row.app_name)) for row in rows[:limit])
        ],
        next_cursor=cursor_of(rows[limit - 1].app_name) if len(rows) > limit else None,
    )


@router.post(
    "/unclaimed/{app_name:path}/adopt",
    status_code=201,
    dependencies=[needs(Permission.ADMINISTER, everywhere=True)],
)
async def adopt(
    app_name: str, tools: ToolsHere, caller: CallerHere, response: Response, body: Adoption | None = None
) -> GroupShown:
    """Make a group for executors that have none; it has their addresses at once."""
    if trouble := trouble_with(app_name):
        code = "adopt_length" if trouble.facts else "adopt_characters"
        raise Invalid.of(code, group=quotable(app_name, LONGEST), **trouble.facts, field="app_name")
    title = body.title if body else ""
    group = Group(0, app_name, title or app_name, AddressType.AUTO, ())
    group_id = await tools.db.tx(_adopt, caller, group, tools.clock.now())
    response.headers["Location"] = f"/api/v1/groups/{group_id}"
    return await show_group(tools, group_id, response)


def _executors(
    connection: Connection,
    groups: Collection[int] | None,
    app_name: str | None,
    after: tuple[str, str] | None,
    limit: int,
    here: str,
) -> tuple[list[ExecutorEntry], _Others]:
    apps = None if groups is None else app_names(connection, groups)
    found = list_executors(connection, app_name, after=after, limit=limit, of_queues=True, apps=apps)
    at_work = [row.said.node_id for row in list_nodes(connection) if row.said.state in _AT_WORK]
    doubts: dict[str, dict[str, Doubt]] = {}
    for doubt in list_doubts(connection):
        if doubt.node_id != here:
            doubts.setdefault(doubt.address, {})[doubt.node_id] = doubt
    return found, _Others([node for node in at_work if node != here], doubts)


def _page_of(
    entries: list[ExecutorEntry], app_name: str | None, after: tuple[str, str] | None, limit: int
) -> list[ExecutorEntry]:
    chosen = [entry for entry in entries if app_name is None or entry.app_name == app_name]
    return [entry for entry in chosen if after is None or (entry.app_name, entry.address) > after][: limit + 1]


def _list(
    tools: Tools,
    rows: list[ExecutorEntry],
    others: _Others,
    limit: int,
    *,
    removed: bool = False,
    from_memory: bool = False,
) -> ExecutorList:
    last = rows[limit - 1] if len(rows) > limit else None
    registry = tools.settings.registry
    return ExecutorList(
        items=[_shown(tools, row, others, removed) for row in rows[:limit]],
        rules=BeatRules(heartbeat=registry.heartbeat.total_seconds(), dead_after=registry.dead_after.total_seconds()),
        next_cursor=cursor_of(last.app_name, last.address) if last else None,
        from_memory=from_memory,
    )


def _shown(tools: Tools, row: ExecutorEntry, others: _Others, removed: bool) -> ExecutorShown:
    registry = tools.settings.registry
    beat, dead = (int(span.total_seconds() * 1000) for span in (registry.heartbeat, registry.dead_after))
    age = tools.clock.now() - row.last_beat
    return ExecutorShown(
        app_name=row.app_name,
        address=row.address,
        state=Liveness.REMOVED if removed else liveness(age, beat, dead),
        last_beat=iso(row.last_beat),
        beat_age=max(0, age) / 1000,
        since=iso(row.since) if row.since else None,
        incarnation=row.incarnation,
        version=row.version,
        extensions=sorted(row.extensions),
        labels=dict(row.labels),
        unreadable=row.unreadable or None,
        load=row.load,
        vitals=None if row.vitals is None else _vitals(row.vitals),
        clock_offset=row.clock_offset,
        queues=list(row.queues),
        drained_since=None if row.drained_since is None else iso(row.drained_since),
        unavailable=row.unavailable,
        reachability=[] if removed or row.queues else [_seen_from_here(tools, row.address), *others.see(row.address)],
    )


def _vitals(said: Vitals) -> VitalsShown:
    facts = asdict(said)
    del facts["left_behind"]  # told with each of those executions
    return VitalsShown(**{**facts, "python": said.python or None})


def _seen_from_here(tools: Tools, address: str) -> ReachShown:
    sight = tools.reach.sight(address)
    if sight is None:
        return ReachShown(node=tools.node_id, state=Reachability.UNTRIED)
    return ReachShown(
        node=tools.node_id,
        state=sight.state,
        since=iso(sight.since),
        checked_at=iso(sight.checked_at),
        reason=sight.reason,
    )


def _seen_by(doubt: Doubt) -> ReachShown:
    return ReachShown(
        node=doubt.node_id,
        state=doubt.state,
        since=iso(doubt.since),
        checked_at=iso(doubt.checked_at),
        reason=doubt.reason,
    )


def _adopt(connection: Connection, caller: Caller, group: Group, now: int) -> int:
    if find_group(connection, group.app_name) is not None:
        raise Conflict.of("group_adopted", group=group.app_name)
    if not list_executors(connection, group.app_name, limit=1):
        raise NotFound.of("no_executor_of_app", group=group.app_name)
    group_id = define_group(connection, group, now)
    tell_of_group(connection, caller, "group.adopt", get_group(connection, group_id), now)
    return group_id
